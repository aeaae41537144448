#include "common/options.h"
#include "common/suggest.h"

#include <criterion/criterion.h>
#include <errno.h>

static const char *const colours[] = { "red", "green", "blue", NULL };

static struct {
	bool quiet;
	unsigned int verbose;
	const char *output;
	uint64_t count;
	uint64_t size;
	int colour;
	struct mt_option_list words;
} got;

static const struct mt_option table[] = {
	{ .kind = MT_OPTION_HEADING, .name = "Options:" },
	{ .kind = MT_OPTION_STRING, .name = "output", .alias = 'o', .value = &got.output,
	  .arg = "FILE", .help = "where to write" },
	{ .kind = MT_OPTION_COUNT, .name = "count", .alias = 'n', .value = &got.count, .arg = "N",
	  .min = 1, .help = "how many" },
	{ .kind = MT_OPTION_SIZE, .name = "stack-size", .value = &got.size, .arg = "BYTES",
	  .max = 65528,
	  .help = "stack bytes to copy at most; more of them make deep stacks complete, fewer "
		  "make the artifact smaller; 0 is off" },
	{ .kind = MT_OPTION_CHOICE, .name = "colour", .value = &got.colour, .arg = "NAME",
	  .choices = colours, .help = "which" },
	{ .kind = MT_OPTION_LIST, .name = "word", .alias = 'w', .value = &got.words,
	  .arg = "WORD" },
	{ .kind = MT_OPTION_FLAG, .name = "quiet", .alias = 'q', .value = &got.quiet,
	  .help = "say less" },
	{ .kind = MT_OPTION_REPEAT, .name = "verbose", .alias = 'v', .value = &got.verbose,
	  .help = "say more" },
	{ .kind = MT_OPTION_END },
};

static char error[MT_OPTIONS_ERROR_MAX];
static char *args[80];

static int parse(unsigned int flags, const char *line)
{
	static char text[512];
	char *save, *word;
	int n = 0;

	memset(&got, 0, sizeof(got));
	error[0] = '\0';
	snprintf(text, sizeof(text), "%s", line);
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		args[n++] = word;
	return mt_options_parse(table, flags, n, args, error);
}

static void expect_error(const char *line, const char *text)
{
	cr_expect_eq(parse(0, line), -EINVAL, "%s", line);
	cr_expect_str_eq(error, text);
}

Test(options, every_way_to_give_a_value)
{
	cr_assert_eq(parse(0, "--output a --count=3 --stack-size 32K --colour=blue -q"), 0);
	cr_expect_str_eq(got.output, "a");
	cr_expect_eq(got.count, 3);
	cr_expect_eq(got.size, 32768);
	cr_expect_eq(got.colour, 2);
	cr_expect(got.quiet);

	cr_assert_eq(parse(0, "-oa -n 7 -vqv"), 0);
	cr_expect_str_eq(got.output, "a");
	cr_expect_eq(got.count, 7);
	cr_expect_eq(got.verbose, 2);
	cr_expect(got.quiet);

	cr_assert_eq(parse(0, "-o - -qo -x"), 0);
	cr_expect_str_eq(got.output, "-x");
	cr_assert_eq(parse(0, "--output=--count"), 0);
	cr_expect_str_eq(got.output, "--count");
}

Test(options, a_list_keeps_every_value)
{
	char line[MT_OPTION_LIST_MAX * 4 + 8] = "";
	int i;

	cr_assert_eq(parse(0, "-wa --word b rest -w c"), 1);
	cr_assert_eq(got.words.n, 3);
	cr_expect_str_eq(got.words.values[0], "a");
	cr_expect_str_eq(got.words.values[2], "c");
	expect_error("--word=", "--word: the value is empty");
	for (i = 0; i <= MT_OPTION_LIST_MAX; i++)
		memcpy(line + i * 4, "-wx ", 5);
	expect_error(line, "--word is given more than 64 times");
}

Test(options, operands)
{
	cr_assert_eq(parse(0, "one -q two -n 3 - -- -v --x"), 5);
	cr_expect_str_eq(args[0], "one");
	cr_expect_str_eq(args[1], "two");
	cr_expect_str_eq(args[2], "-");
	cr_expect_str_eq(args[3], "-v");
	cr_expect_str_eq(args[4], "--x");
	cr_expect_eq(got.verbose, 0);

	cr_assert_eq(parse(MT_OPTIONS_STOP, "-q ls -v -n x"), 4);
	cr_expect_str_eq(args[0], "ls");
	cr_expect_str_eq(args[1], "-v");
	cr_expect_eq(got.verbose, 0);
	cr_assert_eq(parse(MT_OPTIONS_STOP, "-q -- -v"), 1);
	cr_expect_str_eq(args[0], "-v");
}

Test(options, errors_say_what_was_meant)
{
	expect_error("--stacksize 3", "unknown option '--stacksize'; did you mean --stack-size?");
	expect_error("--stack=3", "unknown option '--stack'; did you mean --stack-size?");
	expect_error("--ouptut x", "unknown option '--ouptut'; did you mean --output?");
	expect_error("-quiet", "unknown option '-quiet'; did you mean --quiet?");
	expect_error("--zebra", "unknown option '--zebra'");
	expect_error("-qz", "unknown option '-qz'");
	expect_error("--output", "--output needs a value: --output=FILE");
	expect_error("-o -- ls", "--output needs a value: --output=FILE");
	expect_error("--output=", "--output: the value is empty");
	expect_error("--quiet=1", "--quiet takes no value");
	expect_error("-n 0", "--count: 0 is out of range (at least 1)");
	expect_error("-n 99999999999999999999",
		     "--count: 99999999999999999999 is out of range (at least 1)");
	expect_error("-n -3", "--count: '-3' is not a number");
	expect_error("--stack-size 70000",
		     "--stack-size: 70000 is out of range (0 to 65528)");
	expect_error("--stack-size 1X",
		     "--stack-size: '1X' is not a size (bytes, or with K, M or G)");
	expect_error("--colour pink", "--colour: 'pink' is none of red, green, blue");
}

Test(options, long_garbage_is_cut_not_overrun)
{
	char word[400], *argv[1] = { word };

	memset(word, 'x', sizeof(word));
	memcpy(word, "--", 2);
	word[sizeof(word) - 1] = '\0';
	cr_expect_eq(mt_options_parse(table, 0, 1, argv, error), -EINVAL);
	cr_expect_lt(strlen(error), sizeof(error));
	cr_expect_eq(strncmp(error, "unknown option '--xxx", 21), 0);
}

Test(options, pairs)
{
	static const char *pair[2];
	static const struct mt_option pairs[] = {
		{ .kind = MT_OPTION_PAIR, .name = "between", .alias = 'b', .value = pair,
		  .arg = "A B" },
		{ .kind = MT_OPTION_END },
	};
	char *good[] = { "x", "--between", "a", "b", "y" };
	char *equals[] = { "--between=a", "-" };
	char *alias[] = { "-bc", "d" };
	char *one[] = { "--between", "a" };
	char *dashes[] = { "--between", "a", "--", "b" };
	char *empty[] = { "--between", "a", "" };

	cr_assert_eq(mt_options_parse(pairs, 0, 5, good, error), 2);
	cr_expect_str_eq(pair[0], "a");
	cr_expect_str_eq(pair[1], "b");
	cr_expect_str_eq(good[1], "y");
	cr_assert_eq(mt_options_parse(pairs, 0, 2, equals, error), 0);
	cr_expect_str_eq(pair[1], "-");
	cr_assert_eq(mt_options_parse(pairs, 0, 2, alias, error), 0);
	cr_expect_str_eq(pair[0], "c");
	cr_expect_str_eq(pair[1], "d");
	cr_expect_eq(mt_options_parse(pairs, 0, 2, one, error), -EINVAL);
	cr_expect_str_eq(error, "--between needs two values: --between A B");
	cr_expect_eq(mt_options_parse(pairs, 0, 4, dashes, error), -EINVAL);
	cr_expect_eq(mt_options_parse(pairs, 0, 3, empty, error), -EINVAL);
}

Test(options, sizes)
{
	uint64_t value = 7;

	cr_expect_eq(mt_parse_size("4k", &value), 0);
	cr_expect_eq(value, 4096);
	cr_expect_eq(mt_parse_size("2GiB", &value), 0);
	cr_expect_eq(value, 2ull << 30);
	cr_expect_eq(mt_parse_size("16777215T", &value), 0);
	cr_expect_eq(value, 16777215ull << 40);
	value = 7;
	cr_expect_eq(mt_parse_size("16777216T", &value), -ERANGE);
	cr_expect_eq(mt_parse_size("000000000000000000000000001", &value), -ERANGE);
	cr_expect_eq(mt_parse_size("4KB", &value), -EINVAL);
	cr_expect_eq(mt_parse_size("K", &value), -EINVAL);
	cr_expect_eq(mt_parse_size("", &value), -EINVAL);
	cr_expect_eq(mt_parse_size("1 K", &value), -EINVAL);
	cr_expect_eq(value, 7, "written on failure");
}

Test(options, help_fits_80_columns)
{
	char *text = NULL, *line, *save;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	mt_options_help(table, out);
	fclose(out);
	cr_expect_eq(strncmp(text,
			     "Options:\n"
			     "  -o, --output FILE         where to write\n", 52), 0);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		cr_expect_lt(strlen(line), 80, "%s", line);
	free(text);
}

Test(suggest, distance)
{
	cr_expect_eq(mt_edit_distance("", ""), 0);
	cr_expect_eq(mt_edit_distance("", "abc"), 3);
	cr_expect_eq(mt_edit_distance("kitten", "sitting"), 3);
	cr_expect_eq(mt_edit_distance("ab", "ba"), 1);
	cr_expect_eq(mt_edit_distance("dump", "dmup"), 1);
}

Test(suggest, nearest_then_first)
{
	struct mt_suggest suggest;

	mt_suggest_init(&suggest, "stta");
	mt_suggest_offer(&suggest, "dump");
	cr_expect_null(suggest.best);
	mt_suggest_offer(&suggest, "stats");
	mt_suggest_offer(&suggest, "stat");
	mt_suggest_offer(&suggest, "stta2");
	cr_expect_str_eq(suggest.best, "stat");
}
