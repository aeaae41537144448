/* Blocks of the heap: added, and matched with what frees them. */
#include "report/aggregate_impl.h"
#include "report/timeline.h"

#define BATCH 16u	/* events: enough that a cache line comes meanwhile */

#define always_inline inline __attribute__((always_inline))

/* What becomes of a block, by whom. */
struct change {
	struct mt_share share;
	uint64_t epoch;
	uint32_t stack;
	uint8_t way;		/* enum mt_tally_way */
	bool temporary;
};

/*
 * A stack's tally is known only when its block is, and most likely in no cache: it is fetched then,
 * and changed at the batch's end. Nothing but the changes themselves, which stay in order, reads
 * it until then. An event makes two changes at the most.
 */
struct changes {
	struct change of[2 * BATCH];
	uint32_t n;
};

static always_inline void note_change(struct mt_profile *p, struct changes *changes,
				      const struct mt_live_block *block, enum mt_tally_way way,
				      struct mt_share share, bool temporary)
{
	struct mt_tally *thread = &p->threads[block->thread].tally;

	__builtin_prefetch(&p->stacks[block->stack], 1);
	changes->of[changes->n++] = (struct change){
		.share = share, .epoch = p->epoch, .stack = block->stack, .way = way,
		.temporary = temporary,
	};
	mt_tally_change(thread, way, share, p->epoch);
	thread->temporary += temporary;
}

static always_inline void make_changes(struct mt_profile *p, struct changes *changes)
{
	const struct change *change = changes->of, *end = change + changes->n;
	struct mt_tally *stack;

	for (; change < end; change++) {
		stack = &p->stacks[change->stack];
		mt_tally_change(stack, change->way, change->share, change->epoch);
		stack->temporary += change->temporary;
	}
	changes->n = 0;
}

void mt_profile_settle_blocks(struct mt_profile *p, uint32_t space, bool leaked)
{
	const struct mt_live_table *blocks = &p->live.spaces[space].blocks;
	struct mt_live_block block;
	struct mt_share share;
	size_t place;

	for (place = mt_live_table_next(blocks, 0); place != MT_NO_BLOCK;
	     place = mt_live_table_next(blocks, place + 1)) {
		block = mt_live_table_block(blocks, place);
		share = mt_share_of(block.size, p->scope.sample_bytes);
		mt_profile_change(p, block.stack, block.thread, MT_TALLY_WENT, share);
		p->bytes -= share.bytes;
		p->blocks -= share.blocks;
		if (leaked) {
			mt_profile_keep(p, block.stack, block.thread, share);
		} else {
			p->totals.discarded_blocks += share.blocks;
			p->totals.discarded_bytes += share.bytes;
		}
	}
}

/* The address space that a thread is in now. */
static __attribute__((noinline)) struct mt_live_space *find_space(struct mt_profile *p,
								  struct mt_thread_state *thread,
								  uint64_t time)
{
	uint32_t space;

	space = mt_profile_space_of(p, thread, time);
	/* Of a process that is in none yet it may be another one soon. */
	if (thread->process == MT_NONE || p->space_of[thread->process] != MT_NONE) {
		thread->space = &p->live.spaces[space];
		thread->moves = p->moves;
	}
	return &p->live.spaces[space];
}

static always_inline struct mt_live_space *space_of(struct mt_profile *p,
						    struct mt_thread_state *thread, uint64_t time)
{
	if (thread->space && thread->moves == p->moves)
		return thread->space;
	return find_space(p, thread, time);
}

/* The block goes, but its place is still taken. */
static always_inline void drop_block(struct mt_profile *p, struct changes *changes,
				     const struct mt_live_block *block, enum mt_tally_way way,
				     struct mt_share share, bool temporary)
{
	note_change(p, changes, block, way, share, temporary);
	p->bytes -= share.bytes;
	p->blocks -= share.blocks;
}

static always_inline int remove_block(struct mt_profile *p, struct mt_live_space *space,
				      uint64_t hash, size_t place, uint64_t time)
{
	if (space->children)
		return mt_live_space_remove(&p->live, (uint32_t)(space - p->live.spaces), place,
					    time);
	mt_live_table_remove(&space->blocks, hash, place);
	return 0;
}

/* What is there was freed, but not seen to be. */
static __attribute__((noinline)) int drop_conflict(struct mt_profile *p, struct changes *changes,
						   struct mt_live_space *space, uint64_t hash,
						   size_t place, uint64_t time)
{
	struct mt_live_block old = mt_live_table_block(&space->blocks, place);

	p->totals.conflicts++;
	drop_block(p, changes, &old, MT_TALLY_WENT,
		   mt_share_of(old.size, p->scope.sample_bytes), false);
	return remove_block(p, space, hash, place, time);
}

/* Later than its process's exit: never freed, and never counted as current. */
static __attribute__((noinline)) void add_late(struct mt_profile *p, struct changes *changes,
					       struct mt_live_block block, struct mt_share share)
{
	note_change(p, changes, &block, MT_TALLY_CAME, share, false);
	note_change(p, changes, &block, MT_TALLY_WENT, share, false);
	mt_profile_keep(p, block.stack, block.thread, share);
}

static always_inline int add_block(struct mt_profile *p, struct changes *changes,
				   const struct mt_event *event, uint32_t thread_index,
				   uint64_t hash, uint64_t sample_bytes)
{
	struct mt_thread_state *thread = &p->threads[thread_index];
	struct mt_live_space *space = space_of(p, thread, event->time);
	struct mt_share share = mt_share_of(event->size, sample_bytes);
	struct mt_live_block block = { .size = event->size, .thread = thread_index };
	size_t place;
	int err;

	block.stack = mt_id_map_find(&p->ids, event->stack);
	if (block.stack == UINT32_MAX) {
		err = mt_profile_find_stack(p, event->stack, &block.stack);
		if (err)
			return err;
	}
	p->totals.all.allocations += share.blocks;
	p->totals.all.allocated_bytes += share.bytes;
	if (space->gone) {
		add_late(p, changes, block, share);
		return 0;
	}

	place = mt_live_table_find(&space->blocks, hash, event->addr);
	if (place != MT_NO_BLOCK) {
		err = drop_conflict(p, changes, space, hash, place, event->time);
		if (err)
			return err;
	}
	err = mt_live_table_add(&space->blocks, hash, event->addr, &block, event->time);
	if (err)
		return err;
	thread->last_addr = event->addr;
	thread->unmatched = 0;
	note_change(p, changes, &block, MT_TALLY_CAME, share, false);
	p->bytes += share.bytes;
	p->blocks += share.blocks;
	mt_profile_raise_peak(p, event->time);
	return 0;
}

static __attribute__((noinline)) void release_nothing(struct mt_profile *p, uint64_t addr,
						      struct mt_thread_state *thread,
						      struct mt_live_space *space, bool freed)
{
	bool counts = freed && !p->scope.sample_bytes;

	p->totals.all.frees += counts;
	if (mt_live_space_inherited(&p->live, (uint32_t)(space - p->live.spaces), addr)) {
		p->totals.inherited_frees++;
	} else if (p->disabled) {
		/* Most likely allocated unseen, and then no part of what is reported. */
		p->totals.disabled_frees++;
		p->totals.all.frees -= counts;
	} else {
		p->totals.unmatched_frees++;
		thread->unmatched += freed;
	}
}

/* freed: not given to realloc. */
static always_inline int release_block(struct mt_profile *p, struct changes *changes,
				       const struct mt_event *event, uint32_t thread_index,
				       uint64_t hash, uint64_t sample_bytes, bool freed)
{
	struct mt_thread_state *thread = &p->threads[thread_index];
	struct mt_live_space *space = space_of(p, thread, event->time);
	struct mt_live_block block;
	struct mt_share share;
	bool latest, temporary;
	size_t place;

	place = space->gone ? MT_NO_BLOCK : mt_live_table_find(&space->blocks, hash, event->addr);
	if (place == MT_NO_BLOCK) {
		release_nothing(p, event->addr, thread, space, freed);
		return 0;
	}
	block = mt_live_table_block(&space->blocks, place);
	share = mt_share_of(block.size, sample_bytes);
	latest = thread->last_addr == event->addr;
	/* The thread may have allocated something that was not sampled. */
	temporary = freed & latest & (block.thread == thread_index) & !sample_bytes;
	p->totals.all.frees += freed ? share.blocks : 0;
	p->totals.all.temporary += temporary;
	thread->unmatched = 0;
	thread->last_addr = latest ? 0 : thread->last_addr;
	drop_block(p, changes, &block, freed ? MT_TALLY_FREED : MT_TALLY_WENT, share, temporary);
	return remove_block(p, space, hash, place, event->time);
}

/* Neither adds nor releases a block, or has no address. */
static __attribute__((noinline)) void pass_over(struct mt_profile *p, const struct mt_event *event)
{
	bool known = mt_event_allocates(event->type) || mt_event_maps(event->type) ||
		     event->type == MT_EV_FREE;

	if (known)
		p->totals.by_type[event->type]++;
	if (mt_event_maps(event->type) || event->type == MT_EV_GIVE_UP_REGION ||
	    (event->type == MT_EV_REALLOC && event->old_addr))
		return;
	p->totals.bad_events++;
}

static inline uint32_t thread_of(const struct mt_profile *p, const struct mt_event *event)
{
	return event->thread < p->n_threads ? event->thread : p->n_threads;
}

static always_inline int take_event(struct mt_profile *p, struct changes *changes,
				    const struct mt_event *event, uint64_t hash,
				    uint64_t sample_bytes)
{
	uint32_t thread = thread_of(p, event);
	bool frees = event->type == MT_EV_FREE;

	if (mt_event_allocates(event->type) && event->addr) {
		p->totals.by_type[event->type]++;
		return add_block(p, changes, event, thread, hash, sample_bytes);
	}
	if ((frees || event->type == MT_EV_GIVE_UP) && event->addr) {
		p->totals.by_type[MT_EV_FREE] += frees;
		/* A realloc that gave nothing back (size 0) was a free. */
		return release_block(p, changes, event, thread, hash, sample_bytes,
				     frees || !event->old_addr);
	}
	pass_over(p, event);
	return 0;
}

/*
 * Live blocks are more than the caches hold: where an event will look is fetched early, if it is
 * known by then. The hash of its address.
 */
static always_inline uint64_t look_ahead(const struct mt_profile *p, const struct mt_event *event)
{
	const struct mt_live_space *space = p->threads[thread_of(p, event)].space;
	uint64_t hash = mt_key_hash(event->addr);

	if (space)
		mt_live_table_prefetch(&space->blocks, hash);
	mt_id_map_prefetch(&p->ids, event->stack);
	return hash;
}

/*
 * sample_bytes is the scope's: a constant, where it can be. One by one with the events that are
 * taken others are looked ahead for: more fetches at a time than a core can have make it wait.
 */
static always_inline int take_blocks(struct mt_profile *p, const struct mt_event *events, size_t n,
				     uint64_t sample_bytes)
{
	uint64_t hashes[BATCH], hash;
	struct changes changes;
	size_t i, here;
	int err = 0;

	changes.n = 0;
	for (i = 0; i < BATCH && i < n; i++)
		hashes[i] = look_ahead(p, &events[i]);
	for (; n && !err; n -= here, events += here) {
		here = n < BATCH ? n : BATCH;
		for (i = 0; i < here && !err; i++) {
			hash = hashes[i];
			if (i + BATCH < n)
				hashes[i] = look_ahead(p, &events[i + BATCH]);
			err = take_event(p, &changes, &events[i], hash, sample_bytes);
		}
		make_changes(p, &changes);
	}
	return err;
}

int mt_profile_take_blocks(struct mt_profile *p, const struct mt_event *events, size_t n)
{
	return p->scope.sample_bytes ? take_blocks(p, events, n, p->scope.sample_bytes) :
				       take_blocks(p, events, n, 0);
}
