/*
 * record/attach_worker.h - answers the watch: stop, look, attach, resume.
 *
 * A process that has mapped an unknown file, and cannot wait for an answer (bpf/wait.bpf.h,
 * bpf/exec.bpf.h), is stopped by the kernel side. The worker waits until
 * it stands still, finds the files, attaches probes to their allocators and lets it go on.
 * Whatever goes wrong, a process that was stopped is resumed.
 */
#ifndef MT_ATTACH_WORKER_H
#define MT_ATTACH_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/file_prober.h"

struct mt_allocator_specs;
struct mt_attach_worker;
struct mt_attacher;
struct mt_file_notes;
struct mt_coverage;
struct mt_mmap_events;
struct mt_programs;
struct mt_witness;
struct mt_stopped;

struct mt_attach_report {
	uint32_t stops;		/* processes stopped, counted each time */
	uint32_t files;		/* files looked at */
	uint32_t probed;	/* files with allocators, probed */
	uint32_t failed;	/* files with allocators that could not be probed */
	uint64_t longest_stop;	/* ns */
	uint32_t waits;		/* requests of processes that were not stopped for them */
	uint64_t longest_wait;	/* ns until one of them was answered */
	char failure[256];	/* the first failure, "" if none */
};

/* Told of every file looked at: probes is 0 for one without allocators; err is 0 or negative. */
typedef void (*mt_attach_notify_fn)(void *arg, int pid, const char *path, unsigned int probes,
				    int err);

/* All are borrowed; specs (--allocator) is not needed afterwards; notify may be NULL. */
struct mt_attach_worker_config {
	struct mt_programs *programs;
	struct mt_attacher *attacher;
	struct mt_stopped *stopped;
	struct mt_coverage *coverage;
	struct mt_mmap_events *mappings;
	const struct mt_allocator_specs *specs;
	bool move_sites;		/* see record/probe_site.h */
	mt_attach_notify_fn notify;
	void *arg;
	mt_probe_told_fn told;		/* of every probe; may be NULL */
	void *told_arg;
};

int mt_attach_worker_new(const struct mt_attach_worker_config *config,
			 struct mt_attach_worker **ret_worker);
void mt_attach_worker_free(struct mt_attach_worker *worker);

/* Take a note of every file looked at from now on. Borrowed. */
void mt_attach_worker_note(struct mt_attach_worker *worker, struct mt_file_notes *notes);
/* Say from now on what is known from when, and who stood still. */
void mt_attach_worker_witness(struct mt_attach_worker *worker, struct mt_witness *witness);

/* Attach to a file before anybody maps it, so that its mapping will stop nobody. -errno. */
int mt_attach_worker_learn(struct mt_attach_worker *worker, const char *path);

/*
 * The same for the file at fd, which pid is about to execute. *ret_linker: who maps files through
 * it waits; set in any case.
 */
int mt_attach_worker_learn_open(struct mt_attach_worker *worker, int pid, int fd, const char *path,
				bool *ret_linker);

/* Attach to all files that a process maps executable, while it runs. */
void mt_attach_worker_visit(struct mt_attach_worker *worker, int pid);

/* Readable when there is work. Borrowed. */
int mt_attach_worker_fd(const struct mt_attach_worker *worker);

/*
 * Do all the work there is, then give up MT_STOP_ATTACH as a reason to stand still.
 * true: among the requests was one about pressure, or some found no room.
 */
bool mt_attach_worker_run(struct mt_attach_worker *worker);

/* From now on only resume who asks: the attacher may be freed. */
void mt_attach_worker_give_up(struct mt_attach_worker *worker);

/* The end: tell coverage which functions that the user named were not met. */
void mt_attach_worker_report_missing(struct mt_attach_worker *worker);

const struct mt_attach_report *mt_attach_worker_report(const struct mt_attach_worker *worker);

#endif
