/*
 * report/ranking.h - call paths and functions in the order of what they allocate.
 */
#ifndef MT_RANKING_H
#define MT_RANKING_H

#include "report/aggregate.h"
#include "report/names.h"
#include "report/report_opts.h"

enum mt_ranked_kind {
	MT_RANKED_PATH,
	MT_RANKED_NO_STACK,	/* no stack was captured (stack id 0) */
	MT_RANKED_UNDEFINED,	/* one was, but its definition is not in the file */
};

struct mt_ranked_path {
	enum mt_ranked_kind kind;
	uint32_t path;		/* MT_PATHS_NONE for the other kinds */
	struct mt_totals totals;	/* sum over all stack ids with this path */
};

struct mt_ranked_function {
	struct mt_location location;	/* function and module; offset if there is no function */
	bool passes;		/* of the language's library: what it asks for is for its caller */
	struct mt_totals self;		/* it calls the allocator */
	struct mt_totals inclusive;	/* it or what it calls does; recursion counts once */
};

uint64_t mt_weight(const struct mt_totals *totals, enum mt_by by);

/*
 * All paths with events, heaviest first, equal ones in order of definition; free() the rows.
 * 0 or -ENOMEM.
 */
int mt_rank_paths(const struct mt_profile *profile, const struct mt_paths *paths, enum mt_by by,
		  struct mt_ranked_path **ret_rows, size_t *ret_n);

/*
 * All functions on those paths, unsorted; free() the rows. Self goes to the innermost
 * function that is neither an allocator (malloc, operator new and the like) nor of the language's
 * own library (mt_is_library_function); on a path without such, to the one after the allocators.
 */
int mt_rank_functions(const struct mt_ranked_path *rows, size_t n, const struct mt_paths *paths,
		      const struct mt_names *names, struct mt_ranked_function **ret_functions,
		      size_t *ret_n);

/* Heaviest first by self (then inclusive) or by inclusive (then self), then by name. */
void mt_sort_functions(struct mt_ranked_function *functions, size_t n, enum mt_by by,
		       bool inclusive);

/* Is this the name of a function that callers get memory from? */
bool mt_is_allocator(const char *function);

#endif
