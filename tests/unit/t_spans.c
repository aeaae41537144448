/* Overlapping ranges as disjoint spans, against a plain search. */
#include "report/spans.h"

#include <criterion/criterion.h>

static uint32_t search(const struct mt_range *ranges, size_t n, uint64_t addr)
{
	const struct mt_range *best = NULL, *range;
	size_t i;

	for (i = 0; i < n; i++) {
		range = &ranges[i];
		if (addr < range->start || addr >= range->end)
			continue;
		if (!best || range->start > best->start ||
		    (range->start == best->start && range->order > best->order))
			best = range;
	}
	return best ? best->value : MT_SPANS_NONE;
}

Test(spans, none)
{
	struct mt_spans spans = {};
	struct mt_range empty = { .start = 5, .end = 5, .value = 1 };
	struct mt_range backwards = { .start = 9, .end = 5, .value = 1 };

	cr_assert_eq(mt_spans_find(&spans, 0), MT_SPANS_NONE);
	cr_assert_eq(mt_spans_build(&spans, NULL, 0), 0);
	cr_assert_eq(mt_spans_find(&spans, UINT64_MAX), MT_SPANS_NONE);
	mt_spans_release(&spans);
	cr_assert_eq(mt_spans_build(&spans, &empty, 1), 0);
	cr_assert_eq(mt_spans_find(&spans, 5), MT_SPANS_NONE);
	mt_spans_release(&spans);
	cr_assert_eq(mt_spans_build(&spans, &backwards, 1), 0);
	cr_assert_eq(mt_spans_find(&spans, 7), MT_SPANS_NONE);
	mt_spans_release(&spans);
	cr_assert_null(spans.spans);
}

Test(spans, whole_address_space)
{
	struct mt_range range = { .start = 0, .end = UINT64_MAX, .value = 7 };
	struct mt_spans spans;

	cr_assert_eq(mt_spans_build(&spans, &range, 1), 0);
	cr_assert_eq(mt_spans_find(&spans, 0), 7);
	cr_assert_eq(mt_spans_find(&spans, UINT64_MAX - 1), 7);
	cr_assert_eq(mt_spans_find(&spans, UINT64_MAX), MT_SPANS_NONE);
	mt_spans_release(&spans);
}

Test(spans, equal_a_plain_search)
{
	struct mt_range ranges[24];
	struct mt_spans spans;
	size_t i, round, n, found = 0;
	uint64_t addr;

	srand(4711);
	for (round = 0; round < 2000; round++) {
		n = rand() % 24;
		for (i = 0; i < n; i++) {
			ranges[i].start = rand() % 64;
			ranges[i].end = ranges[i].start + rand() % 20;
			ranges[i].value = i;
			ranges[i].order = i;
		}
		cr_assert_eq(mt_spans_build(&spans, ranges, n), 0);
		for (addr = 0; addr < 90; addr++) {
			uint32_t want = search(ranges, n, addr);

			cr_assert_eq(mt_spans_find(&spans, addr), want);
			found += want != MT_SPANS_NONE;
		}
		mt_spans_release(&spans);
	}
	cr_assert_gt(found, 10000);
}
