/*
 * record/recorder.h - one recording, from the closed gate to the trailer.
 */
#ifndef MT_RECORDER_H
#define MT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/attach_worker.h"
#include "record/pipeline.h"
#include "record/pressure.h"

struct mt_record_opts;

#define MT_RECORDER_ERROR_MAX 1024

/*
 * Bytes of an allocation that main() has libc map alone: its memory is what was used of it, and
 * goes back when it is freed. Left alone, libc raises this by what it has seen freed.
 */
#define MT_MAPPED_ALONE (128 << 10)

/* Exit statuses of mt-record itself; docs: mt-record(1). */
enum mt_record_exit {
	MT_EXIT_USAGE = 64,
	MT_EXIT_FAILED = 125,
	MT_EXIT_NOT_EXECUTABLE = 126,
	MT_EXIT_NOT_FOUND = 127,
};

struct mt_recording {
	bool started;			/* the command was executed; the rest is valid */
	bool status_known;
	int status;			/* of the command, as wait(2) reports it */
	bool attached;			/* to a running process: no status to pass on */
	bool ended_early;		/* on request, with the command still running */
	bool interrupted;		/* by a second signal: the command still runs */
	int restored;			/* file removed meanwhile: 1 written again, -errno */
	uint64_t start_time;		/* CLOCK_MONOTONIC, ns */
	uint64_t elapsed;		/* ns */
	uint64_t detach;		/* ns that removing probes and programs took */
	const char *watch;
	const char *attach;
	bool seccomp_hazard;		/* the kernel kills who gets a seccomp filter */
	struct mt_attach_report attach_report;
	struct mt_pressure_report pressure;
	bool pressure_timeout;		/* the tree was killed */
	struct mt_coverage *coverage;	/* the caller's to free; NULL if not started */
	struct mt_pipeline_result result;
	struct mt_loss losses[MT_LOSSES_MAX];
	uint32_t n_losses;
};

/* A line for the user, about something that ends nothing. */
typedef void (*mt_complain_fn)(void *arg, const char *line);

/*
 * Record opts->command, or attach to opts->pid. 0 when there is an artifact (which may be
 * incomplete: look at ret_recording), else an exit status and one line in error. log gets
 * libbpf's words, if any.
 */
int mt_recorder_run(const struct mt_record_opts *opts, mt_attach_notify_fn notify,
		    mt_complain_fn complain, void *arg, struct mt_recording *ret_recording,
		    char error[MT_RECORDER_ERROR_MAX], char *log);

#endif
