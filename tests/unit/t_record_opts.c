#include "record/record_opts.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "record/attach.h"

static struct mt_record_opts opts;
static char error[MT_OPTIONS_ERROR_MAX];

/* Parses a copy of a NULL-terminated list. */
static int parse(char **args)
{
	static char *argv[32];
	int argc = 0;

	for (; args[argc]; argc++)
		argv[argc] = args[argc];
	argv[argc] = NULL;
	return mt_record_opts_parse(argc, argv, &opts, error);
}
#define PARSE(...) parse((char *[]){ __VA_ARGS__, NULL })

Test(record_opts, defaults)
{
	cr_assert_eq(PARSE("ls", "-l"), 0);
	cr_assert_str_eq(opts.output, "run.mt");
	cr_assert_eq(opts.stack_size, 32768);
	cr_assert_eq(opts.ring_size, 32u << 20);
	cr_assert_eq(opts.stack_ring_size, 64u << 20);
	cr_assert_not(opts.quiet);
	cr_assert_eq(opts.n_command, 2);
	cr_assert_str_eq(opts.command[1], "-l");
	cr_assert_null(opts.command[2]);
}

Test(record_opts, command_keeps_its_own_options)
{
	cr_assert_eq(PARSE("-o", "x.mt", "--stack-size=0", "-vv", "--", "ls", "--", "-q"), 0);
	cr_assert_str_eq(opts.output, "x.mt");
	cr_assert_eq(opts.stack_size, 0);
	cr_assert_eq(opts.verbose, 2);
	cr_assert_not(opts.quiet);
	cr_assert_eq(opts.n_command, 3);
	cr_assert_str_eq(opts.command[2], "-q");
	cr_assert_null(opts.command[3]);
}

Test(record_opts, tables_have_names_and_bounds)
{
	cr_assert_eq(PARSE("--table-size", "stacks=16", "--table-size=files=7", "ls"), 0);
	cr_assert_eq(opts.tables[MT_TABLE_STACKS], 16);
	cr_assert_eq(opts.tables[MT_TABLE_FILES], 7);
	cr_assert_eq(opts.tables[MT_TABLE_PROCESSES], 0);
	cr_assert_eq(PARSE("--table-size", "processes=131072", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "processes=131073", "ls"), 0);
	cr_assert_not_null(strstr(error, "processes=131073"), "%s", error);
	cr_assert_neq(PARSE("--table-size", "captures=65", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "stacks=0", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "stacks=-1", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "stacks=1x", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "stacks", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "stack=1", "ls"), 0);
	cr_assert_neq(PARSE("--table-size", "=1", "ls"), 0);
}

Test(record_opts, stack_size_has_bounds)
{
	cr_assert_eq(PARSE("--stack-size", "65528", "ls"), 0);
	cr_assert_eq(opts.stack_size, 65528);
	cr_assert_neq(PARSE("--stack-size", "65529", "ls"), 0);
	cr_assert_not_null(strstr(error, "65528"), "%s", error);
	cr_assert_neq(PARSE("--stack-size", "-1", "ls"), 0);
	cr_assert_neq(PARSE("--stack-size", "7", "ls"), 0);
	cr_assert_eq(PARSE("--stack-size", "8", "ls"), 0);
	cr_assert_eq(PARSE("--stack-size", "0", "ls"), 0);
}

Test(record_opts, ways_to_attach_and_to_tell_stacks_apart)
{
	cr_assert_eq(PARSE("ls"), 0);
	cr_assert_eq(opts.attach, MT_ATTACH_AUTO);
	cr_assert_eq(opts.stack_identity, MT_STACK_IDENTITY_PATH);
	cr_assert_eq(PARSE("--attach", "session", "--stack-identity=every", "ls"), 0);
	cr_assert_eq(opts.attach, MT_ATTACH_SESSION);
	cr_assert_eq(opts.stack_identity, MT_STACK_IDENTITY_EVERY);
	cr_assert_eq(PARSE("--attach", "perf", "--stack-identity=bytes", "ls"), 0);
	cr_assert_eq(opts.attach, MT_ATTACH_PERF);
	cr_assert_eq(opts.stack_identity, MT_STACK_IDENTITY_BYTES);
	cr_assert_neq(PARSE("--attach", "kprobe", "ls"), 0);
	cr_assert_neq(PARSE("--stack-identity", "fp", "ls"), 0);
}

Test(record_opts, control)
{
	cr_assert_eq(PARSE("--control", "fifo:a,b", "--start-disabled", "ls"), 0);
	cr_assert_str_eq(opts.control, "fifo:a,b");
	cr_assert(opts.start_disabled);
	cr_assert_eq(PARSE("ls"), 0);
	cr_assert_null(opts.control);
	cr_assert_neq(PARSE("--control", "a,b", "ls"), 0);
	cr_assert_not_null(strstr(error, "fifo:PATH"), "%s", error);
	/* Nobody could ever enable it. */
	cr_assert_neq(PARSE("--start-disabled", "ls"), 0);
	cr_assert_not_null(strstr(error, "--control"), "%s", error);
}

Test(record_opts, rings_are_powers_of_two)
{
	cr_assert_eq(PARSE("--ring-size", "64K", "--stack-ring-size", "1M", "ls"), 0);
	cr_assert_eq(opts.ring_size, 65536);
	cr_assert_eq(opts.stack_ring_size, 1 << 20);
	cr_assert_eq(PARSE("--ring-size", "3M", "ls"), -EINVAL);
	cr_assert_not_null(strstr(error, "--ring-size"), "%s", error);
	cr_assert_eq(PARSE("--stack-ring-size", "100000", "ls"), -EINVAL);
	cr_assert_not_null(strstr(error, "--stack-ring-size"), "%s", error);
	cr_assert_neq(PARSE("--ring-size", "32K", "ls"), 0);
	cr_assert_eq(PARSE("--request-ring-size", "4K", "ls"), 0);
	cr_assert_eq(opts.request_ring_size, 4096);
	cr_assert_eq(PARSE("--request-ring-size", "5000", "ls"), -EINVAL);
	cr_assert_not_null(strstr(error, "--request-ring-size"), "%s", error);
}

Test(record_opts, a_mistyped_option_is_answered_with_the_right_one)
{
	cr_assert_neq(PARSE("--stacksize", "1", "ls"), 0);
	cr_assert_not_null(strstr(error, "--stack-size"), "%s", error);
	cr_assert_neq(PARSE("--ouput", "x", "ls"), 0);
	cr_assert_not_null(strstr(error, "--output"), "%s", error);
}

Test(record_opts, a_command_is_needed_except_for_help)
{
	cr_assert_eq(PARSE("-q"), -EINVAL);
	cr_assert_not_null(strstr(error, "no command"), "%s", error);
	cr_assert_eq(PARSE("-p", "42"), 0);
	cr_assert_eq(opts.pid, 42);
	cr_assert_eq(PARSE("-p", "42", "ls"), -EINVAL);
	cr_assert_not_null(strstr(error, "--pid"), "%s", error);
	cr_assert_eq(PARSE("--help"), 0);
	cr_assert(opts.help);
	cr_assert_eq(PARSE("--version"), 0);
	cr_assert(opts.version);
}

Test(record_opts, help_fits_a_screen)
{
	char *text = NULL, *line;
	size_t size = 0, lines = 0;
	FILE *out = open_memstream(&text, &size);

	mt_record_opts_help(out);
	fclose(out);
	for (line = text; *line; line = strchr(line, '\n') + 1) {
		cr_assert_leq(strcspn(line, "\n"), 88u);
		lines++;
	}
	cr_assert_leq(lines, 24u);
	cr_assert_not_null(strstr(text, "mt-report symbolize"));
	free(text);
}

Test(record_opts, durations)
{
	static const struct { const char *text; int err; uint64_t ns; } cases[] = {
		{ "0", 0, 0 }, { "500ms", 0, 500000000 }, { "5s", 0, 5000000000 },
		{ "2m", 0, 120000000000 }, { "1h", 0, 3600000000000 }, { "inf", 0, UINT64_MAX },
		{ "5", -EINVAL, 0 }, { "", -EINVAL, 0 }, { "s", -EINVAL, 0 }, { "-1s", -EINVAL, 0 },
		{ "5 s", -EINVAL, 0 }, { "5sec", -EINVAL, 0 }, { "1.5s", -EINVAL, 0 },
		{ "99999999999999999999s", -ERANGE, 0 }, { "18446744074s", -ERANGE, 0 },
	};
	uint64_t ns;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(cases); i++) {
		ns = 4711;
		cr_expect_eq(mt_parse_duration(cases[i].text, &ns), cases[i].err, "%s",
			     cases[i].text);
		cr_expect_eq(ns, cases[i].err ? 4711 : cases[i].ns, "%s", cases[i].text);
	}
	cr_assert_eq(PARSE("--pressure-timeout", "7", "ls"), -EINVAL);
	cr_assert_not_null(strstr(error, "--pressure-timeout"), "%s", error);
	cr_assert_eq(PARSE("--duration", "2s", "--follow", "root", "ls"), 0);
	cr_assert_eq(opts.duration, 2000000000);
	cr_assert_eq(opts.follow, MT_FOLLOW_ROOT);
}

Test(record_opts, watch)
{
	static const struct { const char *text; enum mt_watch watch; } rows[] = {
		{ "auto", MT_WATCH_AUTO },
		{ "fentry", MT_WATCH_FENTRY },
		{ "tracepoint", MT_WATCH_TRACEPOINT },
	};
	size_t i;

	cr_assert_eq(PARSE("ls"), 0);
	cr_assert_eq(opts.watch, MT_WATCH_AUTO);
	for (i = 0; i < MT_ARRAY_SIZE(rows); i++) {
		cr_assert_eq(PARSE("--watch", (char *)(uintptr_t)rows[i].text, "ls"), 0);
		cr_assert_eq(opts.watch, (int)rows[i].watch, "%s", rows[i].text);
	}
	cr_assert_eq(PARSE("--watch", "raw", "ls"), -EINVAL);
	cr_assert_not_null(strstr(error, "auto"), "%s", error);
}
