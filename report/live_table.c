#include "report/live_table.h"

#include <errno.h>

#define FIRST_BUCKETS 16
#define PASSED_MAX UINT8_MAX

static void free_arrays(struct mt_live_table *table)
{
	mt_pages_free(table->buckets, table->n_buckets, sizeof(*table->buckets));
	mt_pages_free(table->times, table->n_buckets * MT_BUCKET_PLACES, sizeof(*table->times));
}

void mt_live_table_release(struct mt_live_table *table)
{
	free_arrays(table);
	memset(table, 0, sizeof(*table));
}

size_t mt_live_table_find_behind(const struct mt_live_table *table, uint64_t addr)
{
	size_t i = mt_key_hash(addr, table->shift), left = table->n_buckets;
	unsigned int tag = mt_live_table_tag(table, addr), match;

	/* All may have been passed, if hardly ever. */
	while (table->buckets[i].passed[tag] && --left) {
		i = (i + 1) & (table->n_buckets - 1);
		match = mt_live_bucket_match(&table->buckets[i], addr);
		if (match)
			return i * MT_BUCKET_PLACES + (unsigned int)__builtin_ctz(match);
	}
	return MT_NO_BLOCK;
}

size_t mt_live_table_take_place(struct mt_live_table *table, uint64_t addr)
{
	struct mt_live_bucket *bucket = mt_live_table_home(table, addr);
	size_t i = (size_t)(bucket - table->buckets);
	unsigned int tag = mt_live_table_tag(table, addr), free;

	for (;;) {
		free = mt_live_bucket_match(bucket, 0);
		if (free)
			break;
		bucket->passed[tag] += bucket->passed[tag] < PASSED_MAX;
		i = (i + 1) & (table->n_buckets - 1);
		bucket = &table->buckets[i];
	}
	bucket->addr[__builtin_ctz(free)] = addr;
	return i * MT_BUCKET_PLACES + (unsigned int)__builtin_ctz(free);
}

void mt_live_table_unpass(struct mt_live_table *table, uint64_t addr,
			  const struct mt_live_bucket *bucket)
{
	struct mt_live_bucket *passed = mt_live_table_home(table, addr);
	unsigned int tag = mt_live_table_tag(table, addr);

	while (passed != bucket) {
		passed->passed[tag] -= passed->passed[tag] < PASSED_MAX;
		if (++passed == table->buckets + table->n_buckets)
			passed = table->buckets;
	}
}

size_t mt_live_table_next(const struct mt_live_table *table, size_t place)
{
	for (; place < table->n_buckets * MT_BUCKET_PLACES; place++) {
		if (place % MT_BUCKET_PLACES < MT_BUCKET_BLOCKS &&
		    mt_live_table_addr(table, place))
			return place;
	}
	return MT_NO_BLOCK;
}

static int alloc_times(struct mt_live_table *table)
{
	table->times = mt_pages_alloc(table->n_buckets * MT_BUCKET_PLACES, sizeof(*table->times));
	return table->times ? 0 : -ENOMEM;
}

int mt_live_table_make_room(struct mt_live_table *table)
{
	struct mt_live_table grown = { .n = table->n, .timed = table->timed };
	size_t place, new;

	grown.n_buckets = table->n_buckets ? table->n_buckets * 2 : FIRST_BUCKETS;
	/* 3.5 of 5: few blocks are not where they belong. */
	grown.n_max = grown.n_buckets * 7 / 2;
	grown.shift = 64 - (unsigned int)__builtin_ctzll(grown.n_buckets);
	grown.buckets = mt_pages_alloc(grown.n_buckets, sizeof(*grown.buckets));
	if (!grown.buckets || (grown.timed && alloc_times(&grown))) {
		free_arrays(&grown);
		return -ENOMEM;
	}
	for (place = mt_live_table_next(table, 0); place != MT_NO_BLOCK;
	     place = mt_live_table_next(table, place + 1)) {
		new = mt_live_table_take_place(&grown, mt_live_table_addr(table, place));
		*mt_live_table_block(&grown, new) = *mt_live_table_block(table, place);
		if (grown.timed)
			grown.times[new] = table->times[place];
	}
	free_arrays(table);
	*table = grown;
	return 0;
}

int mt_live_table_keep_times(struct mt_live_table *table)
{
	int err = table->timed || !table->buckets ? 0 : alloc_times(table);

	if (!err)
		table->timed = true;
	return err;
}
