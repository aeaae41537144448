/*
 * record/losses.h - every kind of loss, as rows of the artifact.
 */
#ifndef MT_LOSSES_H
#define MT_LOSSES_H

#include "common/artifact.h"

struct mt_decoder;
struct mt_file_notes;
struct mt_mmap_events;
struct mt_programs;
struct mt_witness;

#define MT_LOSSES_MAX 24

/*
 * Rows that are not zero; strings are static. mappings, witness and notes may be NULL. Returns
 * their number.
 */
uint32_t mt_losses_collect(const struct mt_programs *programs,
			   const struct mt_mmap_events *mappings, struct mt_witness *witness,
			   struct mt_file_notes *notes, const struct mt_decoder *decoder,
			   struct mt_loss ret_rows[MT_LOSSES_MAX]);

#endif
