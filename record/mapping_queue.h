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

/* The rows, for the caller to put process indices in place of pids; then sort. */
struct mt_mapping *mt_mapping_queue_rows(struct mt_mapping_queue *queue, uint32_t *ret_n);
void mt_mapping_queue_sort(struct mt_mapping_queue *queue);
void mt_mapping_queue_clear(struct mt_mapping_queue *queue);

#endif
