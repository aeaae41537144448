#include "record/record_opts.h"

#include <errno.h>
#include <inttypes.h>

#include "common/event.h"
#include "record/control.h"

#define RING_MIN (64u << 10)
#define RING_DEFAULT (32u << 20)
#define STACK_RING_DEFAULT (64u << 20)	/* a process that starts has all its paths to define */
#define MAPPING_RING_DEFAULT (1u << 20)	/* some 7000 mappings between two looks */
#define REQUEST_RING_MIN 4096
#define REQUEST_RING_DEFAULT (256u << 10)
#define STACK_DEFAULT 32768
#define STACK_MIN 8	/* the return address */

#define OPTIONS_MAX 32

int mt_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct { const char *suffix; uint64_t ns; } units[] = {
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "m", 60000000000 },
		{ "h", 3600000000000 },
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
	const char *duration;
	struct mt_option_list allocators;
	struct mt_option_list tables;
};

/* The table's variables are fields of one struct, so that parsing stays a pure function. */
static void fill_table(struct mt_record_opts *opts, struct texts *texts,
		       struct mt_option table[OPTIONS_MAX])
{
	static const char *const follow[] = { "tree", "root", NULL };
	static const char *const sites[] = { "auto", "entry", NULL };
	static const char *const identity[] = { "path", "code", "bytes", "every", NULL };
	static const char *const attach[] = { "auto", "session", "multi", "perf", NULL };
	static const char *const watch[] = { "auto", "fentry", "tracepoint", NULL };
	const struct mt_option rows[] = {
		{ .kind = MT_OPTION_STRING, .name = "output", .alias = 'o', .value = &opts->output,
		  .arg = "FILE", .help = "the recording (run.mt; - is stdout)" },
		{ .kind = MT_OPTION_COUNT, .name = "pid", .alias = 'p', .value = &opts->pid,
		  .arg = "PID", .min = 1, .max = 1 << 22,
		  .help = "attach to a running process tree" },
		{ .kind = MT_OPTION_STRING, .name = "duration", .value = &texts->duration,
		  .arg = "TIME", .help = "end after 500ms, 5s, 2m, ..." },
		{ .kind = MT_OPTION_CHOICE, .name = "follow", .value = &opts->follow,
		  .arg = "WHAT", .choices = follow,
		  .help = "until whose end: tree, root" },
		{ .kind = MT_OPTION_LIST, .name = "allocator", .value = &texts->allocators,
		  .arg = "SPEC", .help = "your own: 'my_new=malloc(1) my_del=free(1)'" },
		{ .kind = MT_OPTION_STRING, .name = "control", .value = &opts->control,
		  .arg = "fifo:PATH", .help = "take enable, disable, mark NAME, stop, ping" },
		{ .kind = MT_OPTION_SIZE, .name = "stack-size", .value = &opts->stack_size,
		  .arg = "BYTES", .max = MT_STACK_BYTES_MAX,
		  .help = "stack copied (32768; 0: none)" },
		{ .kind = MT_OPTION_SIZE, .name = "sample-bytes", .value = &opts->sample_bytes,
		  .arg = "N", .max = MT_SAMPLE_BYTES_MAX,
		  .help = "record one allocation in N bytes (0: all)" },
		{ .kind = MT_OPTION_STRING, .name = "pressure-timeout",
		  .value = &texts->pressure_timeout, .arg = "T",
		  .help = "pause when full (0, 5s, inf)" },
		{ .kind = MT_OPTION_FLAG, .name = "quiet", .alias = 'q', .value = &opts->quiet,
		  .help = "no summary" },
		{ .kind = MT_OPTION_REPEAT, .name = "verbose", .alias = 'v',
		  .value = &opts->verbose, .help = "what is probed; twice: all files" },
		{ .kind = MT_OPTION_FLAG, .name = "help", .alias = 'h', .value = &opts->help,
		  .help = "show this" },
		{ .kind = MT_OPTION_FLAG, .name = "version", .alias = 'V', .value = &opts->version,
		  .help = "show the version" },
		/* For the few who tune: the help names them, the man page explains. */
		{ .kind = MT_OPTION_FLAG, .name = "start-disabled",
		  .value = &opts->start_disabled },
		{ .kind = MT_OPTION_SIZE, .name = "ring-size", .value = &opts->ring_size,
		  .arg = "SIZE", .min = RING_MIN, .max = MT_RING_SIZE_MAX },
		{ .kind = MT_OPTION_SIZE, .name = "stack-ring-size",
		  .value = &opts->stack_ring_size, .arg = "SIZE", .min = RING_MIN,
		  .max = MT_RING_SIZE_MAX },
		{ .kind = MT_OPTION_SIZE, .name = "mapping-ring-size",
		  .value = &opts->mapping_ring_size, .arg = "SIZE", .min = RING_MIN,
		  .max = MT_RING_SIZE_MAX },
		{ .kind = MT_OPTION_FLAG, .name = "mmap", .value = &opts->mmap },
		{ .kind = MT_OPTION_SIZE, .name = "request-ring-size",
		  .value = &opts->request_ring_size, .arg = "SIZE", .min = REQUEST_RING_MIN,
		  .max = MT_RING_SIZE_MAX },
		{ .kind = MT_OPTION_LIST, .name = "table-size", .value = &texts->tables,
		  .arg = "TABLE=N" },
		{ .kind = MT_OPTION_CHOICE, .name = "watch", .value = &opts->watch, .arg = "HOW",
		  .choices = watch },
		{ .kind = MT_OPTION_CHOICE, .name = "stack-identity",
		  .value = &opts->stack_identity, .arg = "WHAT", .choices = identity },
		{ .kind = MT_OPTION_CHOICE, .name = "attach", .value = &opts->attach, .arg = "HOW",
		  .choices = attach },
		{ .kind = MT_OPTION_CHOICE, .name = "probe-site", .value = &opts->probe_site,
		  .arg = "WHERE", .choices = sites },
		{ .kind = MT_OPTION_END },
	};

	_Static_assert(MT_ARRAY_SIZE(rows) <= OPTIONS_MAX, "the table has room");
	memcpy(table, rows, sizeof(rows));
}

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static bool parse_time(const char *option, const char *text, uint64_t *ret_ns,
		       char error[MT_OPTIONS_ERROR_MAX])
{
	if (!mt_parse_duration(text, ret_ns))
		return true;
	snprintf(error, MT_OPTIONS_ERROR_MAX,
		 "--%s: '%.100s' is no duration; 500ms, 5s, 2m, 1h, inf or 0", option, text);
	return false;
}

static int parse_allocators(const struct mt_option_list *list, struct mt_allocator_specs *specs,
			    char error[MT_OPTIONS_ERROR_MAX])
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < list->n && !err; i++)
		err = mt_allocator_specs_parse(specs, list->values[i], error);
	if (err == -ENOMEM)
		snprintf(error, MT_OPTIONS_ERROR_MAX, "--allocator: %s", strerror(ENOMEM));
	if (err)
		mt_allocator_specs_release(specs);
	return err;
}

/* The programs walk over the processes in a bounded number of steps. */
static const struct { const char *name; uint32_t max; } tables[MT_TABLES] = {
	[MT_TABLE_PROCESSES] = { "processes", 1u << 17 }, [MT_TABLE_CODE] = { "code", 1u << 14 },
	[MT_TABLE_STACKS] = { "stacks", 1u << 24 }, [MT_TABLE_FILES] = { "files", 1u << 20 },
	[MT_TABLE_LINKERS] = { "linkers", 1u << 12 }, [MT_TABLE_CAPTURES] = { "captures", 64 },
};

static bool parse_table(const char *text, uint32_t sizes[MT_TABLES])
{
	size_t len = strcspn(text, "="), i;
	uint64_t size;
	char *end;

	for (i = 0; i < MT_TABLES; i++) {
		if (strlen(tables[i].name) != len || strncmp(text, tables[i].name, len) != 0)
			continue;
		if (text[len] != '=' || text[len + 1] < '0' || text[len + 1] > '9')
			return false;
		size = strtoull(text + len + 1, &end, 10);
		if (*end || !size || size > tables[i].max)
			return false;
		sizes[i] = (uint32_t)size;
		return true;
	}
	return false;
}

static int parse_tables(const struct mt_option_list *list, uint32_t sizes[MT_TABLES],
			char error[MT_OPTIONS_ERROR_MAX])
{
	unsigned int i;

	for (i = 0; i < list->n; i++) {
		if (parse_table(list->values[i], sizes))
			continue;
		snprintf(error, MT_OPTIONS_ERROR_MAX, "--table-size: '%.100s' is not TABLE=N; "
			 "tables are processes, code, stacks, files, linkers and captures",
			 list->values[i]);
		return -EINVAL;
	}
	return 0;
}

static bool check_control(const struct mt_record_opts *opts, char error[MT_OPTIONS_ERROR_MAX])
{
	char *commands, *answers;

	if (!opts->control) {
		if (opts->start_disabled)
			snprintf(error, MT_OPTIONS_ERROR_MAX, "--start-disabled: nothing would "
				 "ever be recorded without --control=fifo:PATH");
		return !opts->start_disabled;
	}
	if (mt_control_split(opts->control, &commands, &answers)) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--control: '%.100s' is not fifo:PATH or fifo:PATH,ACKPATH",
			 opts->control);
		return false;
	}
	free(commands);
	free(answers);
	return true;
}

static bool check_rings(const struct mt_record_opts *opts, char error[MT_OPTIONS_ERROR_MAX])
{
	const struct { const char *option; uint64_t size; } rings[] = {
		{ "ring-size", opts->ring_size },
		{ "stack-ring-size", opts->stack_ring_size },
		{ "mapping-ring-size", opts->mapping_ring_size },
		{ "request-ring-size", opts->request_ring_size },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rings); i++) {
		if (power_of_two(rings[i].size))
			continue;
		snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s: must be a power of two, such as 16M",
			 rings[i].option);
		return false;
	}
	return true;
}

/* What the table cannot say. */
static bool check(const struct mt_record_opts *opts, char error[MT_OPTIONS_ERROR_MAX])
{
	if (opts->n_command == 0 && !opts->pid) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "no command; usage: mt-record [options] -- cmd [args...]");
		return false;
	}
	if (opts->n_command && opts->pid) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--pid attaches to a running process; a command cannot be given too");
		return false;
	}
	if (opts->stack_size && opts->stack_size < STACK_MIN) {
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--stack-size: %" PRIu64 " is out of range (0, or %d to %d)",
			 opts->stack_size, STACK_MIN, MT_STACK_BYTES_MAX);
		return false;
	}
	return check_rings(opts, error) && check_control(opts, error);
}

int mt_record_opts_parse(int argc, char **argv, struct mt_record_opts *ret_opts,
			 char error[MT_OPTIONS_ERROR_MAX])
{
	struct mt_record_opts opts = {
		.output = "run.mt",
		.stack_size = STACK_DEFAULT,
		.ring_size = RING_DEFAULT,
		.stack_ring_size = STACK_RING_DEFAULT,
		.mapping_ring_size = MAPPING_RING_DEFAULT,
		.request_ring_size = REQUEST_RING_DEFAULT,
	};
	struct texts texts = { .pressure_timeout = "0", .duration = "0" };
	struct mt_option table[OPTIONS_MAX];
	int n;

	fill_table(&opts, &texts, table);
	n = mt_options_parse(table, MT_OPTIONS_STOP, argc, argv, error);
	if (n < 0)
		return n;
	if (!parse_time("pressure-timeout", texts.pressure_timeout, &opts.pressure_timeout,
			error) ||
	    !parse_time("duration", texts.duration, &opts.duration, error))
		return -EINVAL;
	argv[n] = NULL;
	opts.command = argv;
	opts.n_command = n;
	if (!opts.help && !opts.version && !check(&opts, error))
		return -EINVAL;
	n = parse_tables(&texts.tables, opts.tables, error);
	if (n < 0)
		return n;
	n = parse_allocators(&texts.allocators, &opts.allocators, error);
	if (n < 0)
		return n;
	*ret_opts = opts;
	return 0;
}

void mt_record_opts_release(struct mt_record_opts *opts)
{
	mt_allocator_specs_release(&opts->allocators);
}

void mt_record_opts_help(FILE *out)
{
	struct mt_record_opts opts;
	struct mt_option table[OPTIONS_MAX];
	struct texts texts;

	fputs("Usage: mt-record [options] [--] cmd [args...]\n"
	      "       mt-record [options] -p PID\n"
	      "Record every heap allocation of a command and of all it starts, with call "
	      "stacks.\n\n",
	      out);
	fill_table(&opts, &texts, table);
	mt_options_help(table, out);
	fputs("More, in the man page: --mmap, --start-disabled, --watch, --attach, --probe-site,\n"
	      "--stack-identity, --table-size, --[stack-|mapping-|request-]ring-size\n"
	      "Exit status: the command's; 128+n if signal n ended it; 125 incomplete or failed;\n"
	      "126 not executable; 127 not found; 64 usage. All about it: man mt-record\n"
	      "Example:\n"
	      "  mt-record -o run.mt -- python3 script.py && mt-report symbolize run.mt\n",
	      out);
}
