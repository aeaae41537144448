/*
 * record/pipeline_impl.h - what record/pipeline*.c share. Functions are the pipeline thread's; they
 * return 0 or the writer's or decoder's error.
 */
#ifndef MT_PIPELINE_IMPL_H
#define MT_PIPELINE_IMPL_H

#include <pthread.h>

#include "record/losses.h"
#include "record/pipeline.h"
#include "record/recent_code.h"

struct mt_decoder;
struct mt_ring;

struct mt_pipeline {
	struct mt_pipeline_sources sources;
	struct mt_writer *writer;
	struct mt_decoder *decoder;
	struct mt_ring *events;
	struct mt_ring *stacks;
	pthread_t thread;
	bool running;
	bool stop;		/* atomic */
	uint64_t events_end;	/* atomic; what lies behind it is not the recording's */
	uint64_t stacks_end;	/* atomic */
	uint64_t syncs_wanted;	/* atomic */
	uint64_t syncs_done;	/* atomic */
	int error;		/* atomic; the file's */
	bool status_known;
	int status;
	const char *end_reason;
	uint64_t last_checkpoint;
	uint64_t events_mark;		/* of the last time of aging */
	uint64_t stacks_mark;
	bool mappings_read;		/* all there were, since then */
	uint64_t last_look;
	uint64_t looks;
	uint64_t late_looks;
	struct mt_recent_code recent;
	struct mt_loss_sources loss_sources;
	struct mt_loss_log losses;
	uint64_t end_time;
};

/* How far the event ring has been read, for mappings that wait. */
void mt_pipeline_tell_progress(struct mt_pipeline *pipeline);

/* At most max of the mappings that are there; what has been read is added to *moved. */
int mt_pipeline_drain_mappings(struct mt_pipeline *pipeline, size_t max, size_t *moved);

#define MT_PIPELINE_EVENTS 24576	/* of a turn; leaves the decoder room for more */

/* One turn: some of each ring. */
int mt_pipeline_drain(struct mt_pipeline *pipeline, size_t *moved);

/*
 * All that is in the rings now, however fast somebody goes on filling them. A record that is being
 * filled is waited for, a little.
 */
int mt_pipeline_drain_marked(struct mt_pipeline *pipeline);

#endif
