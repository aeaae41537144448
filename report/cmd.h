/*
 * report/cmd.h - mt-report's commands: load, build, render; errors in words, exit status.
 *
 * Data on standard output, talk on standard error; with report/mt_report.c the only code that
 * prints there.
 */
#ifndef MT_CMD_H
#define MT_CMD_H

#include "report/analysis.h"
#include "report/render_text.h"
#include "report/report_opts.h"

enum mt_exit {
	MT_EXIT_COMPLETE = 0,
	MT_EXIT_PARTIAL = 1,	/* something could not be resolved; told on standard error */
	MT_EXIT_NO_RESULT = 2,
	MT_EXIT_USAGE = 64,
};

int mt_cmd_symbolize(const struct mt_report_opts *opts);
int mt_cmd_stat(const struct mt_report_opts *opts);
int mt_cmd_top(const struct mt_report_opts *opts);
int mt_cmd_folded(const struct mt_report_opts *opts);
int mt_cmd_dump(const struct mt_report_opts *opts);
int mt_cmd_check(const struct mt_report_opts *opts);
int mt_cmd_pack(const struct mt_report_opts *opts);
int mt_cmd_export(const struct mt_report_opts *opts);

/* "mt-report: " and the text, as one line on standard error. */
void mt_cmd_say(const char *format, ...) MT_PRINTF(1, 2);
/* Say what err means for this file; MT_EXIT_NO_RESULT. */
int mt_cmd_fail(const char *file, int err);

/* mt_analysis_load() with a progress line on a terminal: true, or false and it was told. */
bool mt_cmd_load(const struct mt_report_opts *opts, unsigned int needs,
		 struct mt_analysis *ret_analysis);
/* What the profile has to be about. */
static inline unsigned int mt_cmd_events(const struct mt_report_opts *opts)
{
	return opts->events == MT_EVENTS_MMAP ? MT_NEED_MMAP : 0;
}
/* Progress of what comes after; NULL ends it. */
void mt_cmd_progress(void *unused, const char *doing);
/* The same, with how far the passes of this reader are; NULL ends it. */
void mt_cmd_watch(struct mt_reader *reader, const char *doing);

/* Colours if standard output is a terminal that wants them. */
const struct mt_style *mt_cmd_style(void);

/*
 * The end of a command: standard output is flushed, problems are told. in_report: a text
 * report on the same terminal has told them already. Returns the exit status.
 */
int mt_cmd_finish(const struct mt_problems *problems, bool in_report);

#endif
