/*
 * report/tally.h - totals of one stack or thread while events are replayed.
 *
 * The values at the moment of the highest sum over all are wanted, but that moment is
 * known only at the end. Each new highest sum therefore only raises a number, the
 * epoch; a tally saves its current values when it is about to change for the first time
 * in an epoch. What a tally has saved last, or has now if it did not change since, are its
 * values at the peak. Constant work per event, no snapshots, one pass.
 *
 * What a tally has now is what came less what went. Only sums that grow are kept, one for each way
 * to come and to go, so that a change is the same few additions whatever it is.
 */
#ifndef MT_TALLY_H
#define MT_TALLY_H

#include "report/aggregate.h"
#include "report/pages.h"
#include "report/sample.h"

#include <stddef.h>

enum mt_tally_way {
	MT_TALLY_CAME,
	MT_TALLY_FREED,
	MT_TALLY_WENT,			/* in any other way */
	MT_TALLY_WAYS
};

/* What every event changes is in the first cache line. */
struct mt_tally {
	uint64_t epoch;
	uint64_t blocks[MT_TALLY_WAYS];
	uint64_t bytes[2];		/* came, went */
	uint64_t temporary;
	/* peak_*, and live_* of exited processes; the rest, and what lives on, when finished. */
	struct mt_totals totals __attribute__((aligned(MT_CACHE_LINE)));
};

_Static_assert(sizeof(struct mt_tally) == 2 * MT_CACHE_LINE, "two cache lines");

static inline void mt_tally_touch(struct mt_tally *tally, uint64_t epoch)
{
	if (tally->epoch != epoch) {
		tally->totals.peak_bytes = tally->bytes[0] - tally->bytes[1];
		tally->totals.peak_blocks = tally->blocks[MT_TALLY_CAME] -
					    tally->blocks[MT_TALLY_FREED] -
					    tally->blocks[MT_TALLY_WENT];
		tally->epoch = epoch;
	}
}

static inline void mt_tally_change(struct mt_tally *tally, enum mt_tally_way way,
				   struct mt_share share, uint64_t epoch)
{
	mt_tally_touch(tally, epoch);
	tally->blocks[way] += share.blocks;
	tally->bytes[way != MT_TALLY_CAME] += share.bytes;
}

/* What is not current any more, but was never given back; it went besides. */
static inline void mt_tally_keep(struct mt_tally *tally, struct mt_share share)
{
	tally->totals.live_blocks += share.blocks;
	tally->totals.live_bytes += share.bytes;
}

static inline void mt_tally_finish(struct mt_tally *tally, uint64_t epoch)
{
	struct mt_totals *totals = &tally->totals;

	mt_tally_touch(tally, epoch);
	totals->allocations = tally->blocks[MT_TALLY_CAME];
	totals->allocated_bytes = tally->bytes[0];
	totals->frees = tally->blocks[MT_TALLY_FREED];
	totals->temporary = tally->temporary;
	totals->live_blocks += tally->blocks[MT_TALLY_CAME] - tally->blocks[MT_TALLY_FREED] -
			       tally->blocks[MT_TALLY_WENT];
	totals->live_bytes += tally->bytes[0] - tally->bytes[1];
}

#endif
