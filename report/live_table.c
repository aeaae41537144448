#include "report/live_table.h"

#include "common/grow.h"

#include <errno.h>

#define FIRST_BUCKETS 16
#define PASSED_MAX UINT8_MAX

static size_t places(const struct mt_live_table *table)
{
	return table->n_buckets * MT_BUCKET_BLOCKS;
}

static void free_arrays(struct mt_live_table *table)
{
	mt_pages_free(table->buckets, table->n_buckets, sizeof(*table->buckets));
	mt_pages_free(table->passed, table->n_buckets, sizeof(*table->passed));
	mt_pages_free(table->times, places(table), sizeof(*table->times));
}

void mt_live_table_release(struct mt_live_table *table)
{
	free_arrays(table);
	free(table->whole);
	memset(table, 0, sizeof(*table));
}

static size_t next_bucket(const struct mt_live_table *table, size_t i)
{
	return (i + 1) & (table->n_buckets - 1);
}

size_t mt_live_table_find_behind(const struct mt_live_table *table, uint64_t addr)
{
	size_t i = mt_key_hash(addr) >> table->shift, left = table->n_buckets;
	unsigned int match;

	/* All may have been passed, if hardly ever. */
	while (table->passed[i] && --left) {
		i = next_bucket(table, i);
		match = mt_live_bucket_match(&table->buckets[i], addr);
		if (match)
			return i * MT_BUCKET_BLOCKS + (unsigned int)__builtin_ctz(match);
	}
	return MT_NO_BLOCK;
}

size_t mt_live_table_take_place_behind(struct mt_live_table *table, uint64_t addr)
{
	size_t i = mt_key_hash(addr) >> table->shift;
	unsigned int free;

	do {
		table->passed[i] += table->passed[i] < PASSED_MAX;
		i = next_bucket(table, i);
		free = mt_live_bucket_match(&table->buckets[i], 0);
	} while (!free);
	table->buckets[i].at[__builtin_ctz(free)].addr = addr;
	return i * MT_BUCKET_BLOCKS + (unsigned int)__builtin_ctz(free);
}

void mt_live_table_unpass(struct mt_live_table *table, uint64_t addr, size_t bucket)
{
	size_t i;

	for (i = mt_key_hash(addr) >> table->shift; i != bucket; i = next_bucket(table, i))
		table->passed[i] -= table->passed[i] < PASSED_MAX;
}

int mt_live_table_keep_whole(struct mt_live_table *table, const struct mt_live_block *block,
			     uint64_t *ret_packed)
{
	uint32_t i = table->unused - 1;
	int err;

	if (table->unused) {
		table->unused = table->whole[i].stack;
	} else {
		err = mt_grow(&table->whole, table->n_whole, &table->whole_cap,
			      sizeof(*table->whole), MT_GROW_MAX);
		if (err)
			return err;
		i = table->n_whole++;
	}
	table->whole[i] = *block;
	*ret_packed = MT_PACKED_WHOLE | i;
	return 0;
}

void mt_live_table_forget_whole(struct mt_live_table *table, uint64_t packed)
{
	uint32_t i = (uint32_t)packed;

	table->whole[i].stack = table->unused;
	table->unused = i + 1;
}

size_t mt_live_table_next(const struct mt_live_table *table, size_t place)
{
	for (; place < places(table); place++) {
		if (mt_live_table_addr(table, place))
			return place;
	}
	return MT_NO_BLOCK;
}

static int alloc_times(struct mt_live_table *table)
{
	table->times = mt_pages_alloc(places(table), sizeof(*table->times));
	return table->times ? 0 : -ENOMEM;
}

int mt_live_table_make_room(struct mt_live_table *table)
{
	struct mt_live_table grown = *table;
	size_t place, new;
	uint64_t addr;

	grown.n_buckets = table->n_buckets ? table->n_buckets * 2 : FIRST_BUCKETS;
	/* Half of all places: few blocks are not where they belong. */
	grown.n_max = grown.n_buckets * MT_BUCKET_BLOCKS / 2;
	grown.shift = 64 - (unsigned int)__builtin_ctzll(grown.n_buckets);
	grown.times = NULL;
	grown.buckets = mt_pages_alloc(grown.n_buckets, sizeof(*grown.buckets));
	grown.passed = mt_pages_alloc(grown.n_buckets, sizeof(*grown.passed));
	if (!grown.buckets || !grown.passed || (grown.timed && alloc_times(&grown))) {
		free_arrays(&grown);
		return -ENOMEM;
	}
	for (place = mt_live_table_next(table, 0); place != MT_NO_BLOCK;
	     place = mt_live_table_next(table, place + 1)) {
		addr = mt_live_table_addr(table, place);
		new = mt_live_table_take_place(&grown, mt_key_hash(addr), addr);
		mt_live_table_entry(&grown, new)->packed =
			mt_live_table_entry(table, place)->packed;
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
