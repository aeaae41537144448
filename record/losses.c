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

static struct mt_kernel_losses kernel_losses(const struct mt_programs *programs)
{
	struct mt_kernel_losses losses = {
		.missed_events = mt_programs_missed(programs, MT_MISSED_EVENT),
		.missed_steps = mt_programs_missed(programs, MT_MISSED_STEP),
		.missed_calls = mt_programs_missed(programs, MT_MISSED_CALL),
	};

	mt_programs_losses(programs, losses.counters);
	return losses;
}

void mt_losses_end(struct mt_loss_log *log, const struct mt_programs *programs)
{
	log->end = kernel_losses(programs);
	__atomic_store_n(&log->ended, true, __ATOMIC_RELEASE);
}

static uint32_t add_kernel(const struct mt_kernel_losses *losses, struct mt_loss *rows)
{
	uint32_t n = 0, before, i;

	for (i = 0; i < MT_LOSS_KINDS; i++) {
		before = n;
		n = add(rows, n, kinds[i].source, kinds[i].cause, losses->counters[i].count);
		if (n > before) {
			rows[before].first = losses->counters[i].first;
			rows[before].last = losses->counters[i].last;
		}
	}
	n = add(rows, n, "events", "missed", losses->missed_events);
	return add(rows, n, "lifecycle", "missed", losses->missed_steps);
}

static uint32_t add_own(const struct mt_loss_sources *sources, struct mt_loss *rows, uint32_t n)
{
	const struct mt_decoder *decoder = sources->decoder;

	if (sources->mappings)
		n = add(rows, n, "mappings", "kernel", mt_mmap_events_lost(sources->mappings));
	n = add(rows, n, "mappings", "unknown_process", mt_decoder_orphan_mappings(decoder));
	if (sources->notes)
		n = add(rows, n, "files", "no_buffer", mt_file_notes_dropped(sources->notes));
	n = add(rows, n, "records", "malformed", mt_decoder_malformed(decoder));
	n = add(rows, n, "events", "table_full", mt_decoder_no_place(decoder, MT_NO_PLACE_EVENT));
	n = add(rows, n, "lifecycle", "table_full",
		mt_decoder_no_place(decoder, MT_NO_PLACE_LIFECYCLE));
	return add(rows, n, "stacks", "table_full",
		   mt_decoder_no_place(decoder, MT_NO_PLACE_STACK));
}

/* Some counters say how many, not when: it is known that they have grown. */
static void date(struct mt_loss_log *log, struct mt_loss *loss, uint64_t now)
{
	struct mt_loss *noticed = log->noticed;
	uint32_t n = log->n_noticed, i;

	for (i = 0; i < n && (strcmp(noticed[i].source, loss->source) != 0 ||
			      strcmp(noticed[i].cause, loss->cause) != 0); i++)
		;
	if (i == n) {
		if (n == MT_LOSSES_MAX)
			return;
		noticed[i] = *loss;
		noticed[i].first = noticed[i].last = now;
		log->n_noticed++;
	} else if (loss->count > noticed[i].count) {
		noticed[i].count = loss->count;
		noticed[i].last = now;
	}
	loss->first = noticed[i].first;
	loss->last = noticed[i].last;
}

uint64_t mt_losses_collect(struct mt_loss_log *log, const struct mt_loss_sources *sources,
			   uint64_t now)
{
	const struct mt_kernel_losses losses = __atomic_load_n(&log->ended, __ATOMIC_ACQUIRE) ?
					       log->end : kernel_losses(sources->programs);
	uint64_t lost = 0;
	uint32_t n = add_kernel(&losses, log->rows), i;

	/* Most calls that are missed map no code; perf knows. */
	if (sources->witness && losses.missed_calls)
		n = add(log->rows, n, "requests", "missed", mt_witness_unseen(sources->witness));
	log->n = add_own(sources, log->rows, n);
	for (i = 0; i < log->n; i++) {
		lost += log->rows[i].count;
		if (!log->rows[i].first)
			date(log, &log->rows[i], now);
	}
	return lost;
}
