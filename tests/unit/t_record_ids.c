#include "record/id_table.h"
#include "record/mapping_queue.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "tests/unit/resident.h"

Test(id_table, a_reused_id_means_what_it_meant_at_the_time)
{
	struct mt_id_table *table;
	uint32_t a, b, c, owner;

	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX, &table), 0);
	a = mt_id_table_add(table, 4242, 100, 7);
	b = mt_id_table_add(table, 4243, 150, 8);
	c = mt_id_table_add(table, 4242, 200, 9);
	cr_assert_eq(a, 0);
	cr_assert_eq(b, 1);
	cr_assert_eq(c, 2);
	cr_assert_eq(mt_id_table_count(table), 3);

	cr_assert_eq(mt_id_table_find(table, 4242, 99, NULL), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, 4242, 100, NULL), a);
	cr_assert_eq(mt_id_table_find(table, 4242, 199, &owner), a);
	cr_assert_eq(owner, 7);
	cr_assert_eq(mt_id_table_find(table, 4242, 200, &owner), c);
	cr_assert_eq(owner, 9);
	cr_assert_eq(mt_id_table_find(table, 4242, UINT64_MAX, NULL), c);
	cr_assert_eq(mt_id_table_find(table, 4243, UINT64_MAX, NULL), b);
	cr_assert_eq(mt_id_table_find(table, 1, UINT64_MAX, NULL), MT_ID_NONE);
	mt_id_table_free(table);
}

/* Told of later, in force earlier. */
Test(id_table, an_older_entry_may_come_late)
{
	struct mt_id_table *table;

	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX, &table), 0);
	cr_assert_eq(mt_id_table_add(table, 7, 200, 0), 0);
	cr_assert_eq(mt_id_table_add(table, 7, 100, 0), 1);
	cr_assert_eq(mt_id_table_find(table, 7, 150, NULL), 1);
	cr_assert_eq(mt_id_table_find(table, 7, 250, NULL), 0);
	mt_id_table_age(table);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_find(table, 7, 150, NULL), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, 7, 250, NULL), 0);
	mt_id_table_free(table);
}

Test(id_table, what_has_ended_answers_until_the_second_time_of_aging)
{
	struct mt_id_table *table;

	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX, &table), 0);
	cr_assert_eq(mt_id_table_add(table, 5, 100, 1), 0);
	cr_assert_eq(mt_id_table_add(table, 5 + 65536, 100, 1), 1);	/* of the same bucket */
	mt_id_table_end(table, 5, 300);
	mt_id_table_end(table, 5, 300);
	mt_id_table_end(table, 6, 300);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_find(table, 5, 200, NULL), 0);
	cr_assert_eq(mt_id_table_held(table), 2);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_find(table, 5, 200, NULL), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, 5 + 65536, 200, NULL), 1);
	cr_assert_eq(mt_id_table_held(table), 1);

	/* The id's next use ends one whose end nobody told of. */
	cr_assert_eq(mt_id_table_add(table, 5 + 65536, 400, 2), 2);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_find(table, 5 + 65536, 399, NULL), 1);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_find(table, 5 + 65536, 399, NULL), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, 5 + 65536, 400, NULL), 2);
	cr_assert_eq(mt_id_table_count(table), 3);
	mt_id_table_free(table);
}

/* As many as live at the same time, whatever has lived before. */
Test(id_table, memory_goes_with_those_that_live)
{
	struct mt_id_table *table;
	size_t before = 0, after;
	uint32_t i, pid = 1;

	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX, &table), 0);
	for (i = 0; i < 20000000; i++) {
		cr_assert_eq(mt_id_table_add(table, pid, i, 0), i);
		if (i % 3)	/* the end of the others was missed */
			mt_id_table_end(table, pid, i);
		pid = pid % 32767 + 1;
		if (i % 5000 == 0)
			mt_id_table_age(table);
		if (i == 200000)
			before = resident_bytes();
	}
	after = resident_bytes();
	cr_assert_leq(mt_id_table_held(table), 32767 + 3 * 5000);
	cr_assert_leq(after, before + (64 << 10), "%zu, then %zu", before, after);
	mt_id_table_free(table);
}

Test(id_table, more_than_there_are_places_for)
{
	struct mt_id_table *table;
	uint32_t i;

	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX, &table), 0);
	for (i = 0; i < MT_ID_SLOTS_MAX; i++)
		cr_assert_eq(mt_id_table_add(table, i, 1, 0), i);
	cr_assert_eq(mt_id_table_add(table, i, 1, 0), MT_ID_NONE);
	mt_id_table_end(table, 77, 2);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_add(table, i, 1, 0), MT_ID_NONE);
	mt_id_table_age(table);
	cr_assert_eq(mt_id_table_add(table, i, 1, 0), MT_ID_SLOTS_MAX);
	cr_assert_eq(mt_id_table_find(table, 78, 5, NULL), 78);
	mt_id_table_free(table);
}

Test(id_table, as_many_as_it_was_made_for)
{
	struct mt_id_table *table;

	cr_assert_eq(mt_id_table_new(2, &table), 0);
	cr_assert_eq(mt_id_table_add(table, 5, 1, 0), 0);
	cr_assert_eq(mt_id_table_add(table, 6, 1, 0), 1);
	cr_assert_eq(mt_id_table_add(table, 7, 1, 0), MT_ID_NONE);
	mt_id_table_free(table);
	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX + 1, &table), -EINVAL);
}

Test(id_table, ids_beyond_the_kernels_limit_are_refused)
{
	struct mt_id_table *table;

	cr_assert_eq(mt_id_table_new(MT_ID_SLOTS_MAX, &table), 0);
	cr_assert_eq(mt_id_table_add(table, 1u << 22, 1, 0), MT_ID_NONE);
	cr_assert_eq(mt_id_table_add(table, UINT32_MAX, 1, 0), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, UINT32_MAX, 1, NULL), MT_ID_NONE);
	cr_assert_eq(mt_id_table_add(table, (1u << 22) - 1, 1, 0), 0);
	mt_id_table_free(table);
	mt_id_table_free(NULL);
}

static uint32_t known;	/* pids below this are of known processes, whose index is one less */

static uint32_t process_of(void *arg, uint32_t pid, uint64_t time)
{
	(void)arg;
	(void)time;
	return pid < known ? pid - 1 : MT_ID_NONE;
}

static void add_until(struct mt_mapping_queue *queue, uint32_t pid, uint64_t time,
		      const char *path, uint64_t mark)
{
	struct mt_mapping row = { .process = pid, .time = time, .path = path };

	cr_assert(mt_mapping_queue_add(queue, &row, mark));
}

static void add(struct mt_mapping_queue *queue, uint32_t pid, uint64_t time, const char *path)
{
	add_until(queue, pid, time, path, 1);
}

/* The first letters of the paths of settled rows; of the rest those beyond passed stay. */
static void settled(struct mt_mapping_queue *queue, const char *want, uint64_t passed,
		    uint32_t dropped)
{
	const struct mt_mapping *rows;
	uint32_t n = mt_mapping_queue_settle(queue, process_of, NULL, &rows), i;
	char order[16] = "";

	cr_assert_lt(n, sizeof(order));
	for (i = 0; i < n; i++)
		order[i] = rows[i].path[0];
	cr_expect_str_eq(order, want, "%s, not %s", order, want);
	cr_expect_eq(mt_mapping_queue_clear(queue, n, passed, 2), dropped);
}

Test(mapping_queue, rows_come_out_by_process_time_and_arrival)
{
	struct mt_mapping_queue *queue;

	known = 9;
	cr_assert_eq(mt_mapping_queue_new(&queue), 0);
	add(queue, 2, 5, "e");
	add(queue, 1, 9, "c");
	add(queue, 1, 3, "a");
	add(queue, 2, 5, "f");
	add(queue, 1, 3, "b");
	add(queue, 77, 2, "orphan");
	add(queue, 77, 1, "of before the begin");
	add(queue, 2, 1, "d");
	settled(queue, "abcdef", 1, 1);
	settled(queue, "", 1, 0);
	mt_mapping_queue_free(queue);
}

/*
 * Those of processes that are not known yet stay, paths included, until all has been read that may
 * introduce them, however often somebody asks.
 */
Test(mapping_queue, orphans_stay_until_all_is_read)
{
	struct mt_mapping_queue *queue;
	unsigned int i;

	known = 3;
	cr_assert_eq(mt_mapping_queue_new(&queue), 0);
	add_until(queue, 5, 9, "late, whose path is somewhat longer", 100);
	add_until(queue, 1, 3, "a", 100);
	add_until(queue, 7, 8, "never", 101);
	add_until(queue, 2, 5, "b", 101);
	add_until(queue, 4, 4, "early, and longer too", 102);
	settled(queue, "ab", 0, 0);
	for (i = 0; i < 100; i++)
		settled(queue, "", 99, 0);
	known = 6;
	add_until(queue, 7, 9, "never either", 103);
	add_until(queue, 3, 1, "c", 103);
	settled(queue, "cel", 100, 0);
	settled(queue, "", 101, 1);
	add_until(queue, 1, 3, "d", 103);
	settled(queue, "d", 102, 0);
	settled(queue, "", 103, 1);
	settled(queue, "", UINT64_MAX, 0);
	mt_mapping_queue_free(queue);
}

/* Orphans take no room for longer; what is left for paths of any length does not exceed it. */
Test(mapping_queue, room_comes_back)
{
	struct mt_mapping_queue *queue;
	char path[300];
	int i, k;

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	known = 0;
	cr_assert_eq(mt_mapping_queue_new(&queue), 0);
	for (i = 0; i < 100; i++) {
		for (k = 0; k < 3000; k++)
			add_until(queue, 7, k + 2, path, i);
		cr_expect_gt(mt_mapping_queue_room(queue), 0);
		settled(queue, "", i, 3000);
	}
	mt_mapping_queue_free(queue);
}

Test(mapping_queue, says_when_it_is_full)
{
	struct mt_mapping row = { .path = "/a/path/of/some/length/that/uses/the/arena/up" };
	struct mt_mapping_queue *queue;
	uint32_t n = 0;

	known = 0;
	row.process = 7;
	row.time = 2;
	cr_assert_eq(mt_mapping_queue_new(&queue), 0);
	while (n < 100000 && mt_mapping_queue_add(queue, &row, 1))
		n++;
	cr_assert_lt(n, 100000);
	cr_expect_eq(mt_mapping_queue_room(queue), 0);
	settled(queue, "", 1, n);
	cr_expect_gt(mt_mapping_queue_room(queue), 100);
	cr_assert(mt_mapping_queue_add(queue, &row, 1));
	mt_mapping_queue_free(queue);
}
