/*
 * report/spans.h - ranges that may overlap, cut into spans that do not: one lookup, one answer.
 */
#ifndef MT_SPANS_H
#define MT_SPANS_H

#include <stddef.h>
#include <stdint.h>

#define MT_SPANS_NONE UINT32_MAX

/* [start, end) has value, which must not be MT_SPANS_NONE. An empty range counts for nothing. */
struct mt_range {
	uint64_t start;
	uint64_t end;
	uint32_t value;
	uint32_t order;		/* among ranges with one start, the highest wins */
};

struct mt_span;

/* All zero: no spans. */
struct mt_spans {
	struct mt_span *spans;
	size_t n;
};

/*
 * Where ranges overlap, the one that starts last wins, and the one below shows again after
 * its end. Sorts ranges. 0, or -ENOMEM with *spans unchanged.
 */
int mt_spans_build(struct mt_spans *spans, struct mt_range *ranges, size_t n);
void mt_spans_release(struct mt_spans *spans);

/* The value at addr, or MT_SPANS_NONE. */
uint32_t mt_spans_find(const struct mt_spans *spans, uint64_t addr);

#endif
