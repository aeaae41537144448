#include "report/coverage_facts.h"

#include "common/error.h"
#include "report/intern.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct mt_coverage_facts facts;
static struct mt_intern *strings;

static void begin(void)
{
	cr_assert(zero(int, mt_intern_new(&strings)));
}

static void end(void)
{
	mt_coverage_facts_release(&facts);
	mt_intern_free(strings);
}

TestSuite(coverage_facts, .init = begin, .fini = end);

static int take_source(uint32_t id, const char *path, uint64_t ino, const char *kind,
		       uint32_t functions)
{
	const struct mt_coverage_row row = {
		.type = MT_COVERAGE_SOURCE, .id = id, .path = path, .kind = kind, .function = "",
		.reason = "", .dev_major = 8, .ino = ino, .n_functions = functions,
	};

	return mt_coverage_facts_take(&facts, &row, strings);
}

static int take_events(uint32_t id, uint64_t events)
{
	const struct mt_coverage_row row = {
		.type = MT_COVERAGE_EVENTS, .id = id, .path = "", .kind = "", .function = "",
		.reason = "", .events = events,
	};

	return mt_coverage_facts_take(&facts, &row, strings);
}

static void is(uint32_t i, const char *path, uint64_t ino, const char *kind, uint32_t functions,
	       uint64_t events)
{
	const struct mt_covered *source = &facts.sources[i];

	cr_expect(eq(str, (char *)source->path, (char *)path));
	cr_expect(eq(str, (char *)source->kind, (char *)kind));
	cr_expect(eq(u64, source->ino, ino));
	cr_expect(eq(u32, source->functions, functions));
	cr_expect(eq(u64, source->events, events));
}

Test(coverage_facts, a_row_for_each_file_and_kind)
{
	cr_assert(zero(int, take_source(1, "/bin/prog", 5, "user", 1)));
	cr_assert(zero(int, take_source(2, "/lib/libc.so", 6, "glibc", 9)));
	cr_assert(zero(int, take_source(3, "/bin/prog", 5, "user", 3)));
	cr_assert(zero(int, take_source(4, "/bin/prog", 5, "jemalloc", 7)));
	cr_assert(zero(int, take_source(5, "/lib/libc.so", 16, "glibc", 8)));
	cr_assert(zero(int, take_events(2, 40)));
	cr_assert(zero(int, take_events(1, 10)));
	cr_assert(zero(int, take_events(3, 100)));
	/* The last row of an id counts. */
	cr_assert(zero(int, take_events(1, 20)));
	cr_assert(zero(int, take_events(4, 2)));
	mt_coverage_facts_sort(&facts);
	cr_assert(eq(u32, facts.n_sources, 4));
	is(0, "/bin/prog", 5, "user", 4, 120);
	is(1, "/lib/libc.so", 6, "glibc", 9, 40);
	is(2, "/bin/prog", 5, "jemalloc", 7, 2);
	/* Another file, in another mount namespace. */
	is(3, "/lib/libc.so", 16, "glibc", 8, 0);
}

Test(coverage_facts, none)
{
	mt_coverage_facts_sort(&facts);
	cr_expect(zero(u32, facts.n_sources));
}

Test(coverage_facts, ids_that_cannot_be)
{
	cr_expect(eq(int, take_source(2, "/bin/prog", 5, "user", 1), -MT_E_CORRUPT));
	cr_expect(eq(int, take_events(1, 1), -MT_E_CORRUPT));
	cr_expect(zero(int, take_source(1, "/bin/prog", 5, "user", 1)));
	cr_expect(eq(int, take_events(0, 1), -MT_E_CORRUPT));
	cr_expect(eq(int, take_events(2, 1), -MT_E_CORRUPT));
}
