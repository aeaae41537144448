/*
 * report/live_table.h - the live blocks of one address space, by address.
 *
 * Buckets of one cache line, with few blocks in each: whoever is in the bucket where it belongs,
 * as nearly all are, is found by reading that line, and goes without anything being moved. How
 * many blocks belong in a bucket, or before, and found no room is counted elsewhere: where there
 * are none a search ends. The order of blocks is that of a hash that differs from run to run:
 * nothing depends on it.
 */
#ifndef MT_LIVE_TABLE_H
#define MT_LIVE_TABLE_H

#include "report/key_table.h"
#include "report/pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_BUCKET_BLOCKS 4u
#define MT_NO_BLOCK SIZE_MAX

struct mt_live_block {
	uint64_t size;
	uint32_t stack;		/* both as the table's owner numbers them */
	uint32_t thread;
};

/* A block in eight bytes, if its numbers fit; else this bit, and which of those kept whole. */
#define MT_PACKED_WHOLE (1ull << 63)
#define MT_PACKED_THREAD_BITS 12u
#define MT_PACKED_STACK_BITS 24u
#define MT_PACKED_SIZE_BITS 27u

struct mt_live_entry {
	uint64_t addr;		/* 0: free */
	uint64_t packed;
};

struct mt_live_bucket {
	struct mt_live_entry at[MT_BUCKET_BLOCKS];
} __attribute__((aligned(MT_CACHE_LINE)));

_Static_assert(sizeof(struct mt_live_bucket) == MT_CACHE_LINE, "one cache line");

struct mt_live_table {
	struct mt_live_bucket *buckets;	/* NULL: no block ever */
	uint8_t *passed;		/* by bucket; 255: that many or more, for ever */
	uint64_t *times;		/* of allocations, by place; NULL: all 0 */
	size_t n, n_max;		/* blocks; more make it grow */
	size_t n_buckets;
	unsigned int shift;
	bool timed;
	struct mt_live_block *whole;
	uint32_t n_whole, whole_cap;
	uint32_t unused;		/* first free one of whole, + 1; its stack: the next */
};

void mt_live_table_release(struct mt_live_table *table);

/*
 * Have what is read for an address with this hash in the cache soon: the bucket, and the next one
 * if it may be there. What was passed is in a cache already, being a 64th of the buckets.
 */
static inline __attribute__((always_inline)) void
mt_live_table_prefetch(const struct mt_live_table *table, uint64_t hash)
{
	const struct mt_live_bucket *bucket;

	if (!table->buckets)
		return;
	bucket = &table->buckets[hash >> table->shift];
	__builtin_prefetch(bucket, 1);
	if (table->passed[hash >> table->shift])
		__builtin_prefetch(bucket + 1, 1);
}

/* Buckets are entries without anything in between. */
static inline struct mt_live_entry *mt_live_table_entry(const struct mt_live_table *table,
							size_t place)
{
	return &table->buckets[0].at[0] + place;
}

/* 1 or 0, computed with from then on: a compiler that knows makes branches nobody can guess. */
static inline unsigned int mt_live_same(uint64_t a, uint64_t b)
{
	unsigned int same = a == b;

	__asm__("" : "+r"(same));
	return same;
}

/* Which of a bucket's places have addr, as bits. */
static inline unsigned int mt_live_bucket_match(const struct mt_live_bucket *bucket, uint64_t addr)
{
	return mt_live_same(bucket->at[0].addr, addr) |
	       mt_live_same(bucket->at[1].addr, addr) << 1 |
	       mt_live_same(bucket->at[2].addr, addr) << 2 |
	       mt_live_same(bucket->at[3].addr, addr) << 3;
}

size_t mt_live_table_find_behind(const struct mt_live_table *table, uint64_t addr);

/*
 * Place of the block at addr (not 0), whose mt_key_hash() is hash, until the table changes; or
 * MT_NO_BLOCK.
 */
static inline size_t mt_live_table_find(const struct mt_live_table *table, uint64_t hash,
					uint64_t addr)
{
	unsigned int match;
	size_t home;

	if (!table->buckets)
		return MT_NO_BLOCK;
	home = hash >> table->shift;
	match = mt_live_bucket_match(&table->buckets[home], addr);
	if (match)
		return home * MT_BUCKET_BLOCKS + (unsigned int)__builtin_ctz(match);
	return table->passed[home] ? mt_live_table_find_behind(table, addr) : MT_NO_BLOCK;
}

static inline uint64_t mt_live_table_addr(const struct mt_live_table *table, size_t place)
{
	return mt_live_table_entry(table, place)->addr;
}

static inline struct mt_live_block mt_live_table_block(const struct mt_live_table *table,
						       size_t place)
{
	uint64_t packed = mt_live_table_entry(table, place)->packed;

	if (packed & MT_PACKED_WHOLE)
		return table->whole[packed & UINT32_MAX];
	return (struct mt_live_block){
		.size = packed >> (MT_PACKED_STACK_BITS + MT_PACKED_THREAD_BITS),
		.stack = (uint32_t)(packed >> MT_PACKED_THREAD_BITS) &
			 ((1u << MT_PACKED_STACK_BITS) - 1),
		.thread = (uint32_t)packed & ((1u << MT_PACKED_THREAD_BITS) - 1),
	};
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
size_t mt_live_table_take_place_behind(struct mt_live_table *table, uint64_t addr);
int mt_live_table_keep_whole(struct mt_live_table *table, const struct mt_live_block *block,
			     uint64_t *ret_packed);
void mt_live_table_forget_whole(struct mt_live_table *table, uint64_t packed);
void mt_live_table_unpass(struct mt_live_table *table, uint64_t addr, size_t bucket);

/* A place for addr, which has none yet, in a table with room. */
static inline size_t mt_live_table_take_place(struct mt_live_table *table, uint64_t hash,
					      uint64_t addr)
{
	size_t home = hash >> table->shift;
	struct mt_live_bucket *bucket = &table->buckets[home];
	unsigned int free = mt_live_bucket_match(bucket, 0);

	if (!free)
		return mt_live_table_take_place_behind(table, addr);
	bucket->at[__builtin_ctz(free)].addr = addr;
	return home * MT_BUCKET_BLOCKS + (unsigned int)__builtin_ctz(free);
}

/* Add a block at an address that is not in the table and not 0: 0, -ENOMEM or -MT_E_LIMIT. */
static inline __attribute__((always_inline)) int
mt_live_table_add(struct mt_live_table *table, uint64_t hash, uint64_t addr,
		  const struct mt_live_block *block, uint64_t time)
{
	uint64_t packed = block->size << (MT_PACKED_STACK_BITS + MT_PACKED_THREAD_BITS) |
			  (uint64_t)block->stack << MT_PACKED_THREAD_BITS | block->thread;
	struct mt_live_block whole;
	size_t place;
	int err = 0;

	if (table->n >= table->n_max)
		err = mt_live_table_make_room(table);
	if (!err && (block->size >> MT_PACKED_SIZE_BITS || block->stack >> MT_PACKED_STACK_BITS ||
		     block->thread >> MT_PACKED_THREAD_BITS)) {
		whole = *block;
		err = mt_live_table_keep_whole(table, &whole, &packed);
	}
	if (err)
		return err;
	place = mt_live_table_take_place(table, hash, addr);
	mt_live_table_entry(table, place)->packed = packed;
	if (table->timed)
		table->times[place] = time;
	table->n++;
	return 0;
}

static inline void mt_live_table_remove(struct mt_live_table *table, uint64_t hash, size_t place)
{
	struct mt_live_entry *entry = mt_live_table_entry(table, place);
	uint64_t addr = entry->addr, packed = entry->packed;
	size_t bucket = place / MT_BUCKET_BLOCKS;

	entry->addr = 0;
	table->n--;
	if (packed & MT_PACKED_WHOLE)
		mt_live_table_forget_whole(table, packed);
	if (hash >> table->shift != bucket)
		mt_live_table_unpass(table, addr, bucket);
}

#endif
