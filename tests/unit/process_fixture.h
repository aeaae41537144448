/*
 * tests/unit/process_fixture.h - waiting for what processes come to.
 */
#ifndef PROCESS_FIXTURE_H
#define PROCESS_FIXTURE_H

#include <time.h>

#include "record/process_state.h"

#define SOON_TRIES 4000		/* 20 s */

static inline void pause_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* State letters in the end: wait for want, but not for ever. */
static inline char state_soon(int pid, char want)
{
	int i;

	for (i = 0; i < SOON_TRIES && mt_process_state(pid) != want; i++)
		pause_ms(5);
	return mt_process_state(pid);
}

static inline char thread_state_soon(int pid, int tid, char want)
{
	int i;

	for (i = 0; i < SOON_TRIES && mt_thread_state(pid, tid) != want; i++)
		pause_ms(5);
	return mt_thread_state(pid, tid);
}

#endif
