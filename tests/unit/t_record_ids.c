#include "record/id_table.h"
#include "record/mapping_queue.h"

#include <criterion/criterion.h>

Test(id_table, a_reused_id_means_what_it_meant_at_the_time)
{
	struct mt_id_table *table;
	uint32_t a, b, c;

	cr_assert_eq(mt_id_table_new(&table), 0);
	a = mt_id_table_add(table, 4242, 100, 7);
	b = mt_id_table_add(table, 4243, 150, 8);
	c = mt_id_table_add(table, 4242, 200, 9);
	cr_assert_eq(a, 0);
	cr_assert_eq(b, 1);
	cr_assert_eq(c, 2);
	cr_assert_eq(mt_id_table_count(table), 3);

	cr_assert_eq(mt_id_table_find(table, 4242, 99), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, 4242, 100), a);
	cr_assert_eq(mt_id_table_find(table, 4242, 199), a);
	cr_assert_eq(mt_id_table_find(table, 4242, 200), c);
	cr_assert_eq(mt_id_table_find(table, 4242, UINT64_MAX), c);
	cr_assert_eq(mt_id_table_find(table, 4243, UINT64_MAX), b);
	cr_assert_eq(mt_id_table_find(table, 1, UINT64_MAX), MT_ID_NONE);
	cr_assert_eq(mt_id_table_owner(table, c), 9);
	mt_id_table_free(table);
}

Test(id_table, ids_beyond_the_kernels_limit_are_refused)
{
	struct mt_id_table *table;

	cr_assert_eq(mt_id_table_new(&table), 0);
	cr_assert_eq(mt_id_table_add(table, 1u << 22, 1, 0), MT_ID_NONE);
	cr_assert_eq(mt_id_table_add(table, UINT32_MAX, 1, 0), MT_ID_NONE);
	cr_assert_eq(mt_id_table_find(table, UINT32_MAX, 1), MT_ID_NONE);
	cr_assert_eq(mt_id_table_add(table, (1u << 22) - 1, 1, 0), 0);
	mt_id_table_free(table);
	mt_id_table_free(NULL);
}

Test(mapping_queue, rows_come_out_by_process_time_and_arrival)
{
	static const struct { uint32_t process; uint64_t time; const char *path; } in[] = {
		{ 2, 5, "e" }, { 1, 9, "c" }, { 1, 3, "a" }, { 2, 5, "f" }, { 1, 3, "b" },
		{ UINT32_MAX, 1, "g" }, { 2, 1, "d" },
	};
	struct mt_mapping_queue *queue;
	struct mt_mapping *rows;
	char order[16] = "";
	uint32_t n, i;

	cr_assert_eq(mt_mapping_queue_new(&queue), 0);
	for (i = 0; i < MT_ARRAY_SIZE(in); i++) {
		struct mt_mapping row = {
			.process = in[i].process, .time = in[i].time, .path = in[i].path,
		};

		cr_assert(mt_mapping_queue_add(queue, &row));
	}
	mt_mapping_queue_sort(queue);
	rows = mt_mapping_queue_rows(queue, &n);
	cr_assert_eq(n, MT_ARRAY_SIZE(in));
	for (i = 0; i < n; i++)
		order[i] = rows[i].path[0];
	cr_assert_str_eq(order, "abcdefg");
	mt_mapping_queue_clear(queue);
	mt_mapping_queue_rows(queue, &n);
	cr_assert_eq(n, 0);
	mt_mapping_queue_free(queue);
}

Test(mapping_queue, says_when_it_is_full)
{
	struct mt_mapping row = { .path = "/a/path/of/some/length/that/uses/the/arena/up" };
	struct mt_mapping_queue *queue;
	uint32_t n = 0, rows;

	cr_assert_eq(mt_mapping_queue_new(&queue), 0);
	while (n < 100000 && mt_mapping_queue_add(queue, &row))
		n++;
	cr_assert_lt(n, 100000);
	mt_mapping_queue_rows(queue, &rows);
	cr_assert_eq(rows, n);
	mt_mapping_queue_clear(queue);
	cr_assert(mt_mapping_queue_add(queue, &row));
	mt_mapping_queue_free(queue);
}
