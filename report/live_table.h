/*
 * report/live_table.h - the live blocks of one address space, by address.
 *
 * Buckets of two cache lines: whoever is in the bucket where it belongs is found by reading one
 * line or two, and goes without anything being moved. A bucket counts the blocks that belong
 * here, or before, and found no room, by three more bits of their hash: where there are none like
 * the one looked for, the search ends. The order of blocks is that of a hash that differs from run
 * to run: nothing depends on it.
 */
#ifndef MT_LIVE_TABLE_H
#define MT_LIVE_TABLE_H

#include "report/key_table.h"
#include "report/pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_BUCKET_BLOCKS 5u
#define MT_BUCKET_PLACES 8u	/* of which the last three do not exist */
#define MT_NO_BLOCK SIZE_MAX

struct mt_live_block {
	uint64_t size;
	uint32_t stack;		/* both as the table's owner numbers them */
	uint32_t thread;
};

struct mt_live_bucket {
	uint64_t addr[MT_BUCKET_BLOCKS];	/* 0: free */
	uint8_t passed[8];			/* by tag; 255: that many or more, for ever */
	struct mt_live_block blocks[MT_BUCKET_BLOCKS];
} __attribute__((aligned(MT_CACHE_LINE)));

_Static_assert(sizeof(struct mt_live_bucket) == 2 * MT_CACHE_LINE, "two cache lines");

struct mt_live_table {
	struct mt_live_bucket *buckets;	/* NULL: no block ever */
	uint64_t *times;		/* of allocations, by place; NULL: all 0 */
	size_t n, n_max;		/* blocks; more make it grow */
	size_t n_buckets;
	unsigned int shift;
	bool timed;
};

void mt_live_table_release(struct mt_live_table *table);

/* The bucket where addr belongs, if there are any buckets. */
static inline struct mt_live_bucket *mt_live_table_home(const struct mt_live_table *table,
							uint64_t addr)
{
	return &table->buckets[mt_key_hash(addr, table->shift)];
}

/* Which of the counts of passed blocks is about addr. */
static inline unsigned int mt_live_table_tag(const struct mt_live_table *table, uint64_t addr)
{
	return mt_key_hash(addr, table->shift - 3) & 7;
}

/* Which of a bucket's places have addr, as bits. */
static inline unsigned int mt_live_bucket_match(const struct mt_live_bucket *bucket, uint64_t addr)
{
	const uint64_t *a = bucket->addr;

	return (unsigned int)(a[0] == addr) | (unsigned int)(a[1] == addr) << 1 |
	       (unsigned int)(a[2] == addr) << 2 | (unsigned int)(a[3] == addr) << 3 |
	       (unsigned int)(a[4] == addr) << 4;
}

size_t mt_live_table_find_behind(const struct mt_live_table *table, uint64_t addr);

/* Place of the block at addr (not 0), until the table changes; or MT_NO_BLOCK. */
static inline size_t mt_live_table_find(const struct mt_live_table *table, uint64_t addr)
{
	const struct mt_live_bucket *home;
	unsigned int match;

	if (!table->buckets)
		return MT_NO_BLOCK;
	home = mt_live_table_home(table, addr);
	match = mt_live_bucket_match(home, addr);
	if (match)
		return (size_t)(home - table->buckets) * MT_BUCKET_PLACES +
		       (unsigned int)__builtin_ctz(match);
	return home->passed[mt_live_table_tag(table, addr)] ?
	       mt_live_table_find_behind(table, addr) : MT_NO_BLOCK;
}

static inline uint64_t mt_live_table_addr(const struct mt_live_table *table, size_t place)
{
	return table->buckets[place / MT_BUCKET_PLACES].addr[place % MT_BUCKET_PLACES];
}

static inline struct mt_live_block *mt_live_table_block(const struct mt_live_table *table,
							size_t place)
{
	return &table->buckets[place / MT_BUCKET_PLACES].blocks[place % MT_BUCKET_PLACES];
}

/* The first place from this one (0: all) on that has a block, or MT_NO_BLOCK. */
size_t mt_live_table_next(const struct mt_live_table *table, size_t place);

/* When the block was added; 0: before times were kept. */
static inline uint64_t mt_live_table_time(const struct mt_live_table *table, size_t place)
{
	return table->times ? table->times[place] : 0;
}

/* From now on: 0 or -ENOMEM. */
int mt_live_table_keep_times(struct mt_live_table *table);

/* What the next two do where more is to be done than in one bucket. */
int mt_live_table_make_room(struct mt_live_table *table);
size_t mt_live_table_take_place(struct mt_live_table *table, uint64_t addr);
void mt_live_table_unpass(struct mt_live_table *table, uint64_t addr,
			  const struct mt_live_bucket *bucket);

/* Add a block at an address that is not in the table and not 0: 0 or -ENOMEM. */
static inline int mt_live_table_add(struct mt_live_table *table, uint64_t addr,
				    const struct mt_live_block *block, uint64_t time)
{
	size_t place;
	int err;

	if (table->n >= table->n_max) {
		err = mt_live_table_make_room(table);
		if (err)
			return err;
	}
	place = mt_live_table_take_place(table, addr);
	*mt_live_table_block(table, place) = *block;
	if (table->timed)
		table->times[place] = time;
	table->n++;
	return 0;
}

static inline void mt_live_table_remove(struct mt_live_table *table, size_t place)
{
	struct mt_live_bucket *bucket = &table->buckets[place / MT_BUCKET_PLACES];
	uint64_t addr = bucket->addr[place % MT_BUCKET_PLACES];

	bucket->addr[place % MT_BUCKET_PLACES] = 0;
	table->n--;
	if (mt_live_table_home(table, addr) != bucket)
		mt_live_table_unpass(table, addr, bucket);
}

#endif
