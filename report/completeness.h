/*
 * report/completeness.h - how stacks end, counted by definitions and by the allocations that
 * refer to them.
 */
#ifndef MT_COMPLETENESS_H
#define MT_COMPLETENESS_H

#include "report/ranking.h"

#include <stdio.h>

#define MT_CULPRITS_MAX 3

/* A module in which stacks of one kind of end stop. */
struct mt_culprit {
	const char *path;
	uint64_t allocations;
};

struct mt_completeness {
	uint32_t definitions, distinct;
	uint32_t by_end[MT_UNWIND_END_KINDS];		/* definitions */
	uint64_t allocations;
	uint64_t allocations_by_end[MT_UNWIND_END_KINDS];
	uint64_t no_stack;		/* allocations without a stack */
	uint64_t undefined;		/* allocations whose stack's definition is missing */
	uint32_t stack_size;		/* of the recording */
	struct mt_culprit culprits[MT_UNWIND_END_KINDS][MT_CULPRITS_MAX];	/* heaviest first */
};

struct mt_session;

void mt_completeness_count(const struct mt_ranked_path *rows, size_t n,
			   const struct mt_paths *paths, const struct mt_session *session,
			   uint32_t stack_size, struct mt_completeness *ret_completeness);

/* One line without newline: shares of the allocations' stacks, and what would help. */
void mt_completeness_put(const struct mt_completeness *completeness, FILE *out);

/* Allocations whose stack was captured but not followed to its thread's first frame. */
uint64_t mt_completeness_incomplete(const struct mt_completeness *completeness);
/* One line without newline: their share, each reason's, and what would help. */
void mt_completeness_put_incomplete(const struct mt_completeness *completeness, FILE *out);

/* What stands for the missing outer frames of a path: "[truncated]"; "" if it is complete. */
void mt_put_end(enum mt_unwind_end end, const char *module, FILE *out);

#endif
