/*
 * record/stopped.h - processes stopped for us, each resumed exactly once.
 */
#ifndef MT_STOPPED_H
#define MT_STOPPED_H

#include <stdbool.h>
#include <stdint.h>

struct mt_stop_table;
struct mt_stopped;

/* table (borrowed) is where the guardian looks for whom to resume should we die. */
int mt_stopped_new(struct mt_stop_table *table, struct mt_stopped **ret_stopped);
/* Resumes all. */
void mt_stopped_free(struct mt_stopped *stopped);

/*
 * pid has been sent SIGSTOP at this time: wait until each of its threads has stopped or is
 * gone, at most deadline_ns, and remember it. 0, 1 (it was remembered already), -ESRCH (it is gone), -ETIMEDOUT (remembered all
 * the same), -errno.
 */
int mt_stopped_add(struct mt_stopped *stopped, int pid, uint64_t since, uint64_t deadline_ns);

/* Resume all that are remembered and forget them. Returns how long the longest stop took, ns. */
uint64_t mt_stopped_resume_all(struct mt_stopped *stopped);

#endif
