/* record/mt_record.c - the program: options in, recording run, summary out. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "common/error.h"
#include "common/version.h"
#include "record/coverage.h"
#include "record/programs.h"
#include "record/record_opts.h"
#include "record/recorder.h"

#define SLOW_DETACH_NS 1000000000ull
#define GAPS_PRINTED 10

static void notify(void *arg, int pid, const char *path, unsigned int probes, int err)
{
	const struct mt_record_opts *opts = arg;
	char when[32] = "before the start";

	if (pid)
		snprintf(when, sizeof(when), "in process %d", pid);
	if (err)
		fprintf(stderr, "mt-record: cannot probe %s %s: %s\n", path, when,
			mt_strerror(err));
	else if (probes && opts->verbose)
		fprintf(stderr, "mt-record: %s: %u functions probed %s\n", path, probes, when);
	else if (opts->verbose > 1)
		fprintf(stderr, "mt-record: %s: no allocator, seen %s\n", path, when);
}

static void complain(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "mt-record: %s\n", line);
}

static void print_bytes(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double value = bytes;
	size_t unit = 0;

	while (value >= 1000 && unit + 1 < MT_ARRAY_SIZE(units)) {
		value /= 1000;
		unit++;
	}
	snprintf(text, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void print_summary(const struct mt_record_opts *opts, const struct mt_recording *recording)
{
	const struct mt_attach_report *attach = &recording->attach_report;
	char bytes[32];

	print_bytes(recording->result.bytes, bytes, sizeof(bytes));
	if (recording->result.error) {
		fprintf(stderr,
			"mt-record: writing failed after %" PRIu64 " events, %s; what came later "
			"is lost\n", recording->result.events, bytes);
		return;
	}
	fprintf(stderr,
		"mt-record: %" PRIu64 " events, %" PRIu64 " stacks, %" PRIu32 " process%s, %" PRIu64
		" lost; %s in %.2f s to %s\n",
		recording->result.events, recording->result.stacks, recording->result.processes,
		recording->result.processes == 1 ? "" : "es", recording->result.lost, bytes,
		recording->elapsed / 1e9, opts->output);
	if (recording->pressure.episodes)
		fprintf(stderr,
			"mt-record: paused %u times for full rings, %.2f s in all, the longest "
			"%.1f ms\n", recording->pressure.episodes, recording->pressure.total / 1e9,
			recording->pressure.longest / 1e6);
	if (opts->verbose)
		fprintf(stderr,
			"mt-record: watch %s, attach %s; %u files looked at, %u with allocators; "
			"%u stops, the longest %.1f ms; %u waits, the longest %.1f ms\n",
			recording->watch, recording->attach, attach->files, attach->probed,
			attach->stops, attach->longest_stop / 1e6, attach->waits,
			attach->longest_wait / 1e6);
	if (opts->verbose && recording->result.looks)
		fprintf(stderr,
			"mt-record: looked at the rings %" PRIu64 " times, %.1f %% of them within "
			"1 ms of the time before\n", recording->result.looks,
			100.0 - 100.0 * (double)recording->result.late_looks /
			(double)recording->result.looks);
}

static void print_loss(const struct mt_loss *loss, uint64_t start_time)
{
	fprintf(stderr, "mt-record: lost %" PRIu64 " %s (%s)", loss->count, loss->source,
		loss->cause);
	if (loss->first)
		fprintf(stderr, " from %.3f s to %.3f s", (loss->first - start_time) / 1e9,
			(loss->last - start_time) / 1e9);
	if (strcmp(loss->cause, "ring_full") == 0)
		fprintf(stderr, "; try a larger --%sring-size or --pressure-timeout inf",
			strcmp(loss->source, "stacks") == 0 ? "stack-" :
			strcmp(loss->source, "requests") == 0 ? "request-" : "");
	fputc('\n', stderr);
}

/* Says what is missing from the recording. 0: nothing. */
static int print_failures(const struct mt_record_opts *opts, const struct mt_recording *recording)
{
	const struct mt_pipeline_result *result = &recording->result;
	int failed = 0;
	uint32_t i;

	if (recording->seccomp_hazard)
		fprintf(stderr, "mt-record: this kernel kills a probed process that gets a seccomp "
			"filter (SIGSYS); update it\n");
	if (result->error) {
		fprintf(stderr, "mt-record: %s: %s; the recording ends there%s\n", opts->output,
			mt_strerror(result->error),
			result->error == -MT_E_SHORTENED ? "" : ", mt-report reads it");
		failed = 1;
	}
	if (recording->restored > 0)
		fprintf(stderr, "mt-record: %s was removed while recording; written again\n",
			opts->output);
	if (recording->restored < 0) {
		fprintf(stderr, "mt-record: %s was removed while recording, and cannot be written "
			"again: %s\n", opts->output, mt_strerror(recording->restored));
		failed = 1;
	}
	for (i = 0; i < recording->n_losses; i++) {
		print_loss(&recording->losses[i], recording->start_time);
		failed = 1;
	}
	if (recording->pressure_timeout) {
		fprintf(stderr,
			"mt-record: rings stayed full past --pressure-timeout: "
			"the command was killed\n");
		failed = 1;
	}
	if (recording->attach_report.failed) {
		fprintf(stderr, "mt-record: %u files with allocators could not be probed: %s\n",
			recording->attach_report.failed, recording->attach_report.failure);
		failed = 1;
	}
	if (failed)
		fprintf(stderr, "mt-record: the recording is incomplete\n");
	return failed;
}

static void print_gap(void *arg, const char *path, const char *function, const char *reason)
{
	unsigned int *n = arg;

	if (++*n > GAPS_PRINTED)
		return;
	fprintf(stderr, "mt-record: not covered: %s%s%s%s%s\n", path,
		*path && *function ? ": " : "", function, *path || *function ? ": " : "", reason);
}

/* Not a failure: what is in the recording is right, but a program may have allocated unseen. */
static void print_gaps(const struct mt_recording *recording)
{
	unsigned int n = 0;

	mt_coverage_each_gap(recording->coverage, print_gap, &n);
	if (n > GAPS_PRINTED)
		fprintf(stderr, "mt-record: not covered: %u more; mt-report stat lists them\n",
			n - GAPS_PRINTED);
}

static int exit_status(const struct mt_recording *recording)
{
	/* The command goes on, and has no status yet. */
	if (recording->interrupted)
		return 128 + SIGINT;
	if (!recording->status_known)
		return recording->attached || recording->ended_early ? 0 : MT_EXIT_FAILED;
	if (WIFSIGNALED(recording->status))
		return 128 + WTERMSIG(recording->status);
	return WEXITSTATUS(recording->status);
}

static int flush_stdout(void)
{
	if (fflush(stdout) == 0)
		return 0;
	fprintf(stderr, "mt-record: standard output: %s\n", strerror(errno));
	return MT_EXIT_FAILED;
}

static int run(const struct mt_record_opts *opts)
{
	char error[MT_RECORDER_ERROR_MAX], log[MT_PROGRAMS_LOG_MAX];
	struct mt_recording recording = {};
	int status;

	status = mt_recorder_run(opts, notify, complain, (void *)(uintptr_t)opts, &recording,
				 error, log);
	if (log[0] && (opts->verbose || (status && !error[0])))
		fputs(log, stderr);
	if (status) {
		fprintf(stderr, "mt-record: %s\n", error);
	} else {
		if (!opts->quiet)
			print_summary(opts, &recording);
		/* The file was whole by then: why it was waited for. */
		if (recording.detach > SLOW_DETACH_NS)
			fprintf(stderr, "mt-record: removing the probes took %.1f s\n",
				recording.detach / 1e9);
		print_gaps(&recording);
		status = print_failures(opts, &recording) ? MT_EXIT_FAILED :
							    exit_status(&recording);
	}
	mt_coverage_free(recording.coverage);
	return status;
}

int main(int argc, char **argv)
{
	char usage[MT_OPTIONS_ERROR_MAX];
	struct mt_record_opts opts;
	int status;

	mallopt(M_MMAP_THRESHOLD, MT_MAPPED_ALONE);
	if (mt_record_opts_parse(argc - 1, argv + 1, &opts, usage)) {
		fprintf(stderr, "mt-record: %s\n", usage);
		return MT_EXIT_USAGE;
	}
	if (opts.help)
		mt_record_opts_help(stdout);
	else if (opts.version)
		puts("mt-record " MT_VERSION);
	status = opts.help || opts.version ? flush_stdout() : run(&opts);
	mt_record_opts_release(&opts);
	return status;
}
