/*
 * record/process_state.h - what /proc says of a process or thread; proc(5).
 */
#ifndef MT_PROCESS_STATE_H
#define MT_PROCESS_STATE_H

/* State letter (R, S, D, T, t, Z, X, I), 0 if it is gone. Allocates nothing. */
char mt_process_state(int pid);
char mt_thread_state(int pid, int tid);

/*
 * 1: every thread stands still, or sleeps where it meets a stop that has been sent before it runs
 * any code; 0: not yet; -ESRCH: the process is gone.
 */
int mt_process_all_stopped(int pid);

#endif
