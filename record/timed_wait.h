/* record/timed_wait.h - condition variables that are waited for until a moment of mt_now(). */
#ifndef MT_TIMED_WAIT_H
#define MT_TIMED_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* One that mt_cond_wait_until() can wait for. */
static inline void mt_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* As pthread_cond_wait(), until then at most. false: the time is over. */
static inline bool mt_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	const struct timespec end = {
		.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000),
	};

	return !pthread_cond_timedwait(cond, lock, &end);
}

#endif
