/*
 * report/top_report.h - what "mt-report top" shows, ready to be rendered.
 *
 * Renderers (render_top.c, render_top_json.c) are functions of this struct alone. All strings are
 * borrowed.
 */
#ifndef MT_TOP_REPORT_H
#define MT_TOP_REPORT_H

#include "report/completeness.h"
#include "report/module_facts.h"
#include "report/render_text.h"

struct mt_analysis;
struct mt_header;
struct mt_moment;

struct mt_top_stack {
	enum mt_ranked_kind kind;
	enum mt_unwind_end end;
	const char *end_module;		/* where the outermost found frame is; NULL */
	struct mt_totals totals;
	const struct mt_location **frames;	/* innermost first, inlined ones apart */
	size_t n_frames;
};

struct mt_top_process {
	uint32_t pid;
	const char *comm;
	struct mt_totals totals;
};

struct mt_top_report {
	char *command;		/* owned */
	char *cwd;		/* owned; source files below it are shown from there; NULL */
	const struct mt_header *header;
	uint64_t duration;	/* ns; 0: unknown */
	const struct mt_moment *from, *until;	/* all is about this time only; NULL: it is not */
	const struct mt_profile_totals *totals;
	uint32_t n_threads;
	bool mmap;		/* about mapped memory: a block is a region */
	enum mt_by by;
	uint64_t whole;		/* sum of all weights */
	struct mt_completeness completeness;
	struct mt_top_stack *stacks;
	size_t n_stacks;	/* shown, of */
	size_t all_stacks;
	struct mt_ranked_function *self, *inclusive;	/* shown; without those of no weight */
	size_t n_self, n_inclusive, all_self, all_inclusive;
	bool passed;		/* some functions have no self as they are a library's */
	struct mt_top_process *processes;
	size_t n_processes;	/* shown, of */
	size_t all_processes;
	const struct mt_modules *modules;
	const char *const *problems;
	size_t n_problems;
};

/* A ranked path with its frames named; free(ret_stack->frames). 0 or -ENOMEM. */
int mt_top_stack_expand(const struct mt_analysis *analysis, const struct mt_ranked_path *row,
			struct mt_top_stack *ret_stack);

/* rows: how many of each list, 0 for all. The analysis has everything and outlives the report. */
int mt_top_report_build(const struct mt_analysis *analysis, enum mt_by by, uint64_t rows,
			struct mt_top_report *ret_report);
void mt_top_report_release(struct mt_top_report *report);

void mt_render_top(const struct mt_top_report *report, const struct mt_style *style, FILE *out);
void mt_render_top_json(const struct mt_top_report *report, FILE *out);

#endif
