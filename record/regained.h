/*
 * record/regained.h - mappings read from /proc, that wait for who reads perf's.
 *
 * One thread adds, another takes. So many are kept and no more: what finds no room is the caller's
 * to count.
 */
#ifndef MT_REGAINED_H
#define MT_REGAINED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/mmap_events.h"

struct mt_regained {
	pthread_mutex_t lock;
	struct mt_mmap_record *records;	/* paths are owned */
	uint32_t n, cap;
	size_t bytes;			/* of the paths */
};

void mt_regained_init(struct mt_regained *regained);
void mt_regained_release(struct mt_regained *regained);

/* Copied. 0, -ENOMEM, -ENOBUFS. */
int mt_regained_add(struct mt_regained *regained, const struct mt_mmap_record *record);
bool mt_regained_empty(const struct mt_regained *regained);
/* All that wait; they do so no more. Returns how many. */
size_t mt_regained_take(struct mt_regained *regained, mt_mmap_record_fn fn, void *arg);

#endif
