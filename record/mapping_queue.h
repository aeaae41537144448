/*
 * record/mapping_queue.h - mappings that wait for their process to be introduced.
 *
 * Fixed memory. Rows come out sorted by (process, time, order of arrival).
 */
#ifndef MT_MAPPING_QUEUE_H
#define MT_MAPPING_QUEUE_H

#include <stdbool.h>

#include "common/event.h"

struct mt_mapping_queue;

int mt_mapping_queue_new(struct mt_mapping_queue **ret_queue);
void mt_mapping_queue_free(struct mt_mapping_queue *queue);

/*
 * Copies row, path included; row->process still holds a pid, and what introduces it lies before
 * mark, on the scale of mt_mapping_queue_clear(). false: full.
 */
bool mt_mapping_queue_add(struct mt_mapping_queue *queue, const struct mt_mapping *row,
			  uint64_t mark);

/*
 * How many more can be added, whatever their paths are, so that half of all room is left for
 * others.
 */
uint32_t mt_mapping_queue_room(const struct mt_mapping_queue *queue);

/* The index of the process that pid was at this time, or MT_ID_NONE. */
typedef uint32_t (*mt_mapping_process_fn)(void *arg, uint32_t pid, uint64_t time);

/*
 * The rows whose process is known by now: their number, sorted, and with its index in place of its
 * pid.
 */
uint32_t mt_mapping_queue_settle(struct mt_mapping_queue *queue, mt_mapping_process_fn fn,
				 void *arg, const struct mt_mapping **ret_rows);

/*
 * These are done with. The others stay if their mark is above passed: their processes may yet be
 * introduced. Returns how many do not stay, without those of before begin.
 */
uint32_t mt_mapping_queue_clear(struct mt_mapping_queue *queue, uint32_t settled,
				uint64_t passed, uint64_t begin);

#endif
