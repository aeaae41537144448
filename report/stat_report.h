/*
 * report/stat_report.h - what "mt-report stat" shows. Strings are borrowed.
 */
#ifndef MT_STAT_REPORT_H
#define MT_STAT_REPORT_H

#include "report/completeness.h"
#include "report/module_facts.h"
#include "report/render_text.h"
#include "report/run_facts.h"

struct mt_analysis;

struct mt_stat_report {
	const struct mt_run *run;
	struct mt_reader_end end;
	const struct mt_profile_totals *totals;
	const struct mt_profile_totals *regions;	/* of mapped memory; NULL: none known */
	const struct mt_moment *from, *until;	/* all is about this time only; NULL: it is not */
	uint32_t n_processes, n_threads;
	struct mt_completeness completeness;
	const struct mt_modules *modules;
	const char *const *problems;
	size_t n_problems;
};

/* The analysis has profile, paths and modules, and outlives the report. 0 or -ENOMEM. */
int mt_stat_report_build(const struct mt_analysis *analysis, struct mt_stat_report *ret_report);

/* "malloc", "fork"...; "unknown" for others. */
const char *mt_event_name(unsigned int type);
const char *mt_lifecycle_name(unsigned int type);

/* -ENOMEM or 0. */
int mt_render_stat(const struct mt_stat_report *report, const struct mt_style *style, FILE *out);
void mt_render_stat_json(const struct mt_stat_report *report, FILE *out);

#endif
