#include "report/live_table.h"

#include <criterion/criterion.h>

#define ADDRS 5000u

static uint64_t addr_of(uint32_t i)
{
	return 16 + 16 * (uint64_t)i;
}

/* Every other one has a number that does not fit where small ones are packed. */
static struct mt_live_block block_of(uint32_t i)
{
	static const struct mt_live_block large[] = {
		{ 1ull << MT_PACKED_SIZE_BITS, 0, 0 }, { 0, 1u << MT_PACKED_STACK_BITS, 0 },
		{ 0, 0, 1u << MT_PACKED_THREAD_BITS }, { UINT64_MAX, UINT32_MAX, UINT32_MAX },
	};
	struct mt_live_block block = { i, i + 1, i % (1u << MT_PACKED_THREAD_BITS) };

	if (i % 2)
		block = large[i / 2 % MT_ARRAY_SIZE(large)];
	return block;
}

static size_t find(const struct mt_live_table *table, uint64_t addr)
{
	return mt_live_table_find(table, mt_key_hash(addr), addr);
}

static int add(struct mt_live_table *table, uint64_t addr, struct mt_live_block block,
	       uint64_t time)
{
	return mt_live_table_add(table, mt_key_hash(addr), addr, &block, time);
}

static void take_away(struct mt_live_table *table, uint64_t addr)
{
	mt_live_table_remove(table, mt_key_hash(addr), find(table, addr));
}

static void expect_block(const struct mt_live_table *table, size_t place, uint32_t i)
{
	struct mt_live_block got = mt_live_table_block(table, place), block = block_of(i);

	cr_assert_eq(mt_live_table_addr(table, place), addr_of(i));
	cr_assert(got.size == block.size && got.stack == block.stack &&
		  got.thread == block.thread, "%u", i);
}

/* Times are kept from the middle of the changes on, or not at all. */
static void change_at_random(uint32_t seed, uint32_t changes, bool timed)
{
	static uint64_t since[ADDRS];	/* the change that added it + 1; 0: it is not there */
	struct mt_live_table table = { 0 };
	size_t place, n = 0;
	uint32_t i, k;

	memset(since, 0, sizeof(since));
	for (i = 0; i < changes; i++) {
		if (timed && i == changes / 2)
			cr_assert_eq(mt_live_table_keep_times(&table), 0);
		seed = seed * 1664525 + 1013904223;
		k = (seed >> 8) % ADDRS;
		place = find(&table, addr_of(k));
		cr_assert_eq(place != MT_NO_BLOCK, since[k] != 0);
		if (place == MT_NO_BLOCK) {
			cr_assert_eq(add(&table, addr_of(k), block_of(k), i), 0);
			since[k] = i + 1;
			n++;
			continue;
		}
		expect_block(&table, place, k);
		cr_assert_eq(mt_live_table_time(&table, place),
			     timed && since[k] > changes / 2 ? since[k] - 1 : 0);
		take_away(&table, addr_of(k));
		since[k] = 0;
		n--;
		cr_assert_eq(table.n, n);
	}

	/* Each is met once on the way from the first place to the last. */
	for (place = mt_live_table_next(&table, 0); place != MT_NO_BLOCK;
	     place = mt_live_table_next(&table, place + 1)) {
		k = (uint32_t)(mt_live_table_addr(&table, place) / 16 - 1);
		expect_block(&table, place, k);
		cr_assert_neq(since[k], 0);
		since[k] = 0;
		n--;
	}
	cr_expect_eq(n, 0);
	cr_expect_leq(table.n_buckets, ADDRS);
	cr_expect_leq(table.n_whole, ADDRS / 2);
	mt_live_table_release(&table);
	cr_expect_eq(find(&table, addr_of(1)), MT_NO_BLOCK);
}

Test(live_table, survives_random_changes)
{
	change_at_random(7, 1000000, false);
	change_at_random(8, 200000, true);
	/* From the very first on, before there is any bucket. */
	change_at_random(9, 1, true);
}

/* The next address behind *from that belongs in this bucket. */
static uint64_t next_of(const struct mt_live_table *table, size_t home, uint64_t *from)
{
	do {
		*from += 16;
	} while (mt_key_hash(*from) >> table->shift != home);
	return *from;
}

/* Far more than a bucket holds, and the last bucket is followed by the first. */
static void crowd(size_t bucket, uint32_t n)
{
	struct mt_live_table table = { 0 };
	uint64_t addrs[64], from = 0;
	uint32_t i, k;

	cr_assert_eq(mt_live_table_make_room(&table), 0);
	cr_assert_leq(n, table.n_max);
	for (i = 0; i < n; i++) {
		addrs[i] = next_of(&table, bucket, &from);
		cr_assert_eq(add(&table, addrs[i], block_of(i), 0), 0);
	}
	next_of(&table, bucket, &from);
	for (i = 0; i < n; i++) {
		cr_expect_eq(find(&table, from), MT_NO_BLOCK);
		for (k = i; k < n; k++)
			cr_assert_eq(mt_live_table_block(&table, find(&table, addrs[k])).size,
				     block_of(k).size);
		take_away(&table, addrs[i]);
		cr_expect_eq(find(&table, addrs[i]), MT_NO_BLOCK);
	}
	/* Nobody is passed any more. */
	for (i = 0; i < table.n_buckets; i++)
		cr_expect_eq(table.passed[i], 0);
	mt_live_table_release(&table);
}

Test(live_table, finds_what_is_not_where_it_belongs)
{
	crowd(3, 5);
	crowd(3, 32);
	crowd(15, 32);
}

/* As if more had passed than can be counted. */
Test(live_table, a_count_that_is_full_stays_and_only_costs_time)
{
	struct mt_live_table table = { 0 };
	uint64_t from = 0, addr = 0;
	uint32_t i;

	cr_assert_eq(mt_live_table_make_room(&table), 0);
	memset(table.passed, UINT8_MAX, table.n_buckets);
	for (i = 0; i < 7; i++) {
		addr = next_of(&table, 5, &from);
		cr_assert_eq(add(&table, addr, block_of(i), 0), 0);
	}
	cr_assert_neq(find(&table, addr), MT_NO_BLOCK);
	take_away(&table, addr);
	cr_expect_eq(find(&table, addr), MT_NO_BLOCK);
	for (i = 0; i < table.n_buckets; i++)
		cr_expect_eq(table.passed[i], UINT8_MAX);
	mt_live_table_release(&table);
}
