/*
 * record/stopped.h - the one owner of stops: who stands still, and for which reasons.
 *
 * A process goes on when its last reason goes, unless somebody else has stopped it too.
 */
#ifndef MT_STOPPED_H
#define MT_STOPPED_H

#include <stdbool.h>
#include <stdint.h>

struct mt_programs;
struct mt_stop_table;
struct mt_stopped;

enum mt_stop_reason {
	MT_STOP_ATTACH = 1,
	MT_STOP_PRESSURE = 2,
};

/*
 * programs tells who was stopped by whom; table is where the guardian looks for whom to resume
 * should we die. Both borrowed.
 */
int mt_stopped_new(struct mt_programs *programs, struct mt_stop_table *table,
		   struct mt_stopped **ret_stopped);
/* Be told of each process when it goes on, and how long it stood still, ns. */
typedef void (*mt_stopped_fn)(void *arg, int pid, uint64_t took);
void mt_stopped_tell(struct mt_stopped *stopped, mt_stopped_fn fn, void *arg);

/* Resumes all. */
void mt_stopped_free(struct mt_stopped *stopped);

/* The kernel side has sent pid SIGSTOP at this time. 1: new, 0: known before, -ESRCH, -errno. */
int mt_stopped_add(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason, uint64_t since);

/*
 * Stop pid ourselves, unless somebody else has. 1: new, 0: known before or held, -ESRCH, -errno.
 * It is not resumed in the place of another that had its number before, nor is any of these two
 * in need of a descriptor, but for telling them apart.
 */
int mt_stopped_stop(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason);

/*
 * Wait until every thread of pid (of all processes known, if 0) stands still or is gone. Until
 * the deadline (CLOCK_MONOTONIC, ns): then -ETIMEDOUT. Who cannot be looked at for a second is
 * taken to stand still. give_up, if not NULL, is asked meanwhile: then -ECANCELED.
 */
int mt_stopped_wait(struct mt_stopped *stopped, int pid, uint64_t deadline,
		    bool (*give_up)(void *arg), void *arg);

uint32_t mt_stopped_count(const struct mt_stopped *stopped);

/*
 * Resume whom the programs have stopped for pressure and nobody was told of: it can happen to
 * somebody when the episode ends.
 */
void mt_stopped_sweep(struct mt_stopped *stopped);

/* A reason is gone. Resumes those that have no other; returns how long the longest stood, ns. */
uint64_t mt_stopped_release(struct mt_stopped *stopped, enum mt_stop_reason reason);

/*
 * The recording is over: the programs stop nobody any more, and whom they have stopped, or who
 * waits for an answer, goes on. To be called once more when the last program that was running then
 * must be done.
 */
void mt_stopped_end(struct mt_programs *programs);

#endif
