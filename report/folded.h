/*
 * report/folded.h - "root;...;leaf N" lines, one per distinct chain of names.
 *
 * In a frame ; is written as : and control characters as ?, so that a line is always one stack
 * and N is what follows its last space. Frames that are inlined stand like others. A stack
 * that was not unwound to its start begins with the reason in brackets.
 */
#ifndef MT_FOLDED_H
#define MT_FOLDED_H

#include "report/top_report.h"

struct mt_folded_line {
	char *text;
	uint64_t weight;
};

struct mt_folded {
	struct mt_folded_line *lines;
	size_t n, cap;
};

/* Append a stack that weighs weight; 0 is left out. 0 or -ENOMEM. */
int mt_folded_add(struct mt_folded *folded, const struct mt_top_stack *stack, uint64_t weight);
/* Sort by text and merge equal lines. */
void mt_folded_merge(struct mt_folded *folded);
void mt_folded_put(const struct mt_folded *folded, FILE *out);
void mt_folded_release(struct mt_folded *folded);

#endif
