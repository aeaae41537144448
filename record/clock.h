/* record/clock.h - the clock of all stamps. */
#ifndef MT_CLOCK_H
#define MT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t mt_nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* CLOCK_MONOTONIC, ns: what bpf_ktime_get_ns() reads. */
static inline uint64_t mt_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return mt_nanoseconds(&ts);
}

#endif
