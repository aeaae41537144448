/*
 * record/recorder_impl.h - what the parts of the recorder share: recorder.c (order of things),
 * recorder_start.c (all that must be in place), recorder_loop.c (while it runs).
 */
#ifndef MT_RECORDER_IMPL_H
#define MT_RECORDER_IMPL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/attach.h"
#include "record/pressure.h"
#include "record/recorder.h"
#include "record/ring_room.h"
#include "record/target.h"

struct mt_recorder {
	const struct mt_record_opts *opts;
	mt_attach_notify_fn notify;
	mt_complain_fn complain;
	void *notify_arg;
	struct mt_identity identity;
	struct mt_target *target;	/* NULL: attached to a running process */
	struct mt_adoption *adoption;	/* then this, until it has been written */
	struct mt_programs *programs;
	struct mt_attacher *attacher;	/* NULL once recording was given up */
	struct mt_guardian *guardian;
	struct mt_stopped *stopped;
	struct mt_coverage *coverage;
	struct mt_attach_worker *worker;
	struct mt_mmap_events *mappings;
	struct mt_file_notes *notes;
	struct mt_witness *witness;
	struct mt_path_learner *learner;
	struct mt_pipeline *pipeline;
	struct mt_control *control;	/* NULL: no commands are taken */
	struct mt_marks *marks;
	bool paused;
	bool stop;			/* by a command ... */
	bool stop_taken;		/* ... which is answered at the end */
	bool commands_left;		/* there may be more of them, read already */
	bool commands_held_up;		/* none is taken now */
	bool marks_refused;		/* and that was said */
	bool pinged;			/* a ping waits for its answer ... */
	uint64_t ping_ticket;		/* ... until this has been synced */
	struct mt_pressure_report pressure;
	bool pressure_timeout;
	enum mt_attach_mode attach_mode;
	struct mt_ring_room events_room;
	struct mt_ring_room stacks_room;
	bool seccomp_hazard;		/* record/seccomp_hazard.h */
	int output_fd;			/* -1 once the writer has it */
	bool ignores_hangup;		/* since before we were started */
	int kept_fd;			/* another one for the same file, to look after it */
	bool output_created;
	int signal_fd;
	sigset_t old_mask;
	bool executed;			/* the command runs: it is to be waited for */
	int root_pid;
	int root_fd;			/* pidfd; -1 once it is gone */
	bool root_gone;
	unsigned int tree_polls;	/* since then */
	bool status_known;
	int root_status;
	uint64_t start_time;
	bool duration_over;
	unsigned int interrupts;
	int last_signal;		/* of those that interrupt */
	uint64_t last_signal_time;
	char *error;
	char *log;
};

/* Fills error; returns status. */
int mt_recorder_fail(struct mt_recorder *rec, int status, const char *what, int err);

/* Opens the output, with which nothing is done yet. 0, or an exit status and a line in error. */
int mt_recorder_open_output(struct mt_recorder *rec);

/* Empties the output and begins the file with its header. 0, -ENOMEM, -errno. */
int mt_recorder_open_writer(struct mt_recorder *rec, struct mt_writer **ret_writer);

/* 0, or an exit status and a line in error. */
int mt_recorder_start(struct mt_recorder *rec);

/* Take off the probes, and resume and answer whoever stands still or waits. Again is no harm. */
void mt_recorder_detach(struct mt_recorder *rec);

/* The file is full or gone: leave the command alone from here on. */
void mt_recorder_give_up(struct mt_recorder *rec);

/* By signals, by --duration or by a command, whatever becomes of the recorded one. */
static inline bool mt_recorder_asked_to_end(const struct mt_recorder *rec)
{
	return rec->interrupts >= 2 || rec->duration_over || rec->stop;
}

/*
 * Do the commands that are there, up to one that has to wait; a stop behind that ends the recording
 * already. At the end: all of them; no answer but a stop's is owed then.
 */
void mt_recorder_heed_commands(struct mt_recorder *rec);
void mt_recorder_finish_commands(struct mt_recorder *rec);

/* Until the tree is gone, the time is over or somebody interrupts. */
void mt_recorder_loop(struct mt_recorder *rec);

#endif
