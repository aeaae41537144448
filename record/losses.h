/*
 * record/losses.h - every kind of loss, as rows of the artifact.
 */
#ifndef MT_LOSSES_H
#define MT_LOSSES_H

#include <stdbool.h>

#include "bpf/mt_ring.h"
#include "common/artifact.h"
#include "record/programs.h"

struct mt_decoder;
struct mt_file_notes;
struct mt_mmap_events;
struct mt_programs;
struct mt_witness;

#define MT_LOSSES_MAX 24

/* Who counts; mappings, witness and notes may be NULL. */
struct mt_loss_sources {
	const struct mt_programs *programs;
	const struct mt_mmap_events *mappings;
	struct mt_witness *witness;
	struct mt_file_notes *notes;
	const struct mt_decoder *decoder;
};

/* What the kernel side has counted. */
struct mt_kernel_losses {
	struct mt_loss_counter counters[MT_LOSS_KINDS];
	uint64_t missed_events;
	uint64_t missed_steps;
	uint64_t missed_calls;
};

struct mt_loss_log {
	struct mt_loss rows[MT_LOSSES_MAX];	/* that are not zero; strings are static */
	uint32_t n;
	struct mt_loss noticed[MT_LOSSES_MAX];	/* of kinds without times of their own */
	uint32_t n_noticed;
	struct mt_kernel_losses end;
	bool ended;		/* atomic: end is all that the kernel side counts */
};

/* What the kernel side counts from now on is not of the recording. From any thread, once. */
void mt_losses_end(struct mt_loss_log *log, const struct mt_programs *programs);

/* Look at all counters, at this time: log->rows. Returns the sum of the counts. */
uint64_t mt_losses_collect(struct mt_loss_log *log, const struct mt_loss_sources *sources,
			   uint64_t now);

#endif
