#include "report/spans.h"

#include <errno.h>

/* From start up to the next span's start. */
struct mt_span {
	uint64_t start;
	uint32_t value;
};

static int by_start_order(const void *va, const void *vb)
{
	const struct mt_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void put(struct mt_spans *spans, uint64_t start, uint32_t value)
{
	if (spans->n && spans->spans[spans->n - 1].start == start)
		spans->n--;
	spans->spans[spans->n].start = start;
	spans->spans[spans->n].value = value;
	spans->n++;
}

/*
 * The stack holds the ranges that are open, the one that started last on top; what lies
 * under a top that ends shows again.
 */
static void sweep(struct mt_spans *spans, const struct mt_range **stack,
		  const struct mt_range *ranges, size_t n)
{
	size_t depth = 0, i;
	uint64_t limit, at;

	for (i = 0; i <= n; i++) {
		limit = i < n ? ranges[i].start : UINT64_MAX;
		while (depth && stack[depth - 1]->end <= limit) {
			at = stack[--depth]->end;
			while (depth && stack[depth - 1]->end <= at)
				depth--;
			put(spans, at, depth ? stack[depth - 1]->value : MT_SPANS_NONE);
		}
		if (i < n && ranges[i].end > ranges[i].start) {
			stack[depth++] = &ranges[i];
			put(spans, limit, ranges[i].value);
		}
	}
}

int mt_spans_build(struct mt_spans *spans, struct mt_range *ranges, size_t n)
{
	struct mt_spans built = {};
	const struct mt_range **stack;

	if (n > 1)
		qsort(ranges, n, sizeof(*ranges), by_start_order);
	stack = calloc(n + 1, sizeof(*stack));
	built.spans = calloc(2 * n + 1, sizeof(*built.spans));
	if (!stack || !built.spans) {
		free(stack);
		free(built.spans);
		return -ENOMEM;
	}
	sweep(&built, stack, ranges, n);
	free(stack);
	*spans = built;
	return 0;
}

void mt_spans_release(struct mt_spans *spans)
{
	free(spans->spans);
	memset(spans, 0, sizeof(*spans));
}

uint32_t mt_spans_find(const struct mt_spans *spans, uint64_t addr)
{
	size_t low = 0, high = spans->n, mid;

	/* The last span that starts at or before addr. */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (spans->spans[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? spans->spans[low - 1].value : MT_SPANS_NONE;
}
