#include "report/live_table.h"

#include <criterion/criterion.h>

#define ADDRS 5000u

static uint64_t addr_of(uint32_t i)
{
	return 16 + 16 * (uint64_t)i;
}

/* Times are kept from the middle of the changes on, or not at all. */
static void change_at_random(uint32_t seed, uint32_t changes, bool timed)
{
	static uint64_t since[ADDRS];	/* the change that added it + 1; 0: it is not there */
	struct mt_live_table table = { 0 };
	struct mt_live_block entry;
	size_t place, n = 0;
	uint32_t i, k;

	memset(since, 0, sizeof(since));
	for (i = 0; i < changes; i++) {
		if (timed && i == changes / 2)
			cr_assert_eq(mt_live_table_keep_times(&table), 0);
		seed = seed * 1664525 + 1013904223;
		k = (seed >> 8) % ADDRS;
		place = mt_live_table_find(&table, addr_of(k));
		cr_assert_eq(place != MT_NO_BLOCK, since[k] != 0);
		if (place == MT_NO_BLOCK) {
			entry = (struct mt_live_block){ k, k + 1, k + 2 };
			cr_assert_eq(mt_live_table_add(&table, addr_of(k), &entry, i), 0);
			since[k] = i + 1;
			n++;
			continue;
		}
		entry = *mt_live_table_block(&table, place);
		cr_assert_eq(mt_live_table_addr(&table, place), addr_of(k));
		cr_assert(entry.size == k && entry.stack == k + 1 && entry.thread == k + 2);
		cr_assert_eq(mt_live_table_time(&table, place),
			     timed && since[k] > changes / 2 ? since[k] - 1 : 0);
		mt_live_table_remove(&table, place);
		since[k] = 0;
		n--;
		cr_assert_eq(table.n, n);
	}

	/* Each is met once on the way from the first place to the last. */
	for (place = mt_live_table_next(&table, 0); place != MT_NO_BLOCK;
	     place = mt_live_table_next(&table, place + 1)) {
		k = (uint32_t)mt_live_table_block(&table, place)->size;
		cr_assert_neq(since[k], 0);
		since[k] = 0;
		n--;
	}
	cr_expect_eq(n, 0);
	cr_expect_leq(table.n_buckets, ADDRS);
	mt_live_table_release(&table);
	cr_expect_eq(mt_live_table_find(&table, addr_of(1)), MT_NO_BLOCK);
}

Test(live_table, survives_random_changes)
{
	change_at_random(7, 1000000, false);
	change_at_random(8, 200000, true);
	/* From the very first on, before there is any bucket. */
	change_at_random(9, 1, true);
}

/* The next address behind *from that belongs in this bucket. */
static uint64_t next_of(const struct mt_live_table *table, const struct mt_live_bucket *home,
			uint64_t *from)
{
	do {
		*from += 16;
	} while (mt_live_table_home(table, *from) != home);
	return *from;
}

/* Far more than a bucket holds, and the last bucket is followed by the first. */
static void crowd(size_t bucket, uint32_t n)
{
	struct mt_live_table table = { 0 };
	struct mt_live_block entry = { 0 };
	uint64_t addrs[64], from = 0;
	uint32_t i, k;

	cr_assert_eq(mt_live_table_make_room(&table), 0);
	cr_assert_leq(n, table.n_max);
	for (i = 0; i < n; i++) {
		addrs[i] = next_of(&table, &table.buckets[bucket], &from);
		entry.size = i;
		cr_assert_eq(mt_live_table_add(&table, addrs[i], &entry, 0), 0);
	}
	next_of(&table, &table.buckets[bucket], &from);
	for (i = 0; i < n; i++) {
		cr_expect_eq(mt_live_table_find(&table, from), MT_NO_BLOCK);
		for (k = i; k < n; k++)
			cr_assert_eq(mt_live_table_block(&table, mt_live_table_find(
					     &table, addrs[k]))->size, k);
		mt_live_table_remove(&table, mt_live_table_find(&table, addrs[i]));
		cr_expect_eq(mt_live_table_find(&table, addrs[i]), MT_NO_BLOCK);
	}
	/* Nobody is passed any more. */
	for (i = 0; i < table.n_buckets; i++)
		for (k = 0; k < 8; k++)
			cr_expect_eq(table.buckets[i].passed[k], 0);
	mt_live_table_release(&table);
}

Test(live_table, finds_what_is_not_where_it_belongs)
{
	crowd(3, 6);
	crowd(3, 50);
	crowd(15, 50);
}

/* As if more had passed than can be counted. */
Test(live_table, a_count_that_is_full_stays_and_only_costs_time)
{
	struct mt_live_table table = { 0 };
	struct mt_live_block entry = { 0 };
	uint64_t from = 0, addr = 0;
	uint32_t i;

	cr_assert_eq(mt_live_table_make_room(&table), 0);
	for (i = 0; i < table.n_buckets; i++)
		memset(table.buckets[i].passed, UINT8_MAX, sizeof(table.buckets[i].passed));
	for (i = 0; i < 7; i++) {
		addr = next_of(&table, &table.buckets[5], &from);
		cr_assert_eq(mt_live_table_add(&table, addr, &entry, 0), 0);
	}
	cr_assert_neq(mt_live_table_find(&table, addr), MT_NO_BLOCK);
	mt_live_table_remove(&table, mt_live_table_find(&table, addr));
	cr_expect_eq(mt_live_table_find(&table, addr), MT_NO_BLOCK);
	for (i = 0; i < table.n_buckets; i++)
		cr_expect_eq(table.buckets[i].passed[0], UINT8_MAX);
	mt_live_table_release(&table);
}
