/*
 * report/coverage_facts.h - which allocators a recording covers, and what it may have missed.
 */
#ifndef MT_COVERAGE_FACTS_H
#define MT_COVERAGE_FACTS_H

#include "common/artifact.h"

struct mt_intern;

#define MT_COVERAGE_SOURCES_MAX 65536u
#define MT_COVERAGE_GAPS_MAX 65536u

struct mt_covered {
	const char *path;
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	const char *kind;	/* "glibc", "jemalloc", ... */
	uint32_t functions;	/* probed */
	uint64_t events;	/* that came from it; of a cut file: up to its last checkpoint */
};

struct mt_coverage_gap {
	const char *path;	/* "" if it is about no file */
	const char *function;	/* "": all of the file */
	const char *reason;
};

struct mt_coverage_facts {
	struct mt_covered *sources;	/* index id - 1 while rows are taken */
	uint32_t n_sources, cap_sources;
	struct mt_coverage_gap *gaps;
	uint32_t n_gaps, cap_gaps;
};

/* Take a row of a coverage block; strings are interned. 0, -ENOMEM, -MT_E_CORRUPT, -MT_E_LIMIT. */
int mt_coverage_facts_take(struct mt_coverage_facts *facts, const struct mt_coverage_row *row,
			   struct mt_intern *strings);

/*
 * All rows are taken: of the sources of a file, those of one kind become one, and those that gave
 * most events come first.
 */
void mt_coverage_facts_sort(struct mt_coverage_facts *facts);
void mt_coverage_facts_release(struct mt_coverage_facts *facts);

#endif
