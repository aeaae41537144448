#include "report/coverage_facts.h"

#include "common/error.h"
#include "common/grow.h"
#include "report/intern.h"
#include "report/number_order.h"

#include <errno.h>

static int take_source(struct mt_coverage_facts *facts, const struct mt_coverage_row *row,
		       struct mt_intern *strings)
{
	struct mt_covered source = {
		.path = mt_intern_text(strings, row->path),
		.kind = mt_intern_text(strings, row->kind),
		.dev_major = row->dev_major, .dev_minor = row->dev_minor, .ino = row->ino,
		.functions = row->n_functions,
	};
	int err;

	if (!source.path || !source.kind)
		return -ENOMEM;
	if (row->id != facts->n_sources + 1)
		return -MT_E_CORRUPT;
	if (facts->n_sources == MT_COVERAGE_SOURCES_MAX)
		return -MT_E_LIMIT;
	err = mt_grow(&facts->sources, facts->n_sources, &facts->cap_sources, sizeof(source),
		      MT_GROW_MAX);
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
	err = mt_grow(&facts->gaps, facts->n_gaps, &facts->cap_gaps, sizeof(gap), MT_GROW_MAX);
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

static int by_file(const void *a, const void *b)
{
	const struct mt_covered *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (!order)
		order = mt_compare(x->dev_major, y->dev_major);
	if (!order)
		order = mt_compare(x->dev_minor, y->dev_minor);
	if (!order)
		order = mt_compare(x->ino, y->ino);
	return order ? order : strcmp(x->kind, y->kind);
}

static int by_events(const void *a, const void *b)
{
	const struct mt_covered *x = a, *y = b;
	int order = mt_compare(y->events, x->events);

	return order ? order : by_file(a, b);
}

/* The recorder counts the user's functions of each fixed size apart. */
static void merge(struct mt_coverage_facts *facts)
{
	struct mt_covered *sources = facts->sources;
	uint32_t i, n = 0;

	for (i = 0; i < facts->n_sources; i++) {
		if (n && !by_file(&sources[n - 1], &sources[i])) {
			sources[n - 1].functions += sources[i].functions;
			sources[n - 1].events += sources[i].events;
		} else {
			sources[n++] = sources[i];
		}
	}
	facts->n_sources = n;
}

void mt_coverage_facts_sort(struct mt_coverage_facts *facts)
{
	if (!facts->n_sources)
		return;
	qsort(facts->sources, facts->n_sources, sizeof(*facts->sources), by_file);
	merge(facts);
	qsort(facts->sources, facts->n_sources, sizeof(*facts->sources), by_events);
}

void mt_coverage_facts_release(struct mt_coverage_facts *facts)
{
	free(facts->sources);
	free(facts->gaps);
	memset(facts, 0, sizeof(*facts));
}
