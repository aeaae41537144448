#include "record/stop_table.h"

#include <criterion/criterion.h>
#include <limits.h>

static struct mt_stop_table table;

static int count(void)
{
	int pid, n = 0;

	for (pid = mt_stop_table_next(&table, 0); pid; pid = mt_stop_table_next(&table, pid + 1)) {
		cr_assert(mt_stop_table_has(&table, pid));
		n++;
	}
	return n;
}

/* As many as there can be, each found and none twice. */
Test(record_stop_table, every_process_there_can_be)
{
	int pid;

	for (pid = 1; pid < MT_STOP_PIDS; pid++)
		mt_stop_table_set(&table, pid, true);
	cr_assert_eq(count(), MT_STOP_PIDS - 1);
	for (pid = 1; pid < MT_STOP_PIDS; pid += 2)
		mt_stop_table_set(&table, pid, false);
	cr_assert_eq(count(), MT_STOP_PIDS / 2 - 1);
	cr_assert_eq(mt_stop_table_next(&table, 0), 2);
}

Test(record_stop_table, next_is_not_below)
{
	const int pids[] = { 1, 63, 64, 65, 127, 8191, 8192, MT_STOP_PIDS - 1 };
	size_t i;

	cr_assert_eq(mt_stop_table_next(&table, 0), 0);
	for (i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
		mt_stop_table_set(&table, pids[i], true);
	for (i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		cr_assert_eq(mt_stop_table_next(&table, i ? pids[i - 1] + 1 : -5), pids[i]);
		cr_assert_eq(mt_stop_table_next(&table, pids[i]), pids[i]);
	}
	cr_assert_eq(mt_stop_table_next(&table, MT_STOP_PIDS), 0);
	cr_assert_eq(mt_stop_table_next(&table, INT_MAX), 0);
	mt_stop_table_set(&table, 64, false);
	cr_assert_eq(mt_stop_table_next(&table, 64), 65);
}

Test(record_stop_table, numbers_no_process_has)
{
	const int pids[] = { INT_MIN, -1, 0, MT_STOP_PIDS, INT_MAX };
	size_t i;

	for (i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		mt_stop_table_set(&table, pids[i], true);
		cr_assert_not(mt_stop_table_has(&table, pids[i]));
	}
	cr_assert_eq(count(), 0);
}
