/*
 * record/pipeline.h - the thread that empties the rings into the file.
 *
 * Polls; the kernel never wakes it for an event. Ends itself when the file can no
 * longer be written: the rings then fill and the rest of the run is loss, the command unharmed.
 */
#ifndef MT_PIPELINE_H
#define MT_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/losses.h"

struct mt_coverage;
struct mt_decoder;
struct mt_file_notes;
struct mt_marks;
struct mt_mmap_events;
struct mt_path_learner;
struct mt_pipeline;
struct mt_programs;
struct mt_witness;
struct mt_writer;

struct mt_pipeline_sources {
	const struct mt_programs *programs;
	struct mt_mmap_events *mappings;
	struct mt_file_notes *notes;	/* NULL: none are taken */
	struct mt_coverage *coverage;
	struct mt_marks *marks;
	struct mt_witness *witness;	/* NULL: none is heard */
	struct mt_path_learner *learner;	/* NULL: call paths are not learned */
	/* Called once, before the thread starts: gives the decoder what is known already. */
	int (*introduce)(void *arg, struct mt_decoder *decoder);
	void *introduce_arg;
};

struct mt_pipeline_result {
	int error;		/* first error of the file, 0 if none */
	uint64_t events;	/* in the file */
	uint64_t stacks;
	uint64_t bytes;
	uint64_t lost;		/* sum over all kinds of loss */
	uint32_t processes;
	uint32_t threads;
	uint64_t looks;		/* at the rings, each of which empties them ... */
	uint64_t late_looks;	/* ... and those more than 1 ms after the one before */
};

/* Starts the thread. The writer is the pipeline's once this has succeeded. */
int mt_pipeline_start(const struct mt_pipeline_sources *sources, struct mt_writer *writer,
		      struct mt_pipeline **ret_pipeline);

/* Is there nothing in any ring? Lasting only while nobody fills them. */
bool mt_pipeline_idle(const struct mt_pipeline *pipeline);

/*
 * Ask for all that is in the rings now, and all other rows, to be written to the file with a
 * checkpoint. mt_pipeline_synced() says that this has been done, or cannot be any more.
 */
uint64_t mt_pipeline_sync(struct mt_pipeline *pipeline);
bool mt_pipeline_synced(const struct mt_pipeline *pipeline, uint64_t ticket);

/* Has writing failed? */
bool mt_pipeline_failed(const struct mt_pipeline *pipeline);

/*
 * The recording ends now: what is added to the rings from here on is not written, and what finds no
 * room in them not lost. Before the programs are told to stop nobody any more. Once is enough.
 */
void mt_pipeline_end(struct mt_pipeline *pipeline);

/*
 * After mt_pipeline_end(). Empty the rings a last time, write the trailer, end the thread.
 * status_known says whether status is the command's wait status.
 */
void mt_pipeline_finish(struct mt_pipeline *pipeline, bool status_known, int status,
			const char *end_reason, struct mt_pipeline_result *ret_result);

/* What was lost, for people; after mt_pipeline_finish(). Returns the number of rows. */
uint32_t mt_pipeline_losses(const struct mt_pipeline *pipeline,
			    struct mt_loss ret_losses[MT_LOSSES_MAX]);

void mt_pipeline_free(struct mt_pipeline *pipeline);

#endif
