/*
 * report/tally.h - totals of one stack or thread while events are replayed.
 *
 * The values at the moment of the highest sum over all are wanted, but that moment is
 * known only at the end. Each new highest sum therefore only raises a number, the
 * epoch; a tally saves its current values when it is about to change for the first time
 * in an epoch. What a tally has saved last, or has now if it did not change since, are its
 * values at the peak. Constant work per event, no snapshots, one pass.
 */
#ifndef MT_TALLY_H
#define MT_TALLY_H

#include "report/aggregate.h"
#include "report/pages.h"
#include "report/sample.h"

#include <stddef.h>

/* What every event changes is in the first cache line. */
struct mt_tally {
	uint64_t bytes, blocks;		/* current */
	uint64_t epoch;
	struct mt_totals totals;	/* live_*: of exited processes, until mt_tally_finish() */
} __attribute__((aligned(MT_CACHE_LINE)));

_Static_assert(offsetof(struct mt_tally, totals.live_blocks) == MT_CACHE_LINE, "two cache lines");

static inline void mt_tally_touch(struct mt_tally *tally, uint64_t epoch)
{
	if (tally->epoch != epoch) {
		tally->totals.peak_bytes = tally->bytes;
		tally->totals.peak_blocks = tally->blocks;
		tally->epoch = epoch;
	}
}

static inline void mt_tally_add(struct mt_tally *tally, struct mt_share share, uint64_t epoch)
{
	mt_tally_touch(tally, epoch);
	tally->bytes += share.bytes;
	tally->blocks += share.blocks;
}

static inline void mt_tally_drop(struct mt_tally *tally, struct mt_share share, uint64_t epoch)
{
	mt_tally_touch(tally, epoch);
	tally->bytes -= share.bytes;
	tally->blocks -= share.blocks;
}

static inline void mt_tally_finish(struct mt_tally *tally, uint64_t epoch)
{
	mt_tally_touch(tally, epoch);
	tally->totals.live_bytes += tally->bytes;
	tally->totals.live_blocks += tally->blocks;
}

#endif
