#include "record/record_opts.h"

#include <errno.h>

#include "common/event.h"

#define RING_MIN (64u << 10)
#define RING_MAX (1u << 30)
#define RING_DEFAULT (32u << 20)
#define STACK_DEFAULT 32768

#define OPTIONS_MAX 16

int mt_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct { const char *suffix; uint64_t ns; } units[] = {
		{ "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
	};
	uint64_t value;
	char *end;
	size_t i;

	if (strcmp(text, "inf") == 0) {
		*ret_ns = UINT64_MAX;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (value == 0 && *end == '\0') {
		*ret_ns = 0;
		return 0;
	}
	for (i = 0; i < MT_ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		if (value > (UINT64_MAX - 1) / units[i].ns)
			return -ERANGE;
		*ret_ns = value * units[i].ns;
		return 0;
	}
	return -EINVAL;
}

/* Options whose text needs more than the table can do. */
struct texts {
	const char *pressure_timeout;
};

/* The table's variables are fields of one struct, so that parsing stays a pure function. */
static void fill_table(struct mt_record_opts *opts, struct texts *texts,
		       struct mt_option table[OPTIONS_MAX])
{
	const struct mt_option rows[] = {
		{ .kind = MT_OPTION_STRING, .name = "output", .alias = 'o', .value = &opts->output,
		  .arg = "FILE", .help = "write the recording to FILE (run.mt; -: standard output)" },
		{ .kind = MT_OPTION_SIZE, .name = "stack-size", .value = &opts->stack_size,
		  .arg = "BYTES", .max = MT_STACK_BYTES_MAX,
		  .help = "copy at most BYTES of each stack (32768; 0: no stacks; at most 65528)" },
		{ .kind = MT_OPTION_SIZE, .name = "ring-size", .value = &opts->ring_size,
		  .arg = "SIZE", .min = RING_MIN, .max = RING_MAX,
		  .help = "memory between kernel and recorder for events (32M; a power of two)" },
		{ .kind = MT_OPTION_SIZE, .name = "stack-ring-size",
		  .value = &opts->stack_ring_size, .arg = "SIZE", .min = RING_MIN, .max = RING_MAX,
		  .help = "the same for new stacks (32M; a power of two)" },
		{ .kind = MT_OPTION_STRING, .name = "pressure-timeout",
		  .value = &texts->pressure_timeout, .arg = "TIME",
		  .help = "when a ring fills, pause the command up to TIME rather than lose "
			  "events (0: never; 500ms, 5s, 2m, inf)" },
		{ .kind = MT_OPTION_FLAG, .name = "quiet", .alias = 'q', .value = &opts->quiet,
		  .help = "no summary; errors and losses are still told" },
		{ .kind = MT_OPTION_REPEAT, .name = "verbose", .alias = 'v',
		  .value = &opts->verbose, .help = "tell what is probed; twice: every file" },
		{ .kind = MT_OPTION_FLAG, .name = "help", .alias = 'h', .value = &opts->help,
		  .help = "show this" },
		{ .kind = MT_OPTION_FLAG, .name = "version", .alias = 'V', .value = &opts->version,
		  .help = "show the version" },
		{ .kind = MT_OPTION_END },
	};

	_Static_assert(MT_ARRAY_SIZE(rows) <= OPTIONS_MAX, "the table has room");
	memcpy(table, rows, sizeof(rows));
}

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

int mt_record_opts_parse(int argc, char **argv, struct mt_record_opts *ret_opts,
			 char error[MT_OPTIONS_ERROR_MAX])
{
	struct mt_record_opts opts = {
		.output = "run.mt",
		.stack_size = STACK_DEFAULT,
		.ring_size = RING_DEFAULT,
		.stack_ring_size = RING_DEFAULT,
	};
	struct texts texts = { .pressure_timeout = "0" };
	struct mt_option table[OPTIONS_MAX];
	int n;

	fill_table(&opts, &texts, table);
	n = mt_options_parse(table, MT_OPTIONS_STOP, argc, argv, error);
	if (n < 0)
		return n;
	if (mt_parse_duration(texts.pressure_timeout, &opts.pressure_timeout)) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--pressure-timeout: '%s' is no duration; 500ms, 5s, 2m, inf or 0",
			 texts.pressure_timeout);
		return -EINVAL;
	}
	argv[n] = NULL;
	opts.command = argv;
	opts.n_command = n;
	if (!opts.help && !opts.version) {
		if (n == 0) {
			snprintf(error, MT_OPTIONS_ERROR_MAX,
				 "no command; usage: mt-record [options] -- cmd [args...]");
			return -EINVAL;
		}
		if (!power_of_two(opts.ring_size) || !power_of_two(opts.stack_ring_size)) {
			snprintf(error, MT_OPTIONS_ERROR_MAX,
				 "--%s: must be a power of two, such as 16M",
				 power_of_two(opts.ring_size) ? "stack-ring-size" : "ring-size");
			return -EINVAL;
		}
	}
	*ret_opts = opts;
	return 0;
}

void mt_record_opts_help(FILE *out)
{
	struct mt_record_opts opts;
	struct mt_option table[OPTIONS_MAX];
	struct texts texts;

	fputs("Usage: mt-record [options] [--] cmd [args...]\n"
	      "Record every heap allocation of a command and of all it starts, with call stacks.\n\n",
	      out);
	fill_table(&opts, &texts, table);
	mt_options_help(table, out);
	fputs("\nExit status: the command's; 128+n if signal n ended it; 125 capture incomplete or\n"
	      "mt-record failed; 126 command not executable; 127 not found; 64 usage.\n\n"
	      "Example:\n"
	      "  mt-record -o run.mt -- python3 script.py\n"
	      "  mt-report symbolize run.mt\n",
	      out);
}
