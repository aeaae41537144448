#include "report/regions.h"

#include "common/error.h"
#include "report/key_table.h"
#include "report/timeline.h"

#include <errno.h>

#define NODES_MAX (1u << 27)
#define NODES_NEEDED 2u		/* by one change: the new region, and the rest of a parted one */

/* Of a treap: by start a search tree, by priority a heap. Node 0 is no node. */
struct node {
	struct mt_region region;
	uint32_t left, right;
	uint64_t priority;
};

struct mt_regions {
	struct node *nodes;
	uint32_t n, cap;
	uint32_t unused;	/* list of nodes given back, by left */
	uint32_t n_unused;
	uint64_t random;
	uint32_t *roots;	/* of each space */
	uint32_t n_spaces;
	mt_region_gone_fn gone;
	void *arg;
};

int mt_regions_new(uint32_t n_spaces, mt_region_gone_fn gone, void *arg,
		   struct mt_regions **ret_regions)
{
	struct mt_regions *regions = calloc(1, sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	regions->roots = calloc((size_t)n_spaces + 1, sizeof(*regions->roots));
	if (!regions->roots) {
		free(regions);
		return -ENOMEM;
	}
	regions->n_spaces = n_spaces;
	regions->gone = gone;
	regions->arg = arg;
	regions->n = 1;
	/* Differs from run to run, so that no file can choose a tree that is a list. */
	regions->random = mt_key_multiplier;
	*ret_regions = regions;
	return 0;
}

void mt_regions_free(struct mt_regions *regions)
{
	if (!regions)
		return;
	free(regions->nodes);
	free(regions->roots);
	free(regions);
}

/* So that no change fails half way. */
static int reserve(struct mt_regions *regions)
{
	uint32_t cap = regions->cap ? regions->cap * 2 : 64;
	struct node *nodes;

	if (regions->cap && regions->cap - regions->n + regions->n_unused >= NODES_NEEDED)
		return 0;
	if (cap > NODES_MAX)
		return -MT_E_LIMIT;
	nodes = realloc(regions->nodes, cap * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	regions->nodes = nodes;
	regions->cap = cap;
	return 0;
}

static uint32_t take_node(struct mt_regions *regions, const struct mt_region *region)
{
	uint32_t node = regions->unused;

	if (node) {
		regions->unused = regions->nodes[node].left;
		regions->n_unused--;
	} else {
		node = regions->n++;
	}
	/* xorshift64* */
	regions->random ^= regions->random >> 12;
	regions->random ^= regions->random << 25;
	regions->random ^= regions->random >> 27;
	regions->nodes[node] = (struct node){
		.region = *region, .priority = regions->random * 0x2545f4914f6cdd1dull,
	};
	return node;
}

static void give_node(struct mt_regions *regions, uint32_t node)
{
	regions->nodes[node].left = regions->unused;
	regions->unused = node;
	regions->n_unused++;
}

/* Those that start below at, and the others. */
static void split(struct mt_regions *regions, uint32_t root, uint64_t at, uint32_t *ret_below,
		  uint32_t *ret_rest)
{
	struct node *node = &regions->nodes[root];

	if (!root) {
		*ret_below = *ret_rest = 0;
	} else if (node->region.start < at) {
		split(regions, node->right, at, &node->right, ret_rest);
		*ret_below = root;
	} else {
		split(regions, node->left, at, ret_below, &node->left);
		*ret_rest = root;
	}
}

static uint32_t merge(struct mt_regions *regions, uint32_t below, uint32_t above)
{
	struct node *b = &regions->nodes[below], *a = &regions->nodes[above];

	if (!below || !above)
		return below ? below : above;
	if (b->priority > a->priority) {
		b->right = merge(regions, b->right, above);
		return below;
	}
	a->left = merge(regions, below, a->left);
	return above;
}

static struct mt_region *last_of(struct mt_regions *regions, uint32_t root)
{
	if (!root)
		return NULL;
	while (regions->nodes[root].right)
		root = regions->nodes[root].right;
	return &regions->nodes[root].region;
}

static void tell(struct mt_regions *regions, const struct mt_region *region, uint64_t bytes,
		 int gone)
{
	regions->gone(regions->arg, region->stack, region->thread, bytes, gone);
}

static void drop_all(struct mt_regions *regions, uint32_t root)
{
	struct node *node = &regions->nodes[root];

	if (!root)
		return;
	drop_all(regions, node->left);
	drop_all(regions, node->right);
	tell(regions, &node->region, node->region.end - node->region.start, 1);
	give_node(regions, root);
}

/* With a node in reserve. */
static void unmap(struct mt_regions *regions, uint32_t *root, uint64_t start, uint64_t end)
{
	uint32_t below, middle, above, rest;
	struct mt_region *last, parted;

	if (!*root || start >= end)
		return;
	split(regions, *root, start, &below, &middle);
	split(regions, middle, end, &middle, &above);
	last = last_of(regions, below);
	if (last && last->end > end) {
		/* A part out of one: nothing else is touched. */
		parted = *last;
		parted.start = end;
		last->end = start;
		tell(regions, &parted, end - start, -1);
		above = merge(regions, take_node(regions, &parted), above);
	} else if (last && last->end > start) {
		tell(regions, last, last->end - start, 0);
		last->end = start;
	}
	last = last_of(regions, middle);
	if (last && last->end > end) {
		split(regions, middle, last->start, &middle, &rest);
		tell(regions, last, end - last->start, 0);
		last->start = end;
		above = merge(regions, rest, above);
	}
	drop_all(regions, middle);
	*root = merge(regions, below, above);
}

int mt_regions_unmap(struct mt_regions *regions, uint32_t space, uint64_t start, uint64_t end)
{
	int err = reserve(regions);

	if (!err)
		unmap(regions, &regions->roots[space], start, end);
	return err;
}

int mt_regions_map(struct mt_regions *regions, uint32_t space, const struct mt_region *region)
{
	uint32_t *root = &regions->roots[space], below, above;
	int err = reserve(regions);

	if (err)
		return err;
	unmap(regions, root, region->start, region->end);
	split(regions, *root, region->start, &below, &above);
	*root = merge(regions, merge(regions, below, take_node(regions, region)), above);
	return 0;
}

void mt_regions_clear(struct mt_regions *regions, uint32_t space)
{
	uint32_t root = regions->roots[space];

	regions->roots[space] = 0;
	if (root)
		drop_all(regions, root);
}

/* Where the last page of [start, start + size) ends; size 0: where the first one can begin. */
static int end_of(uint64_t start, uint64_t size, uint64_t page_size, uint64_t *ret_end)
{
	if (size > UINT64_MAX - page_size || start > UINT64_MAX - page_size - size)
		return -EINVAL;
	*ret_end = (start + size + page_size - 1) & ~(page_size - 1);
	return 0;
}

int mt_region_change_of(const struct mt_event *event, uint64_t page_size,
			struct mt_region_change *ret_change)
{
	struct mt_region_change change = { .start = event->addr & ~(page_size - 1) };
	uint64_t before;
	int err;

	err = end_of(event->addr, event->size, page_size, &change.end);
	if (err)
		return err;
	switch (event->type) {
	case MT_EV_MMAP:
	case MT_EV_MREMAP:
		change.maps = true;
		break;
	case MT_EV_MUNMAP:
	case MT_EV_GIVE_UP_REGION:
		break;
	case MT_EV_BRK:
		err = end_of(event->addr, event->old_size, page_size, &before);
		if (err)
			return err;
		change.maps = change.end > before;
		change.start = change.maps ? before : change.end;
		if (!change.maps)
			change.end = before;
		break;
	default:
		return -EINVAL;
	}
	*ret_change = change;
	return 0;
}
