/*
 * record/recent_code.h - the latest mappings of code, for when the kernel side misses calls.
 *
 * Should it have missed a call that mapped code, perf has told us of it: it would take the return
 * addresses there for numbers. Used by one thread.
 */
#ifndef MT_RECENT_CODE_H
#define MT_RECENT_CODE_H

#include <stdint.h>

#define MT_RECENT_CODE_MAX 256u

struct mt_programs;

struct mt_recent_range {
	uint32_t pid;
	uint64_t start;
	uint64_t end;
};

struct mt_recent_code {
	struct mt_recent_range ranges[MT_RECENT_CODE_MAX];	/* in a circle */
	uint32_t n;
	uint64_t missed;	/* calls, as of the last time */
};

/* Zeroed is one without any. */
void mt_recent_code_add(struct mt_recent_code *recent, uint32_t pid, uint64_t start, uint64_t end);

/* If more calls were missed since the last time, tell the kernel side of all. */
void mt_recent_code_make_up(struct mt_recent_code *recent, const struct mt_programs *programs);

#endif
