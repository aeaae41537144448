/* Blocks of the heap: added, and matched with what frees them. */
#include "report/aggregate_impl.h"
#include "report/timeline.h"

#define AHEAD 16u	/* events; a power of two */

static void make_change(struct mt_profile *p, const struct mt_change *change)
{
	struct mt_tally *stack = &p->stacks[change->stack];
	struct mt_tally *thread = &p->threads[change->thread].tally;

	mt_tally_change(stack, change->way, change->share, change->epoch);
	mt_tally_change(thread, change->way, change->share, change->epoch);
	stack->temporary += change->temporary;
	thread->temporary += change->temporary;
}

/*
 * A stack's tally is known only now, and most likely in no cache: it is fetched, and changed some
 * changes later. Nothing but the changes themselves, which stay in order, reads it until then.
 */
static inline void note_change(struct mt_profile *p, const struct mt_live_block *block,
			       enum mt_tally_way way, struct mt_share share, bool temporary)
{
	struct mt_change *change = &p->changes[p->n_noted++ % MT_CHANGES];

	__builtin_prefetch(&p->stacks[block->stack], 1);
	if (p->n_noted - p->n_changed > MT_CHANGES) {
		make_change(p, change);
		p->n_changed++;
	}
	change->share = share;
	change->epoch = p->epoch;
	change->stack = block->stack;
	change->thread = block->thread;
	change->way = way;
	change->temporary = temporary;
}

static void settle_changes(struct mt_profile *p)
{
	while (p->n_changed != p->n_noted)
		make_change(p, &p->changes[p->n_changed++ % MT_CHANGES]);
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

/* What is about to happen to a block: by which thread, where it is looked for. */
struct step {
	const struct mt_event *event;
	uint32_t thread_index;
	struct mt_thread_state *thread;
	struct mt_live_space *space;
	uint64_t hash;
};

/* The address space that a thread is in now. */
static inline struct mt_live_space *space_of(struct mt_profile *p, struct mt_thread_state *thread,
					     uint64_t time)
{
	uint32_t space;

	if (thread->space && thread->moves == p->moves)
		return thread->space;
	space = mt_profile_space_of(p, thread, time);
	/* Of a process that is in none yet it may be another one soon. */
	if (thread->process == MT_NONE || p->space_of[thread->process] != MT_NONE) {
		thread->space = &p->live.spaces[space];
		thread->moves = p->moves;
	}
	return &p->live.spaces[space];
}

/* The block goes, but its place is still taken. */
static inline void drop_block(struct mt_profile *p, const struct mt_live_block *block,
			      enum mt_tally_way way, struct mt_share share, bool temporary)
{
	note_change(p, block, way, share, temporary);
	p->bytes -= share.bytes;
	p->blocks -= share.blocks;
}

static inline int remove_block(struct mt_profile *p, const struct step *step, size_t place)
{
	if (step->space->children)
		return mt_live_space_remove(&p->live, (uint32_t)(step->space - p->live.spaces),
					    place, step->event->time);
	mt_live_table_remove(&step->space->blocks, step->hash, place);
	return 0;
}

/* What is there was freed, but not seen to be. */
static __attribute__((noinline)) int drop_conflict(struct mt_profile *p, const struct step *step,
						   size_t place)
{
	struct mt_live_block old = mt_live_table_block(&step->space->blocks, place);

	p->totals.conflicts++;
	drop_block(p, &old, MT_TALLY_WENT, mt_share_of(old.size, p->scope.sample_bytes), false);
	return remove_block(p, step, place);
}

/* Later than its process's exit: never freed, and never counted as current. */
static __attribute__((noinline)) void add_late(struct mt_profile *p,
					       const struct mt_live_block *block,
					       struct mt_share share)
{
	note_change(p, block, MT_TALLY_CAME, share, false);
	note_change(p, block, MT_TALLY_WENT, share, false);
	mt_profile_keep(p, block->stack, block->thread, share);
}

static inline int add_block(struct mt_profile *p, const struct step *step)
{
	const struct mt_event *event = step->event;
	struct mt_share share = mt_share_of(event->size, p->scope.sample_bytes);
	struct mt_live_block block = { .size = event->size, .thread = step->thread_index };
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
	if (step->space->gone) {
		add_late(p, &block, share);
		return 0;
	}

	place = mt_live_table_find(&step->space->blocks, step->hash, event->addr);
	if (place != MT_NO_BLOCK) {
		err = drop_conflict(p, step, place);
		if (err)
			return err;
	}
	err = mt_live_table_add(&step->space->blocks, step->hash, event->addr, &block,
				event->time);
	if (err)
		return err;
	step->thread->last_addr = event->addr;
	step->thread->unmatched = 0;
	note_change(p, &block, MT_TALLY_CAME, share, false);
	p->bytes += share.bytes;
	p->blocks += share.blocks;
	mt_profile_raise_peak(p, event->time);
	return 0;
}

static __attribute__((noinline)) void release_nothing(struct mt_profile *p,
						      const struct step *step, bool freed)
{
	bool counts = freed && !p->scope.sample_bytes;

	p->totals.all.frees += counts;
	if (mt_live_space_inherited(&p->live, (uint32_t)(step->space - p->live.spaces),
				    step->event->addr)) {
		p->totals.inherited_frees++;
	} else if (p->disabled) {
		/* Most likely allocated unseen, and then no part of what is reported. */
		p->totals.disabled_frees++;
		p->totals.all.frees -= counts;
	} else {
		p->totals.unmatched_frees++;
		step->thread->unmatched += freed;
	}
}

/* freed: not given to realloc. */
static inline int release_block(struct mt_profile *p, const struct step *step, bool freed)
{
	struct mt_thread_state *thread = step->thread;
	struct mt_live_table *table = &step->space->blocks;
	struct mt_live_block block;
	struct mt_share share;
	bool latest, temporary;
	size_t place;

	place = step->space->gone ? MT_NO_BLOCK :
				    mt_live_table_find(table, step->hash, step->event->addr);
	if (place == MT_NO_BLOCK) {
		release_nothing(p, step, freed);
		return 0;
	}
	block = mt_live_table_block(table, place);
	share = mt_share_of(block.size, p->scope.sample_bytes);
	latest = thread->last_addr == step->event->addr;
	/* The thread may have allocated something that was not sampled. */
	temporary = freed & latest & (block.thread == step->thread_index) &
		    !p->scope.sample_bytes;
	p->totals.all.frees += freed ? share.blocks : 0;
	p->totals.all.temporary += temporary;
	thread->unmatched = 0;
	thread->last_addr = latest ? 0 : thread->last_addr;
	drop_block(p, &block, freed ? MT_TALLY_FREED : MT_TALLY_WENT, share, temporary);
	return remove_block(p, step, place);
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

static inline int take_block(struct mt_profile *p, const struct mt_event *event, uint64_t hash)
{
	struct step step = { .event = event, .hash = hash, .thread_index = thread_of(p, event) };

	if (!event->addr) {
		pass_over(p, event);
		return 0;
	}
	step.thread = &p->threads[step.thread_index];
	step.space = space_of(p, step.thread, event->time);
	if (mt_event_allocates(event->type)) {
		p->totals.by_type[event->type]++;
		return add_block(p, &step);
	}
	if (event->type == MT_EV_FREE) {
		p->totals.by_type[event->type]++;
		return release_block(p, &step, true);
	}
	/* A realloc that gave nothing back (size 0) was a free. */
	return release_block(p, &step, !event->old_addr);
}

/*
 * Live blocks are more than the caches hold: where an event will look is fetched early. NULL, or
 * what to fetch: __builtin_prefetch() takes anything, and GCC leaves out the call of a function
 * that only prefetches.
 */
static inline const void *look_ahead(const struct mt_profile *p, const struct mt_event *event,
				     uint64_t *ret_hash)
{
	const struct mt_live_space *space = p->threads[thread_of(p, event)].space;

	*ret_hash = mt_key_hash(event->addr);
	return space && space->blocks.buckets ? mt_live_table_home(&space->blocks, *ret_hash) :
						NULL;
}

int mt_profile_take_blocks(struct mt_profile *p, const struct mt_event *events, size_t n)
{
	uint64_t hashes[AHEAD], hash;
	size_t i, fetched = 0;
	int err = 0;

	for (; fetched < n && fetched < AHEAD; fetched++)
		__builtin_prefetch(look_ahead(p, &events[fetched], &hashes[fetched]), 1);
	for (i = 0; i < n && !err; i++) {
		hash = hashes[i % AHEAD];
		if (fetched < n) {
			__builtin_prefetch(look_ahead(p, &events[fetched],
						      &hashes[fetched % AHEAD]), 1);
			fetched++;
		}
		if (mt_event_allocates(events[i].type) || events[i].type == MT_EV_FREE ||
		    events[i].type == MT_EV_GIVE_UP)
			err = take_block(p, &events[i], hash);
		else
			pass_over(p, &events[i]);
	}
	settle_changes(p);
	return err;
}
