/*
 * report/analysis.h - one artifact taken through the stages a command needs.
 *
 * Owns every stage's result. What makes the result partial is collected as problems: one
 * line each, for standard error, the top of a report and the exit status.
 */
#ifndef MT_ANALYSIS_H
#define MT_ANALYSIS_H

#include "report/aggregate.h"
#include "report/call_paths.h"
#include "report/module_facts.h"
#include "report/names.h"
#include "report/pack.h"
#include "report/run_facts.h"
#include "report/session.h"
#include "report/workers.h"

enum mt_need {
	MT_NEED_PROFILE = 1,	/* replay the events */
	MT_NEED_PATHS = 2,	/* unwind the stacks */
	MT_NEED_NAMES = 4,	/* name their calls; with paths */
	MT_NEED_MODULES = 8,	/* verify every mapped file */
	MT_NEED_REGIONS = 16,	/* with profile: the other one too, if there are such events */
	MT_NEED_MMAP = 32,	/* the profile is about mapped memory, not about the heap */
};

struct mt_problems {
	char **lines;
	size_t n;
};

struct mt_analysis {
	struct mt_workers *workers;
	struct mt_reader *reader;
	struct mt_run run;
	struct mt_between between;	/* of the run's marks: what the profile is about */
	struct mt_session *session;
	struct mt_debuginfod *debuginfod;	/* NULL: no server is asked */
	struct mt_cache *cache;	/* NULL: nothing is kept from run to run */
	struct mt_profile_modules *folder;	/* NULL: none to take modules from */
	struct mt_pack *pack;	/* NULL: the artifact carries no modules */
	bool mmap;		/* the profile is about mapped memory */
	struct mt_profile *profile;	/* NULL what was not needed */
	struct mt_profile *regions;	/* of mapped memory, beside the heap's; NULL: none */
	struct mt_symbolizer *symbolizer;
	struct mt_unwinder **unwinders;	/* of each worker */
	struct mt_paths *paths;
	struct mt_names *names;
	struct mt_modules modules;
	struct mt_reader_end end;
	struct mt_problems problems;	/* in order of their weight */
};

/* Told what is being done, for a progress line. May be NULL. */
typedef void (*mt_progress_fn)(void *arg, const char *doing);

struct mt_progress {
	mt_progress_fn fn;	/* NULL: nobody is told */
	void *arg;
	const char *doing;
	uint32_t percent;	/* told last */
};

/* What is done from here on; and for mt_reader_tell(), with progress: how much of a pass is. */
void mt_progress_begin(struct mt_progress *progress, const char *doing);
void mt_progress_read_on(void *progress, uint32_t frame, uint32_t frames);

/* From which mark to which; where there is no such mark, one line in error. */
struct mt_range_wanted {
	const char *marks[2];	/* as mt_mark_facts_find() takes them; NULL: all of the run */
	char error[MT_BETWEEN_ERROR_MAX];
};

/* The times of that: [*ret_from, *ret_until), which is [0, UINT64_MAX) for all of the run. */
void mt_analysis_range(const struct mt_analysis *analysis, uint64_t *ret_from,
		       uint64_t *ret_until);

/*
 * Open path and do what needs asks for, with files found as options say; their kernel is set
 * here, and their debuginfod and cache are the analysis's, also on failure. threads: that many at
 * the most, 0 for as many as there are CPUs; the result is the same. range may be NULL.
 * On failure *ret_analysis is not written. Errors are the reader's, -EOPNOTSUPP for an
 * architecture that cannot be unwound, -ENOENT with range->error.
 */
int mt_analysis_load(const char *path, unsigned int needs, const struct mt_module_options *options,
		     unsigned int threads, struct mt_range_wanted *range, mt_progress_fn progress,
		     void *arg, struct mt_analysis *ret_analysis);
void mt_analysis_release(struct mt_analysis *analysis);

/* Add a line: 0 or -ENOMEM. */
int mt_problems_add(struct mt_problems *problems, const char *format, ...) MT_PRINTF(2, 3);
void mt_problems_release(struct mt_problems *problems);

/* What the stages that were done say is missing. Called by mt_analysis_load(). */
int mt_problems_find(struct mt_analysis *analysis);

#endif
