/*
 * report/aggregate_impl.h - what the parts of report/aggregate.h share.
 */
#ifndef MT_AGGREGATE_IMPL_H
#define MT_AGGREGATE_IMPL_H

#include "report/id_map.h"
#include "report/live_spaces.h"
#include "report/regions.h"
#include "report/session.h"
#include "report/tally.h"

enum mt_region_fate {
	MT_REGION_REPLACED,	/* or given up by mremap */
	MT_REGION_UNMAPPED,
	MT_REGION_KEPT,		/* until its process ended */
	MT_REGION_DISCARDED,	/* by exec */
};

struct mt_thread_state {
	struct mt_tally tally;
	uint64_t last_addr;	/* its latest allocation, unless freed; 0: none */
	struct mt_live_space *space;	/* where it was at moves; NULL: it was not asked for yet */
	uint64_t moves;
	uint32_t process;	/* MT_NONE: unknown */
	uint32_t unmatched;	/* frees of no known block since it last did anything else */
};

struct mt_profile {
	struct mt_profile_totals totals;
	uint64_t bytes, blocks;		/* current, over all */
	uint64_t epoch;

	struct mt_regions *regions;	/* NULL: it is about the heap */
	enum mt_region_fate fate;	/* of the regions that go now */
	uint64_t gone_bytes;		/* of those */
	struct mt_profile_scope scope;	/* while replaying */
	uint32_t next_mark;
	uint64_t mark_time;		/* of that; UINT64_MAX: there is none */
	bool disabled;

	const struct mt_session *session;	/* while replaying */
	struct mt_live_spaces live;	/* the last one: of unknown threads */
	uint32_t *space_of;		/* per process: current, MT_NONE before it is seen */
	uint64_t moves;			/* of processes into spaces */

	struct mt_id_map ids;
	struct mt_tally *stacks;
	uint32_t *stack_ids;
	uint32_t stacks_cap;
	struct mt_thread_state *threads;	/* the last one: unknown threads */
	uint32_t n_threads;
	struct mt_totals *processes;
	uint32_t n_processes;
};

/* Slot of a stack id's tally. 0, -ENOMEM, -MT_E_LIMIT. */
int mt_profile_find_stack(struct mt_profile *p, uint32_t id, uint32_t *ret_slot);

/* Who is in which address space: report/aggregate_spaces.c. 0 or -ENOMEM. */
int mt_profile_take_lifecycle(struct mt_profile *p, const struct mt_lifecycle *row);
/* Of a thread of which nothing is known yet. */
uint32_t mt_profile_first_space(struct mt_profile *p, const struct mt_thread_state *thread,
				uint64_t time);

/*
 * Events in the order of their time, all in scope and with no mark in between. Of the heap:
 * report/aggregate_blocks.c. 0, -ENOMEM, -MT_E_LIMIT.
 */
int mt_profile_take_blocks(struct mt_profile *p, const struct mt_event *events, size_t n);
/* Nobody is in the space any more; the blocks that are left are leaked, or else discarded. */
void mt_profile_settle_blocks(struct mt_profile *p, uint32_t space, bool leaked);

/* Of mmap and its like: report/aggregate_regions.c. 0, -ENOMEM, -MT_E_LIMIT. */
int mt_profile_follow_regions(struct mt_profile *p, uint32_t n_spaces);
int mt_profile_take_regions(struct mt_profile *p, const struct mt_event *events, size_t n);
/* Nobody is in the space any more. */
void mt_profile_settle_regions(struct mt_profile *p, uint32_t space, enum mt_region_fate fate);

/* In the tallies, at once. */
static inline void mt_profile_change(struct mt_profile *p, uint32_t slot, uint32_t thread,
				     enum mt_tally_way way, struct mt_share share)
{
	mt_tally_change(&p->stacks[slot], way, share, p->epoch);
	mt_tally_change(&p->threads[thread].tally, way, share, p->epoch);
}

/* What is not current any more, but was never given back; it went besides. */
static inline void mt_profile_keep(struct mt_profile *p, uint32_t slot, uint32_t thread,
				   struct mt_share share)
{
	mt_tally_keep(&p->stacks[slot], share);
	mt_tally_keep(&p->threads[thread].tally, share);
	p->totals.all.live_blocks += share.blocks;
	p->totals.all.live_bytes += share.bytes;
}

/* The address space of a thread of now. */
static inline uint32_t mt_profile_space_of(struct mt_profile *p,
					   const struct mt_thread_state *thread, uint64_t time)
{
	uint32_t space = thread->process == MT_NONE ? MT_NONE : p->space_of[thread->process];

	return space != MT_NONE ? space : mt_profile_first_space(p, thread, time);
}

static inline void mt_profile_raise_peak(struct mt_profile *p, uint64_t time)
{
	if (p->bytes <= p->totals.all.peak_bytes)
		return;
	p->totals.all.peak_bytes = p->bytes;
	p->totals.all.peak_blocks = p->blocks;
	p->totals.peak_time = time;
	p->epoch++;
}

#endif
