/*
 * record/process_state.h - what /proc says of a process or thread; proc(5).
 */
#ifndef MT_PROCESS_STATE_H
#define MT_PROCESS_STATE_H

#include <stdint.h>

/* State letter (R, S, D, T, t, Z, X, I), 0 if it is gone or cannot be seen. Allocates nothing. */
char mt_process_state(int pid);
char mt_thread_state(int pid, int tid);

/*
 * The same of a process, and when it started, in clock ticks: another process that gets its number
 * later has another start. -ESRCH, -errno (without a free descriptor nothing can be seen).
 */
int mt_process_look(int pid, char *ret_state, uint64_t *ret_start);

/* Signals that have been sent and not been taken yet, the lowest bit for signal 1. */
struct mt_pending {
	uint64_t thread;
	uint64_t process;	/* for whichever of its threads */
	uint64_t n_threads;	/* it has */
};

/* -ESRCH, -errno. */
int mt_thread_pending(int pid, int tid, struct mt_pending *ret_pending);

/*
 * Each thread that there is, until fn returns anything but 0, which is returned then. Of those that
 * come meanwhile some are missed. 0, -ESRCH, -errno.
 */
typedef int (*mt_thread_fn)(void *arg, int tid);
int mt_process_each_thread(int pid, mt_thread_fn fn, void *arg);

/*
 * 1: every thread stands still, or sleeps where it meets a stop that has been sent before it runs
 * any code; 0: not yet; -ESRCH: the process is gone; -errno: it cannot be seen.
 */
int mt_process_all_stopped(int pid);

#endif
