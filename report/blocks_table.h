/*
 * report/blocks_table.h - the live blocks of one address space, by address.
 *
 * Open addressing with linear probing and backward-shift deletion: no tombstones, so the
 * table stays as fast as its live blocks are few. The multiplier differs from run to
 * run, so that no file can choose addresses that collide; nothing depends on the
 * order of slots.
 */
#ifndef MT_BLOCKS_TABLE_H
#define MT_BLOCKS_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct mt_live_block {
	uint64_t addr;		/* 0: empty slot */
	uint64_t size;
	uint64_t time;		/* of the allocation */
	uint32_t stack;		/* both as the table's owner numbers them */
	uint32_t thread;
};

struct mt_blocks_table {
	struct mt_live_block *slots;	/* NULL: no block ever */
	size_t n, cap;
	unsigned int shift;
};

/* Odd, chosen once. */
extern uint64_t mt_blocks_multiplier;

void mt_blocks_init(struct mt_blocks_table *table);
void mt_blocks_release(struct mt_blocks_table *table);

/* Make room for one more: 0 or -ENOMEM. */
int mt_blocks_grow(struct mt_blocks_table *table);

static inline size_t mt_blocks_home(const struct mt_blocks_table *table, uint64_t addr)
{
	return (addr >> 4 ^ addr << 60) * mt_blocks_multiplier >> table->shift;
}

/* The block at addr (not 0), or NULL; valid until the table changes. */
static inline struct mt_live_block *mt_blocks_find(const struct mt_blocks_table *table,
						   uint64_t addr)
{
	struct mt_live_block *slots = table->slots;
	size_t i;

	if (!slots)
		return NULL;
	for (i = mt_blocks_home(table, addr); slots[i].addr; i = (i + 1) & (table->cap - 1))
		if (slots[i].addr == addr)
			return &slots[i];
	return NULL;
}

/*
 * Where the block at addr stands, most likely: to be fetched early, by __builtin_prefetch() in the
 * caller. GCC takes a function that does nothing else for one without effect, and leaves it out.
 */
static inline const void *mt_blocks_place(const struct mt_blocks_table *table, uint64_t addr)
{
	return table->slots ? &table->slots[mt_blocks_home(table, addr)] : NULL;
}

/*
 * The block at addr if it stands where it belongs, as most do; else NULL. For a look at what
 * comes later, which may be wrong.
 */
static inline const struct mt_live_block *mt_blocks_glance(const struct mt_blocks_table *table,
							   uint64_t addr)
{
	const struct mt_live_block *slot;

	if (!table->slots)
		return NULL;
	slot = &table->slots[mt_blocks_home(table, addr)];
	return slot->addr == addr ? slot : NULL;
}

/* Add a block whose address is not in the table and not 0: 0 or -ENOMEM. */
static inline int mt_blocks_add(struct mt_blocks_table *table, const struct mt_live_block *block)
{
	size_t i;
	int err;

	if (table->n >= table->cap - table->cap / 3) {
		err = mt_blocks_grow(table);
		if (err)
			return err;
	}
	for (i = mt_blocks_home(table, block->addr); table->slots[i].addr;
	     i = (i + 1) & (table->cap - 1))
		;
	table->slots[i] = *block;
	table->n++;
	return 0;
}

/* Remove a block that mt_blocks_find() returned. */
void mt_blocks_remove(struct mt_blocks_table *table, struct mt_live_block *block);

#endif
