#include "report/mark_facts.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "report/intern.h"

static struct mt_mark_facts facts;
static struct mt_intern *strings;
static struct mt_between between;
static char error[MT_BETWEEN_ERROR_MAX];

static void take(uint32_t type, uint64_t time, const char *name)
{
	struct mt_mark row = { .type = type, .time = time, .name = name };

	cr_assert_eq(mt_mark_facts_take(&facts, &row, strings), 0);
}

static void setup(void)
{
	cr_assert_eq(mt_intern_new(&strings), 0);
}

static void teardown(void)
{
	mt_mark_facts_release(&facts);
	mt_intern_free(strings);
}

static void setup_laps(void)
{
	setup();
	take(MT_MARK_NAME, 10, "tick");
	take(MT_MARK_DISABLE, 15, "");
	take(MT_MARK_NAME, 30, "tick");
	take(MT_MARK_ENABLE, 20, "");
	take(MT_MARK_NAME, 40, "tock");
	take(MT_MARK_NAME, 50, "tick");
	take(MT_MARK_DISABLE, 60, "");
	cr_assert_eq(mt_mark_facts_sort(&facts), 0);
}

static int find(const char *from, const char *until)
{
	const char *const texts[2] = { from, until };

	error[0] = '\0';
	return mt_mark_facts_find(&facts, texts, &between, error);
}

static void expect_times(const char *a, const char *b, uint64_t from, uint64_t until)
{
	cr_assert_eq(find(a, b), 0, "%s %s: %s", a, b, error);
	cr_expect_eq(facts.rows[between.from].time, from);
	cr_expect_eq(facts.rows[between.until].time, until);
}

Test(mark_facts, names_are_counted_in_time_order, .init = setup_laps, .fini = teardown)
{
	expect_times("tick", "tick", 10, 30);
	expect_times("tick", "tock", 10, 40);
	expect_times("tick#2", "tick", 30, 50);
	expect_times("tick#1", "tick#3", 10, 50);
	expect_times("tock", "tick", 40, 50);
	expect_times("tock#1", "tick#3", 40, 50);
}

Test(mark_facts, what_is_not_there_is_said, .init = setup_laps, .fini = teardown)
{
	cr_expect_eq(find("tick", "tack"), -ENOENT);
	cr_expect_str_eq(error, "no mark 'tack'; there are tick, tick#2, tock, tick#3");
	cr_expect_eq(find("tick#4", "tick"), -ENOENT);
	cr_expect_eq(find("tick#0", "tick"), -ENOENT);
	cr_expect_eq(find("tick#x", "tick"), -ENOENT);
	cr_expect_eq(find("tick#", "tick"), -ENOENT);
	cr_expect_eq(find("", "tick"), -ENOENT);
	cr_expect_eq(find("tick#2", "tick#2"), -ENOENT);
	cr_expect_str_eq(error, "mark 'tick#2' is not after 'tick#2'");
	cr_expect_eq(find("tick#3", "tick"), -ENOENT);
	cr_expect_eq(find("tock", "tock"), -ENOENT);
	cr_expect_eq(find("tick#3", "tock"), -ENOENT);
}

Test(mark_facts, no_marks, .init = setup, .fini = teardown)
{
	cr_assert_eq(mt_mark_facts_sort(&facts), 0);
	cr_expect_eq(find("a", "b"), -ENOENT);
	cr_expect_str_eq(error, "no mark 'a'; the recording has no marks");
	cr_expect_eq(mt_mark_facts_disabled(&facts, 0, UINT64_MAX), 0);
}

Test(mark_facts, a_list_too_long_for_a_line_is_cut, .init = setup, .fini = teardown)
{
	char name[MT_MARK_NAME_MAX + 1];
	int i;

	memset(name, 'n', sizeof(name));
	name[MT_MARK_NAME_MAX] = '\0';
	for (i = 0; i < 40; i++)
		take(MT_MARK_NAME, i, name);
	cr_assert_eq(mt_mark_facts_sort(&facts), 0);
	cr_expect_eq(find("x", "y"), -ENOENT);
	cr_expect_lt(strlen(error), sizeof(error));
	cr_expect_not_null(strstr(error, "no mark 'x'; there are nnn"));
}

Test(mark_facts, disabled_time, .init = setup_laps, .fini = teardown)
{
	cr_expect_eq(mt_mark_facts_disabled(&facts, 0, 100), 5 + 40);
	cr_expect_eq(mt_mark_facts_disabled(&facts, 0, 60), 5);
	cr_expect_eq(mt_mark_facts_disabled(&facts, 17, 18), 1);
	cr_expect_eq(mt_mark_facts_disabled(&facts, 20, 60), 0);
	cr_expect_eq(mt_mark_facts_disabled(&facts, 70, 75), 5);
}
