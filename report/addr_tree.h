/*
 * report/addr_tree.h - sorted maps from address to number that keep every older version.
 *
 * A balanced tree with path copying: a change makes a new root and leaves the old root's
 * map as it was, so that a root per change is an address space at every moment, and a
 * fork is a copied root. All trees of a pool share its nodes; nodes live as long
 * as the pool. Depth is bounded for any order of keys.
 */
#ifndef MT_ADDR_TREE_H
#define MT_ADDR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_ADDR_TREE_EMPTY 0u

struct mt_addr_node;

struct mt_addr_trees {
	struct mt_addr_node *nodes;
	uint32_t n, cap;
};

void mt_addr_trees_init(struct mt_addr_trees *trees);
void mt_addr_trees_release(struct mt_addr_trees *trees);

/* The map of root with key set to value: 0 and *ret_root, -ENOMEM, -MT_E_LIMIT. */
int mt_addr_tree_set(struct mt_addr_trees *trees, uint32_t root, uint64_t key, uint32_t value,
		     uint32_t *ret_root);
/* The map of root without key; the same if it has none. */
int mt_addr_tree_remove(struct mt_addr_trees *trees, uint32_t root, uint64_t key,
			uint32_t *ret_root);

/* Entry with the largest key <= key, or the smallest key > key. false: none. */
bool mt_addr_tree_floor(const struct mt_addr_trees *trees, uint32_t root, uint64_t key,
			uint64_t *ret_key, uint32_t *ret_value);
bool mt_addr_tree_above(const struct mt_addr_trees *trees, uint32_t root, uint64_t key,
			uint64_t *ret_key, uint32_t *ret_value);

#endif
