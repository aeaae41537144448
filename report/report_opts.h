/*
 * report/report_opts.h - mt-report's command line: a pure function of argv.
 */
#ifndef MT_REPORT_OPTS_H
#define MT_REPORT_OPTS_H

#include "common/options.h"

enum mt_command {
	MT_COMMAND_NONE,
	MT_COMMAND_SYMBOLIZE,
	MT_COMMAND_STAT,
	MT_COMMAND_TOP,
	MT_COMMAND_FOLDED,
	MT_COMMAND_DUMP,
	MT_COMMAND_CHECK,
	MT_COMMAND_PACK,
	MT_COMMAND_EXPORT,
	MT_COMMANDS
};

/* What to weigh stacks by; indexes of the values of --by. */
enum mt_by {
	MT_BY_BYTES,	/* allocated over the whole run */
	MT_BY_COUNT,	/* allocations */
	MT_BY_PEAK,	/* live bytes at the moment of the peak */
	MT_BY_LIVE,	/* bytes never freed */
	MT_BY_KINDS
};

/* Which events a profile is about; indexes of the values of --events. */
enum mt_events { MT_EVENTS_HEAP, MT_EVENTS_MMAP };

struct mt_report_opts {
	enum mt_command command;
	bool help;		/* of the command, or of all if there is none */
	bool version;
	const char *file;
	/* symbolize: NULL for FILE.profile; pack: for FILE.mtp; export: never NULL. */
	const char *output;
	int to;			/* export: index of the values of --to; there is one */
	bool with_binaries;
	const char *profile;	/* folder to take modules from; NULL: none */
	const char *sysroot;	/* NULL: files are looked for where they were recorded */
	const char *debug_dir;	/* NULL: SYSROOT/usr/lib/debug */
	const char *debuginfod;	/* URLs; NULL: those of DEBUGINFOD_URLS, if there are */
	const char *cache_dir;	/* NULL: the user's own */
	bool no_cache;
	uint64_t threads;	/* 0: one for each CPU */
	bool verbose;
	const char *between[2];	/* marks; NULL: all of the run */
	bool json;
	const char *integration;	/* symbolize: NAME,VERSION; NULL: our own */
	bool no_report;
	int by;			/* enum mt_by */
	int events;		/* enum mt_events */
	uint64_t rows;		/* 0: all */
};

/*
 * argv as main got it; its operands are moved. 0, or -EINVAL and one line in error. Strings
 * borrow from argv.
 */
int mt_report_opts_parse(int argc, char **argv, struct mt_report_opts *ret_opts,
			 char error[MT_OPTIONS_ERROR_MAX]);

/* Usage of the command, or of the program for MT_COMMAND_NONE. */
void mt_report_opts_help(enum mt_command command, FILE *out);

const char *mt_by_name(enum mt_by by);	/* as given to --by */

#endif
