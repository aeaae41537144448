#include "report/addr_tree.h"

#include "common/error.h"

#include <errno.h>

#define NODES_MAX (1u << 27)
#define PATH_NODES 128	/* more than any one change can copy, rotations included */

struct mt_addr_node {
	uint64_t key;
	uint32_t value;
	uint32_t left, right;	/* MT_ADDR_TREE_EMPTY: none */
	uint32_t height;
};

void mt_addr_trees_init(struct mt_addr_trees *trees)
{
	memset(trees, 0, sizeof(*trees));
}

void mt_addr_trees_release(struct mt_addr_trees *trees)
{
	free(trees->nodes);
	mt_addr_trees_init(trees);
}

/* Room for one whole change, so that the recursion below cannot fail half way. */
static int reserve(struct mt_addr_trees *trees)
{
	struct mt_addr_node *nodes;
	uint32_t cap = trees->cap ? trees->cap * 2 : 1024;

	if (trees->cap - trees->n >= PATH_NODES)
		return 0;
	if (cap > NODES_MAX)
		return -MT_E_LIMIT;
	nodes = realloc(trees->nodes, cap * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;

	/* Node 0 is the empty tree: height 0, no children. */
	if (!trees->n) {
		memset(&nodes[0], 0, sizeof(nodes[0]));
		trees->n = 1;
	}
	trees->nodes = nodes;
	trees->cap = cap;
	return 0;
}

static uint32_t make(struct mt_addr_trees *trees, uint64_t key, uint32_t value, uint32_t left,
		     uint32_t right)
{
	struct mt_addr_node *nodes = trees->nodes;
	uint32_t hl = nodes[left].height, hr = nodes[right].height;

	nodes[trees->n] = (struct mt_addr_node){
		.key = key, .value = value, .left = left, .right = right,
		.height = 1 + (hl > hr ? hl : hr),
	};
	return trees->n++;
}

/* A node over two subtrees whose heights differ by at most two. */
static uint32_t balance(struct mt_addr_trees *trees, uint64_t key, uint32_t value, uint32_t left,
			uint32_t right)
{
	const struct mt_addr_node *nodes = trees->nodes, *l = &nodes[left], *r = &nodes[right];
	const struct mt_addr_node *m;
	uint32_t a, b;

	if (l->height > r->height + 1) {
		if (nodes[l->left].height >= nodes[l->right].height) {
			b = make(trees, key, value, l->right, right);
			return make(trees, l->key, l->value, l->left, b);
		}
		m = &nodes[l->right];
		a = make(trees, l->key, l->value, l->left, m->left);
		b = make(trees, key, value, m->right, right);
		return make(trees, m->key, m->value, a, b);
	}
	if (r->height > l->height + 1) {
		if (nodes[r->right].height >= nodes[r->left].height) {
			a = make(trees, key, value, left, r->left);
			return make(trees, r->key, r->value, a, r->right);
		}
		m = &nodes[r->left];
		a = make(trees, key, value, left, m->left);
		b = make(trees, r->key, r->value, m->right, r->right);
		return make(trees, m->key, m->value, a, b);
	}
	return make(trees, key, value, left, right);
}

static uint32_t set(struct mt_addr_trees *trees, uint32_t root, uint64_t key, uint32_t value)
{
	struct mt_addr_node node;

	if (!root)
		return make(trees, key, value, 0, 0);
	node = trees->nodes[root];
	if (key < node.key)
		return balance(trees, node.key, node.value, set(trees, node.left, key, value),
			       node.right);
	if (key > node.key)
		return balance(trees, node.key, node.value, node.left,
			       set(trees, node.right, key, value));
	return make(trees, key, value, node.left, node.right);
}

static uint32_t remove_first(struct mt_addr_trees *trees, uint32_t root,
			     struct mt_addr_node *ret_first)
{
	struct mt_addr_node node = trees->nodes[root];

	if (!node.left) {
		*ret_first = node;
		return node.right;
	}
	return balance(trees, node.key, node.value, remove_first(trees, node.left, ret_first),
		       node.right);
}

static uint32_t drop(struct mt_addr_trees *trees, uint32_t root, uint64_t key)
{
	struct mt_addr_node node = trees->nodes[root], next;
	uint32_t right;

	if (!root)
		return 0;
	if (key < node.key)
		return balance(trees, node.key, node.value, drop(trees, node.left, key),
			       node.right);
	if (key > node.key)
		return balance(trees, node.key, node.value, node.left,
			       drop(trees, node.right, key));
	if (!node.right)
		return node.left;
	right = remove_first(trees, node.right, &next);
	return balance(trees, next.key, next.value, node.left, right);
}

int mt_addr_tree_set(struct mt_addr_trees *trees, uint32_t root, uint64_t key, uint32_t value,
		     uint32_t *ret_root)
{
	int err = reserve(trees);

	if (err)
		return err;
	*ret_root = set(trees, root, key, value);
	return 0;
}

int mt_addr_tree_remove(struct mt_addr_trees *trees, uint32_t root, uint64_t key,
			uint32_t *ret_root)
{
	int err = reserve(trees);

	if (err)
		return err;
	*ret_root = drop(trees, root, key);
	return 0;
}

bool mt_addr_tree_floor(const struct mt_addr_trees *trees, uint32_t root, uint64_t key,
			uint64_t *ret_key, uint32_t *ret_value)
{
	const struct mt_addr_node *best = NULL, *node;

	while (root) {
		node = &trees->nodes[root];
		if (node->key <= key)
			best = node;
		root = node->key <= key ? node->right : node->left;
	}
	if (!best)
		return false;
	*ret_key = best->key;
	*ret_value = best->value;
	return true;
}

bool mt_addr_tree_above(const struct mt_addr_trees *trees, uint32_t root, uint64_t key,
			uint64_t *ret_key, uint32_t *ret_value)
{
	const struct mt_addr_node *best = NULL, *node;

	while (root) {
		node = &trees->nodes[root];
		if (node->key > key)
			best = node;
		root = node->key > key ? node->left : node->right;
	}
	if (!best)
		return false;
	*ret_key = best->key;
	*ret_value = best->value;
	return true;
}
