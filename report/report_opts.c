#include "report/report_opts.h"

#include "common/suggest.h"
#include "report/workers.h"

#include <errno.h>

#define ROWS_DEFAULT 10

static const char *const to_names[] = { "memtrack", NULL };
static const char *const events_names[] = { "heap", "mmap", NULL };
static const char *const by_names[] = { "bytes", "count", "peak", "live", NULL };

/* Where the options of every command go; each command's table names those it has. */
static struct mt_report_opts parsed;

#define OPTION_HELP \
	{ .kind = MT_OPTION_FLAG, .name = "help", .alias = 'h', .value = &parsed.help, \
	  .help = "print this and exit" }
#define OPTION_JSON(what) \
	{ .kind = MT_OPTION_FLAG, .name = "json", .value = &parsed.json, .help = what }
#define OPTION_BY \
	{ .kind = MT_OPTION_CHOICE, .name = "by", .value = &parsed.by, .arg = "WEIGHT", \
	  .choices = by_names, \
	  .help = "bytes (default), count, peak, or live (never freed)" }
#define OPTION_EVENTS \
	{ .kind = MT_OPTION_CHOICE, .name = "events", .value = &parsed.events, .arg = "WHICH", \
	  .choices = events_names, \
	  .help = "heap (default), or mmap, munmap, mremap and brk" }
#define OPTION_ROWS \
	{ .kind = MT_OPTION_COUNT, .name = "rows", .alias = 'n', .value = &parsed.rows, \
	  .arg = "N", .help = "how many of each list (default 10; 0 is all)" }
#define OPTION_FILES \
	{ .kind = MT_OPTION_STRING, .name = "profile", .value = &parsed.profile, .arg = "DIR", \
	  .help = "take modules from this profile folder, by build-id" }, \
	{ .kind = MT_OPTION_STRING, .name = "sysroot", .value = &parsed.sysroot, .arg = "DIR", \
	  .help = "where mapped files are, known by build-id" }, \
	{ .kind = MT_OPTION_STRING, .name = "debug-dir", .value = &parsed.debug_dir, \
	  .arg = "DIR", .help = "separate debug files, else /usr/lib/debug" }, \
	{ .kind = MT_OPTION_STRING, .name = "debuginfod", .value = &parsed.debuginfod, \
	  .arg = "URLS", .help = "ask these servers for files not found" }, \
	{ .kind = MT_OPTION_STRING, .name = "cache-dir", .value = &parsed.cache_dir, \
	  .arg = "DIR", .help = "what is worked out of files, else ~/.cache/memtrack" }, \
	{ .kind = MT_OPTION_FLAG, .name = "no-cache", .value = &parsed.no_cache, \
	  .help = "keep nothing, use nothing kept" }, \
	{ .kind = MT_OPTION_FLAG, .name = "verbose", .alias = 'v', .value = &parsed.verbose, \
	  .help = "say how much of that was used" }
#define OPTION_THREADS \
	{ .kind = MT_OPTION_COUNT, .name = "threads", .value = &parsed.threads, .arg = "N", \
	  .min = 1, .max = MT_WORKERS_MAX, .help = "work with so many (default one for each CPU)" }
#define OPTION_BETWEEN \
	{ .kind = MT_OPTION_PAIR, .name = "between", .value = parsed.between, .arg = "A B", \
	  .help = "from mark A to mark B (B#2: the second B)" }
#define OPTIONS_TITLE { .kind = MT_OPTION_HEADING, .name = "Options:" }
#define OPTIONS_END { .kind = MT_OPTION_END }

static const struct mt_option program_options[] = {
	OPTIONS_TITLE,
	OPTION_HELP,
	{ .kind = MT_OPTION_FLAG, .name = "version", .alias = 'V', .value = &parsed.version,
	  .help = "print the version and exit" },
	OPTIONS_END,
};

static const struct mt_option symbolize_options[] = {
	OPTIONS_TITLE,
	{ .kind = MT_OPTION_STRING, .name = "output", .alias = 'o', .value = &parsed.output,
	  .arg = "DIR", .help = "the profile folder (default FILE.profile)" },
	{ .kind = MT_OPTION_STRING, .name = "integration", .value = &parsed.integration,
	  .arg = "N,V", .help = "name and version of the writer to put in it" },
	{ .kind = MT_OPTION_FLAG, .name = "no-report", .value = &parsed.no_report,
	  .help = "write the folder only" },
	OPTION_BY,
	OPTION_EVENTS,
	OPTION_BETWEEN,
	OPTION_ROWS,
	OPTION_FILES,
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option stat_options[] = {
	OPTIONS_TITLE,
	OPTION_BETWEEN,
	OPTION_JSON("one JSON object"),
	OPTION_FILES,
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option top_options[] = {
	OPTIONS_TITLE,
	OPTION_BY,
	OPTION_EVENTS,
	OPTION_BETWEEN,
	OPTION_ROWS,
	OPTION_JSON("one JSON object"),
	OPTION_FILES,
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option folded_options[] = {
	OPTIONS_TITLE,
	OPTION_BY,
	OPTION_EVENTS,
	OPTION_BETWEEN,
	OPTION_FILES,
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option dump_options[] = {
	OPTIONS_TITLE,
	OPTION_BETWEEN,
	OPTION_JSON("one JSON object a line"),
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option check_options[] = {
	OPTIONS_TITLE,
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option pack_options[] = {
	OPTIONS_TITLE,
	{ .kind = MT_OPTION_STRING, .name = "output", .alias = 'o', .value = &parsed.output,
	  .arg = "PACK", .help = "the pack (default run.mtp for run.mt, else FILE.mtp)" },
	{ .kind = MT_OPTION_FLAG, .name = "with-binaries", .value = &parsed.with_binaries,
	  .help = "the modules' files as they are, code and data included" },
	OPTION_FILES,
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct mt_option export_options[] = {
	OPTIONS_TITLE,
	{ .kind = MT_OPTION_CHOICE, .name = "to", .value = &parsed.to, .arg = "FORMAT",
	  .choices = to_names, .help = "memtrack: its event stream" },
	OPTION_THREADS,
	OPTION_HELP,
	OPTIONS_END,
};

static const struct {
	const char *name;
	const struct mt_option *options;
	const char *summary;	/* in the list of commands */
	const char *about;
	const char *example;
	const char *operands;	/* NULL: FILE */
} commands[MT_COMMANDS] = {
	[MT_COMMAND_SYMBOLIZE] = {
		"symbolize", symbolize_options,
		"write the profile folder, then report as top does",
		"Verify mapped files, put what they say into a folder, and report as top does.\n",
		"mt-record -o run.mt -- ./prog && mt-report symbolize run.mt",
	},
	[MT_COMMAND_STAT] = {
		"stat", stat_options, "totals, losses, completeness of stacks, modules",
		"Facts of the recording, totals, what was lost, how stacks end, and each module\n"
		"with the result of its verification.\n",
		"mt-report stat --json run.mt | jq .peak_bytes",
	},
	[MT_COMMAND_TOP] = {
		"top", top_options, "call stacks and functions that allocate most",
		"Call stacks and functions ranked by what they allocate, with files, lines and\n"
		"inlined calls; processes; modules, what they lack and how to get it.\n",
		"mt-report top --by live -n 20 run.mt",
	},
	[MT_COMMAND_FOLDED] = {
		"folded", folded_options, "one line per stack, for flame graph tools",
		"Lines \"root;...;leaf N\", sorted. In the name of a frame ; is written as : and\n"
		"control characters as ?; spaces stay: N follows the last one.\n",
		"mt-report folded --by peak run.mt | flamegraph.pl > peak.svg",
	},
	[MT_COMMAND_DUMP] = {
		"dump", dump_options, "every event in the order it happened",
		"Every allocation, free and process event, in the order in which they happened.\n",
		"mt-report dump --json run.mt | jq -c 'select(.size > 1000000)'",
	},
	[MT_COMMAND_CHECK] = {
		"check", check_options, "integrity of the file; where a cut one ends",
		"Read every frame and block. Says whether the file is whole, or up to which byte\n"
		"it can be used and why it ends there.\n",
		"mt-report check run.mt && echo whole",
	},
	[MT_COMMAND_PACK] = {
		"pack", pack_options, "one file with all it takes to report elsewhere",
		"Write the recording and what is needed of its modules (symbols, unwind tables,\n"
		"line tables) to one file, which every command takes in place of FILE, on any\n"
		"machine, with the same results.\n",
		"mt-report pack run.mt && scp run.mtp elsewhere:",
	},
	[MT_COMMAND_EXPORT] = {
		"export", export_options, "the events for programs that read another format",
		"Write stacks, events and mappings in another format to a file in DIR, which is\n"
		"made if it is missing: PID.MemtrackArtifact.msgpack, with the command's pid.\n",
		"mt-report export --to memtrack run.mt DIR",
		"FILE DIR",
	},
};

const char *mt_by_name(enum mt_by by)
{
	return by_names[by];
}

static enum mt_command find_command(const char *name)
{
	enum mt_command command;

	for (command = MT_COMMAND_NONE + 1; command < MT_COMMANDS; command++)
		if (!strcmp(commands[command].name, name))
			return command;
	return MT_COMMAND_NONE;
}

static int fail_command(const char *name, char *error)
{
	enum mt_command command;
	struct mt_suggest suggest;

	mt_suggest_init(&suggest, name);
	for (command = MT_COMMAND_NONE + 1; command < MT_COMMANDS; command++)
		mt_suggest_offer(&suggest, commands[command].name);
	if (suggest.best)
		snprintf(error, MT_OPTIONS_ERROR_MAX, "unknown command '%.80s'; did you mean %s?",
			 name, suggest.best);
	else if (strpbrk(name, "./"))
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "unknown command '%.80s'; did you mean mt-report top %.80s?", name, name);
	else
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "unknown command '%.80s'; mt-report --help lists them", name);
	return -EINVAL;
}

static int parse_export(int n, char **operands, char *error)
{
	if (parsed.to < 0 || n != 2) {
		snprintf(error, MT_OPTIONS_ERROR_MAX, "export: %s: mt-report export --to memtrack "
			 "FILE DIR", parsed.to < 0 ? "no format given" :
			 n > 2 ? "one file and one folder" :
			 n ? "no folder given" : "no file given");
		return -EINVAL;
	}
	parsed.file = operands[0];
	parsed.output = operands[1];
	return 0;
}

/* Two texts with a comma between; the second may have more of them. */
static bool is_pair(const char *text)
{
	const char *comma = strchr(text, ',');

	return comma && comma != text && comma[1];
}

static int parse_command(int argc, char **argv, char *error)
{
	const char *name = argv[0];
	int n;

	parsed.command = find_command(name);
	if (parsed.command == MT_COMMAND_NONE)
		return fail_command(name, error);
	n = mt_options_parse(commands[parsed.command].options, 0, argc - 1, argv + 1, error);
	if (n < 0)
		return n;
	if (parsed.help)
		return 0;
	if (parsed.command == MT_COMMAND_EXPORT)
		return parse_export(n, argv + 1, error);
	if (n != 1) {
		snprintf(error, MT_OPTIONS_ERROR_MAX, "%s: %s: mt-report %s FILE", name,
			 n ? "one file at a time" : "no file given", name);
		return -EINVAL;
	}
	parsed.file = argv[1];
	if (parsed.integration && !is_pair(parsed.integration)) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--integration: '%.80s' is not NAME,VERSION", parsed.integration);
		return -EINVAL;
	}
	if (parsed.command == MT_COMMAND_SYMBOLIZE && !parsed.output && !strcmp(parsed.file, "-")) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "symbolize: standard input gives the folder no name; use --output=DIR");
		return -EINVAL;
	}
	if (parsed.command == MT_COMMAND_PACK && !parsed.output && !strcmp(parsed.file, "-")) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "pack: standard input gives the pack no name; use --output=PACK");
		return -EINVAL;
	}
	return 0;
}

int mt_report_opts_parse(int argc, char **argv, struct mt_report_opts *ret_opts,
			 char error[MT_OPTIONS_ERROR_MAX])
{
	int n, err = 0;

	parsed = (struct mt_report_opts){ .by = MT_BY_BYTES, .rows = ROWS_DEFAULT, .to = -1 };
	n = mt_options_parse(program_options, MT_OPTIONS_STOP, argc - 1, argv + 1, error);
	if (n < 0)
		return n;
	if (!parsed.help && !parsed.version) {
		if (!n) {
			snprintf(error, MT_OPTIONS_ERROR_MAX,
				 "no command given; mt-report --help lists them");
			return -EINVAL;
		}
		err = parse_command(n, argv + 1, error);
	}
	if (!err)
		*ret_opts = parsed;
	return err;
}

static void program_help(FILE *out)
{
	enum mt_command command;

	fputs("Usage: mt-report COMMAND [OPTION...] FILE\n"
	      "Report on FILE, the artifact that mt-record wrote (- is standard input): who\n"
	      "allocates, how much, when, and what is never freed.\n"
	      "\n"
	      "Commands:\n", out);
	for (command = MT_COMMAND_NONE + 1; command < MT_COMMANDS; command++)
		fprintf(out, "  %-12s%s\n", commands[command].name, commands[command].summary);
	putc('\n', out);
	mt_options_help(program_options, out);
	fputs("\n"
	      "mt-report COMMAND --help explains a command and its options.\n"
	      "Exit status: 0 complete; 1 partial, for reasons told on standard error;\n"
	      "2 no result; 64 usage.\n"
	      "\n"
	      "Example:\n"
	      "  mt-record -o run.mt -- ./prog && mt-report symbolize run.mt\n", out);
}

void mt_report_opts_help(enum mt_command command, FILE *out)
{
	if (command == MT_COMMAND_NONE) {
		program_help(out);
		return;
	}
	fprintf(out, "Usage: mt-report %s [OPTION...] %s\n\n%s\n", commands[command].name,
		commands[command].operands ? commands[command].operands : "FILE",
		commands[command].about);
	mt_options_help(commands[command].options, out);
	fprintf(out, "\nExample:\n  %s\n", commands[command].example);
}
