#include "report/report_opts.h"

#include <criterion/criterion.h>
#include <errno.h>

static struct mt_report_opts opts;
static char error[MT_OPTIONS_ERROR_MAX];

static int parse(const char *line)
{
	static char text[512];
	static char *args[16];
	char *save, *word;
	int n = 0;

	memset(&opts, 0, sizeof(opts));
	error[0] = '\0';
	snprintf(text, sizeof(text), "%s", line);
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		args[n++] = word;
	args[n] = NULL;
	return mt_report_opts_parse(n, args, &opts, error);
}

static void expect_error(const char *line, const char *text)
{
	cr_expect_eq(parse(line), -EINVAL, "%s", line);
	cr_expect_str_eq(error, text);
}

Test(report_opts, commands)
{
	cr_assert_eq(parse("mt-report top run.mt"), 0);
	cr_expect_eq(opts.command, MT_COMMAND_TOP);
	cr_expect_str_eq(opts.file, "run.mt");
	cr_expect_eq(opts.by, MT_BY_BYTES);
	cr_expect_eq(opts.rows, 10);
	cr_expect_not(opts.json);

	cr_assert_eq(parse("mt-report top --by=live run.mt -n 3 --json"), 0);
	cr_expect_eq(opts.by, MT_BY_LIVE);
	cr_expect_eq(opts.rows, 3);
	cr_expect(opts.json);

	cr_assert_eq(parse("mt-report symbolize -o d --no-report -- -x"), 0);
	cr_expect_eq(opts.command, MT_COMMAND_SYMBOLIZE);
	cr_expect_str_eq(opts.output, "d");
	cr_expect(opts.no_report);
	cr_expect_str_eq(opts.file, "-x");

	cr_assert_eq(parse("mt-report folded --by peak -"), 0);
	cr_expect_eq(opts.by, MT_BY_PEAK);
	cr_expect_str_eq(opts.file, "-");
	cr_assert_eq(parse("mt-report stat --json x"), 0);
	cr_assert_eq(parse("mt-report dump --json x"), 0);
	cr_expect_eq(opts.threads, 0);
	cr_assert_eq(parse("mt-report check --threads 3 x"), 0);
	cr_expect_eq(opts.threads, 3);
	cr_expect_eq(opts.command, MT_COMMAND_CHECK);
}

Test(report_opts, one_parse_leaves_nothing_to_the_next)
{
	cr_assert_eq(parse("mt-report top --by live -n 3 --json x"), 0);
	cr_assert_eq(parse("mt-report top x"), 0);
	cr_expect_eq(opts.by, MT_BY_BYTES);
	cr_expect_eq(opts.rows, 10);
	cr_expect_not(opts.json);
}

Test(report_opts, help_and_version)
{
	cr_assert_eq(parse("mt-report --help"), 0);
	cr_expect(opts.help);
	cr_expect_eq(opts.command, MT_COMMAND_NONE);
	cr_assert_eq(parse("mt-report -V"), 0);
	cr_expect(opts.version);
	cr_assert_eq(parse("mt-report dump --help"), 0);
	cr_expect(opts.help);
	cr_expect_eq(opts.command, MT_COMMAND_DUMP);
	cr_expect_null(opts.file);
}

Test(report_opts, errors_say_what_was_meant)
{
	expect_error("mt-report", "no command given; mt-report --help lists them");
	expect_error("mt-report stta run.mt", "unknown command 'stta'; did you mean stat?");
	expect_error("mt-report run.mt",
		     "unknown command 'run.mt'; did you mean mt-report top run.mt?");
	expect_error("mt-report frobnicate",
		     "unknown command 'frobnicate'; mt-report --help lists them");
	expect_error("mt-report top", "top: no file given: mt-report top FILE");
	expect_error("mt-report top a b", "top: one file at a time: mt-report top FILE");
	expect_error("mt-report top --josn a", "unknown option '--josn'; did you mean --json?");
	expect_error("mt-report folded --json a", "unknown option '--json'");
	expect_error("mt-report top --by size a",
		     "--by: 'size' is none of bytes, count, peak, live");
	expect_error("mt-report symbolize -",
		     "symbolize: standard input gives the folder no name; use --output=DIR");
	expect_error("mt-report --json", "unknown option '--json'");
}

Test(report_opts, every_help_fits_a_screen_and_has_an_example)
{
	enum mt_command command;
	char *text, *line, *save;
	size_t len, lines;
	FILE *out;

	for (command = MT_COMMAND_NONE; command < MT_COMMANDS; command++) {
		text = NULL;
		out = open_memstream(&text, &len);
		mt_report_opts_help(command, out);
		fclose(out);
		cr_expect_not_null(strstr(text, "Example"));
		cr_expect_eq(strncmp(text, "Usage: mt-report ", 17), 0);
		lines = 0;
		for (line = text; (line = strchr(line, '\n')); line++)
			lines++;
		cr_expect_leq(lines, 24u, "%d: %zu lines", command, lines);
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			cr_expect_leq(strlen(line), 80u, "%s", line);
		free(text);
	}
}
