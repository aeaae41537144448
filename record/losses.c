#include "record/losses.h"

#include "record/decode.h"
#include "record/file_notes.h"
#include "record/mmap_events.h"
#include "record/programs.h"
#include "record/witness.h"

static const struct {
	const char *source;
	const char *cause;
} kinds[MT_LOSS_KINDS] = {
	[MT_LOSS_EVENT_RING] = { "events", "ring_full" },
	[MT_LOSS_LIFECYCLE_RING] = { "lifecycle", "ring_full" },
	[MT_LOSS_STACK_RING] = { "stacks", "ring_full" },
	[MT_LOSS_STACK_SCRATCH] = { "stacks", "no_buffer" },
	[MT_LOSS_STACK_READ] = { "stacks", "unreadable" },
	[MT_LOSS_REQUEST_RING] = { "requests", "ring_full" },
	[MT_LOSS_THREAD_STATE] = { "threads", "no_memory" },
	[MT_LOSS_OUT_POINTER] = { "events", "unreadable" },
	[MT_LOSS_REGION_BEGIN] = { "events", "begin_missed" },
	[MT_LOSS_SAMPLED_BLOCKS] = { "events", "map_full" },
};
_Static_assert(MT_LOSS_KINDS + 11 <= MT_LOSSES_MAX, "every kind has a row");

static uint32_t add(struct mt_loss *rows, uint32_t n, const char *source, const char *cause,
		    uint64_t count)
{
	if (!count)
		return n;
	rows[n] = (struct mt_loss){ .source = source, .cause = cause, .count = count };
	return n + 1;
}

uint32_t mt_losses_collect(const struct mt_programs *programs,
			   const struct mt_mmap_events *mappings, struct mt_witness *witness,
			   struct mt_file_notes *notes, const struct mt_decoder *decoder,
			   struct mt_loss ret_rows[MT_LOSSES_MAX])
{
	struct mt_loss_counter counters[MT_LOSS_KINDS];
	uint32_t n = 0, before, i;

	mt_programs_losses(programs, counters);
	for (i = 0; i < MT_LOSS_KINDS; i++) {
		before = n;
		n = add(ret_rows, n, kinds[i].source, kinds[i].cause, counters[i].count);
		if (n > before) {
			ret_rows[before].first = counters[i].first;
			ret_rows[before].last = counters[i].last;
		}
	}
	n = add(ret_rows, n, "events", "missed", mt_programs_missed(programs, MT_MISSED_EVENT));
	n = add(ret_rows, n, "lifecycle", "missed", mt_programs_missed(programs, MT_MISSED_STEP));
	/* Most calls that are missed map no code; perf knows. */
	if (witness && mt_programs_missed(programs, MT_MISSED_CALL))
		n = add(ret_rows, n, "requests", "missed",
			mt_witness_unseen(witness));
	if (mappings)
		n = add(ret_rows, n, "mappings", "kernel", mt_mmap_events_lost(mappings));
	n = add(ret_rows, n, "mappings", "unknown_process", mt_decoder_orphan_mappings(decoder));
	if (notes)
		n = add(ret_rows, n, "files", "no_buffer", mt_file_notes_dropped(notes));
	n = add(ret_rows, n, "records", "malformed", mt_decoder_malformed(decoder));
	n = add(ret_rows, n, "events", "table_full",
		mt_decoder_no_place(decoder, MT_NO_PLACE_EVENT));
	n = add(ret_rows, n, "lifecycle", "table_full",
		mt_decoder_no_place(decoder, MT_NO_PLACE_LIFECYCLE));
	n = add(ret_rows, n, "stacks", "table_full",
		mt_decoder_no_place(decoder, MT_NO_PLACE_STACK));
	return n;
}
