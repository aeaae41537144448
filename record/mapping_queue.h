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

/* Copies row, path included; row->process still holds a pid. false: full. */
bool mt_mapping_queue_add(struct mt_mapping_queue *queue, const struct mt_mapping *row);

/* The index of the process that pid was at this time, or MT_ID_NONE. */
typedef uint32_t (*mt_mapping_process_fn)(void *arg, uint32_t pid, uint64_t time);

/*
 * The rows whose process is known by now: their number, sorted, and with its index in place of its
 * pid.
 */
uint32_t mt_mapping_queue_settle(struct mt_mapping_queue *queue, mt_mapping_process_fn fn,
				 void *arg, const struct mt_mapping **ret_rows);

/*
 * These are done with. keep: the others stay, if this is the first time that they were not settled.
 * Returns how many do not stay, without those of before begin.
 */
uint32_t mt_mapping_queue_clear(struct mt_mapping_queue *queue, uint32_t settled, bool keep,
				uint64_t begin);

#endif
