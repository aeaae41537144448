/* Blocks of the heap: added, and matched with what frees them. */
#include "report/aggregate_impl.h"

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

void mt_profile_settle_changes(struct mt_profile *p)
{
	while (p->n_changed != p->n_noted)
		make_change(p, &p->changes[p->n_changed++ % MT_CHANGES]);
}

void mt_profile_settle_blocks(struct mt_profile *p, uint32_t space, bool leaked)
{
	const struct mt_live_table *blocks = &p->live.spaces[space].blocks;
	const struct mt_live_block *block;
	struct mt_share share;
	size_t place;

	for (place = mt_live_table_next(blocks, 0); place != MT_NO_BLOCK;
	     place = mt_live_table_next(blocks, place + 1)) {
		block = mt_live_table_block(blocks, place);
		share = mt_share_of(block->size, p->scope.sample_bytes);
		mt_profile_change(p, block->stack, block->thread, MT_TALLY_WENT, share);
		p->bytes -= share.bytes;
		p->blocks -= share.blocks;
		if (leaked) {
			mt_profile_keep(p, block->stack, block->thread, share);
		} else {
			p->totals.discarded_blocks += share.blocks;
			p->totals.discarded_bytes += share.bytes;
		}
	}
}

/* The block at a place goes, but its place is still taken. */
static inline void drop_block(struct mt_profile *p, const struct mt_live_block *block,
			      enum mt_tally_way way, struct mt_share share, bool temporary)
{
	note_change(p, block, way, share, temporary);
	p->bytes -= share.bytes;
	p->blocks -= share.blocks;
}

static inline int remove_block(struct mt_profile *p, uint32_t space, size_t place, uint64_t time)
{
	struct mt_live_space *s = &p->live.spaces[space];

	if (s->children)
		return mt_live_space_remove(&p->live, space, place, time);
	mt_live_table_remove(&s->blocks, place);
	return 0;
}

/* What is there was freed, but not seen to be. */
static int drop_conflict(struct mt_profile *p, uint32_t space, size_t place, uint64_t time)
{
	const struct mt_live_block *old = mt_live_table_block(&p->live.spaces[space].blocks, place);

	p->totals.conflicts++;
	drop_block(p, old, MT_TALLY_WENT, mt_share_of(old->size, p->scope.sample_bytes), false);
	return remove_block(p, space, place, time);
}

int mt_profile_add_block(struct mt_profile *p, const struct mt_event *event, uint32_t thread_index)
{
	struct mt_thread_state *thread = &p->threads[thread_index];
	uint32_t space = mt_profile_space_of(p, thread, event->time);
	struct mt_live_space *s = &p->live.spaces[space];
	struct mt_share share = mt_share_of(event->size, p->scope.sample_bytes);
	struct mt_live_block block = { .size = event->size, .thread = thread_index };
	size_t place;
	int err;

	err = mt_profile_find_stack(p, event->stack, &block.stack);
	if (err)
		return err;
	p->totals.all.allocations += share.blocks;
	p->totals.all.allocated_bytes += share.bytes;
	if (s->gone) {
		/* Later than its process's exit: never freed, and never counted as current. */
		note_change(p, &block, MT_TALLY_CAME, share, false);
		note_change(p, &block, MT_TALLY_WENT, share, false);
		mt_profile_keep(p, block.stack, block.thread, share);
		return 0;
	}

	place = mt_live_table_find(&s->blocks, event->addr);
	if (place != MT_NO_BLOCK) {
		err = drop_conflict(p, space, place, event->time);
		if (err)
			return err;
	}
	err = mt_live_table_add(&s->blocks, event->addr, &block, event->time);
	if (err)
		return err;
	thread->last_addr = event->addr;
	thread->unmatched = 0;
	note_change(p, &block, MT_TALLY_CAME, share, false);
	p->bytes += share.bytes;
	p->blocks += share.blocks;
	mt_profile_raise_peak(p, event->time);
	return 0;
}

static void release_nothing(struct mt_profile *p, const struct mt_event *event,
			    struct mt_thread_state *thread, uint32_t space, bool freed)
{
	bool counts = freed && !p->scope.sample_bytes;

	p->totals.all.frees += counts;
	if (mt_live_space_inherited(&p->live, space, event->addr)) {
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

int mt_profile_release_block(struct mt_profile *p, const struct mt_event *event,
			     uint32_t thread_index, bool freed)
{
	struct mt_thread_state *thread = &p->threads[thread_index];
	uint32_t space = mt_profile_space_of(p, thread, event->time);
	struct mt_live_space *s = &p->live.spaces[space];
	size_t place = s->gone ? MT_NO_BLOCK : mt_live_table_find(&s->blocks, event->addr);
	const struct mt_live_block *block;
	struct mt_share share;
	bool temporary;

	if (place == MT_NO_BLOCK) {
		release_nothing(p, event, thread, space, freed);
		return 0;
	}
	block = mt_live_table_block(&s->blocks, place);
	share = mt_share_of(block->size, p->scope.sample_bytes);
	/* The thread may have allocated something that was not sampled. */
	temporary = freed && block->thread == thread_index && thread->last_addr == event->addr &&
		    !p->scope.sample_bytes;
	p->totals.all.frees += freed ? share.blocks : 0;
	p->totals.all.temporary += temporary;
	thread->unmatched = 0;
	if (thread->last_addr == event->addr)
		thread->last_addr = 0;
	drop_block(p, block, freed ? MT_TALLY_FREED : MT_TALLY_WENT, share, temporary);
	return remove_block(p, space, place, event->time);
}
