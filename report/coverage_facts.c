#include "report/coverage_facts.h"

#include "common/error.h"
#include "report/intern.h"

#include <errno.h>

/* Room for one more element of a growing array. */
static int make_room(void *array, size_t size, uint32_t n, uint32_t *cap)
{
	uint32_t more = *cap ? 2 * *cap : 16;
	void **at = array, *grown;

	if (n < *cap)
		return 0;
	grown = reallocarray(*at, more, size);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*cap = more;
	return 0;
}

static int take_source(struct mt_coverage_facts *facts, const struct mt_coverage_row *row,
		       struct mt_intern *strings)
{
	struct mt_covered source = {
		.path = mt_intern_text(strings, row->path),
		.kind = mt_intern_text(strings, row->kind),
		.functions = row->n_functions,
	};
	int err;

	if (!source.path || !source.kind)
		return -ENOMEM;
	if (row->id != facts->n_sources + 1)
		return -MT_E_CORRUPT;
	if (facts->n_sources == MT_COVERAGE_SOURCES_MAX)
		return -MT_E_LIMIT;
	err = make_room(&facts->sources, sizeof(source), facts->n_sources, &facts->cap_sources);
	if (!err)
		facts->sources[facts->n_sources++] = source;
	return err;
}

static int take_gap(struct mt_coverage_facts *facts, const struct mt_coverage_row *row,
		    struct mt_intern *strings)
{
	struct mt_coverage_gap gap = {
		.path = mt_intern_text(strings, row->path),
		.function = mt_intern_text(strings, row->function),
		.reason = mt_intern_text(strings, row->reason),
	};
	int err;

	if (!gap.path || !gap.function || !gap.reason)
		return -ENOMEM;
	if (facts->n_gaps == MT_COVERAGE_GAPS_MAX)
		return -MT_E_LIMIT;
	err = make_room(&facts->gaps, sizeof(gap), facts->n_gaps, &facts->cap_gaps);
	if (!err)
		facts->gaps[facts->n_gaps++] = gap;
	return err;
}

int mt_coverage_facts_take(struct mt_coverage_facts *facts, const struct mt_coverage_row *row,
			   struct mt_intern *strings)
{
	switch (row->type) {
	case MT_COVERAGE_SOURCE:
		return take_source(facts, row, strings);
	case MT_COVERAGE_EVENTS:
		if (!row->id || row->id > facts->n_sources)
			return -MT_E_CORRUPT;
		facts->sources[row->id - 1].events = row->events;
		return 0;
	case MT_COVERAGE_GAP:
		return take_gap(facts, row, strings);
	}
	return 0;
}

static int by_events(const void *a, const void *b)
{
	const struct mt_covered *x = a, *y = b;
	int order;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	order = strcmp(x->path, y->path);
	return order ? order : strcmp(x->kind, y->kind);
}

void mt_coverage_facts_sort(struct mt_coverage_facts *facts)
{
	if (facts->n_sources)
		qsort(facts->sources, facts->n_sources, sizeof(*facts->sources), by_events);
}

void mt_coverage_facts_release(struct mt_coverage_facts *facts)
{
	free(facts->sources);
	free(facts->gaps);
	memset(facts, 0, sizeof(*facts));
}
