#include "report/aggregate.h"

#include "common/error.h"
#include "report/aggregate_impl.h"
#include "report/mark_facts.h"
#include "report/session.h"
#include "report/timeline.h"

#include <errno.h>

/* Events ahead. */
#define PREFETCH_BLOCK 24
#define PREFETCH_STACK 12

static const struct mt_totals no_totals;

void mt_profile_free(struct mt_profile *profile)
{
	if (!profile)
		return;
	mt_live_spaces_release(&profile->live);
	mt_regions_free(profile->regions);
	mt_id_map_release(&profile->ids);
	free(profile->space_of);
	mt_pages_free(profile->stacks, profile->stacks_cap, sizeof(*profile->stacks));
	free(profile->stack_ids);
	mt_pages_free(profile->threads, (size_t)profile->n_threads + 1, sizeof(*profile->threads));
	free(profile->processes);
	free(profile);
}

static int prepare(struct mt_profile *p, const struct mt_session *session)
{
	uint32_t i;
	int err;

	p->session = session;
	p->epoch = 1;
	p->n_threads = mt_session_threads(session);
	p->n_processes = mt_session_processes(session);
	err = mt_live_spaces_init(&p->live, mt_session_spaces(session) + 1);
	if (!err && p->scope.regions)
		err = mt_profile_follow_regions(p, mt_session_spaces(session) + 1);
	if (err)
		return err;
	p->space_of = calloc((size_t)p->n_processes + 1, sizeof(*p->space_of));
	p->threads = mt_pages_alloc((size_t)p->n_threads + 1, sizeof(*p->threads));
	p->processes = calloc((size_t)p->n_processes + 1, sizeof(*p->processes));
	if (!p->space_of || !p->threads || !p->processes)
		return -ENOMEM;

	for (i = 0; i < p->n_processes; i++)
		p->space_of[i] = MT_NONE;
	for (i = 0; i < p->n_threads; i++)
		p->threads[i].process = mt_session_thread(session, i)->process;
	p->threads[p->n_threads].process = MT_NONE;
	mt_live_space_enter(&p->live, p->live.n - 1);
	return 0;
}

static int grow_stacks(struct mt_profile *p)
{
	uint32_t n = p->stacks_cap, cap = n ? n * 2 : 256;
	struct mt_tally *stacks;
	uint32_t *ids;

	if (cap < n)
		return -MT_E_LIMIT;
	ids = realloc(p->stack_ids, cap * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	p->stack_ids = ids;
	stacks = mt_pages_alloc(cap, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	if (n)
		memcpy(stacks, p->stacks, n * sizeof(*stacks));
	mt_pages_free(p->stacks, n, sizeof(*stacks));
	p->stacks = stacks;
	p->stacks_cap = cap;
	return 0;
}

int mt_profile_find_stack(struct mt_profile *p, uint32_t id, uint32_t *ret_slot)
{
	uint32_t slot = mt_id_map_find(&p->ids, id);
	int err = 0;

	if (slot != UINT32_MAX) {
		*ret_slot = slot;
		return 0;
	}
	slot = mt_id_map_count(&p->ids);
	if (slot == p->stacks_cap)
		err = grow_stacks(p);
	if (!err)
		err = mt_id_map_add(&p->ids, id);
	if (err)
		return err;
	p->stack_ids[slot] = id;
	*ret_slot = slot;
	return 0;
}

/* share: what the block counts for. */
static void drop_block(struct mt_profile *p, const struct mt_live_block *block,
		       struct mt_share share)
{
	mt_tally_drop(&p->stacks[block->stack], share, p->epoch);
	mt_tally_drop(&p->threads[block->thread].tally, share, p->epoch);
	p->bytes -= share.bytes;
	p->blocks -= share.blocks;
}

enum settle { LEAKED, DISCARDED };

/* The last process has left the space by exit (its blocks are leaked) or by exec. */
static void settle_space(struct mt_profile *p, uint32_t space, enum settle how)
{
	const struct mt_blocks_table *blocks = &p->live.spaces[space].blocks;
	const struct mt_live_block *block;
	struct mt_share share;
	size_t i;

	for (i = 0; i < blocks->cap; i++) {
		block = &blocks->slots[i];
		if (!block->addr)
			continue;
		share = mt_share_of(block->size, p->scope.sample_bytes);
		drop_block(p, block, share);
		if (how == DISCARDED) {
			p->totals.discarded_blocks += share.blocks;
			p->totals.discarded_bytes += share.bytes;
			continue;
		}
		mt_profile_keep(p, block->stack, block->thread, share);
	}
	if (p->regions)
		mt_profile_settle_regions(p, space, how == LEAKED ? MT_REGION_KEPT :
								      MT_REGION_DISCARDED);
	mt_live_space_gone(&p->live, space);
}

static void enter(struct mt_profile *p, uint32_t process, uint32_t space)
{
	p->space_of[process] = space;
	mt_live_space_enter(&p->live, space);
}

static void leave(struct mt_profile *p, uint32_t process, enum settle how)
{
	uint32_t space = p->space_of[process];

	if (space != MT_NONE && mt_live_space_leave(&p->live, space))
		settle_space(p, space, how);
}

/*
 * As a thread ends, glibc frees what its cache of freed blocks holds, and the cache itself: calls
 * of free for blocks that the program has freed long ago, the last thing the thread does.
 */
static void thread_exits(struct mt_profile *p, uint32_t index)
{
	const struct mt_thread *thread;
	struct mt_thread_state *state;

	if (index >= p->n_threads)
		return;
	thread = mt_session_thread(p->session, index);
	state = &p->threads[index];
	/* A process's first thread leaves its cache to exit(3). */
	if (thread->process != MT_NONE &&
	    thread->tid != mt_session_process(p->session, thread->process)->pid) {
		p->totals.cache_frees += state->unmatched;
		p->totals.all.frees -= p->scope.sample_bytes ? 0 : state->unmatched;
		p->totals.unmatched_frees -= state->unmatched;
	}
	state->unmatched = 0;
}

static void take_lifecycle(struct mt_profile *p, const struct mt_lifecycle *row)
{
	uint32_t space, parent;

	switch (row->type) {
	case MT_LC_START:
	case MT_LC_FORK:
		space = mt_session_space(p->session, row->process, row->time);
		if (p->space_of[row->process] == MT_NONE && space != MT_NONE)
			enter(p, row->process, space);
		if (row->parent == MT_NONE || row->type == MT_LC_START || row->shares_memory)
			return;
		parent = p->space_of[row->parent];
		if (parent != MT_NONE && space != MT_NONE)
			mt_live_space_fork(&p->live, parent, space, row->time);
		return;
	case MT_LC_EXEC:
		space = mt_session_space(p->session, row->process, row->time);
		if (space == p->space_of[row->process])
			return;
		leave(p, row->process, DISCARDED);
		enter(p, row->process, space);
		return;
	case MT_LC_EXIT:
		leave(p, row->process, LEAKED);
		return;
	case MT_LC_THREAD_EXIT:
		thread_exits(p, row->thread);
		return;
	}
}

uint32_t mt_profile_space_of(struct mt_profile *p, const struct mt_thread_state *thread,
				uint64_t time)
{
	uint32_t space;

	if (thread->process == MT_NONE)
		return p->live.n - 1;
	space = p->space_of[thread->process];
	if (space != MT_NONE)
		return space;
	space = mt_session_space(p->session, thread->process, time);
	if (space == MT_NONE)
		return p->live.n - 1;
	enter(p, thread->process, space);
	return space;
}

static int add_block(struct mt_profile *p, const struct mt_event *event, uint32_t thread_index)
{
	struct mt_thread_state *thread = &p->threads[thread_index];
	uint32_t space = mt_profile_space_of(p, thread, event->time), slot;
	struct mt_live_space *s = &p->live.spaces[space];
	struct mt_share share = mt_share_of(event->size, p->scope.sample_bytes);
	struct mt_live_block block, *old;
	struct mt_tally *stack;
	int err;

	err = mt_profile_find_stack(p, event->stack, &slot);
	if (err)
		return err;
	stack = &p->stacks[slot];
	mt_profile_count(p, slot, thread_index, share);
	if (s->gone) {
		/* Later than its process's exit: never freed, and never counted as current. */
		mt_profile_keep(p, slot, thread_index, share);
		return 0;
	}

	old = mt_blocks_find(&s->blocks, event->addr);
	if (old) {
		p->totals.conflicts++;
		drop_block(p, old, mt_share_of(old->size, p->scope.sample_bytes));
		err = mt_live_space_remove(&p->live, space, old, event->time);
		if (err)
			return err;
	}
	block = (struct mt_live_block){
		.addr = event->addr, .size = event->size, .time = event->time,
		.stack = slot, .thread = thread_index,
	};
	err = mt_blocks_add(&s->blocks, &block);
	if (err)
		return err;
	thread->last_addr = event->addr;
	thread->unmatched = 0;
	mt_tally_add(stack, share, p->epoch);
	mt_tally_add(&thread->tally, share, p->epoch);
	p->bytes += share.bytes;
	p->blocks += share.blocks;
	mt_profile_raise_peak(p, event->time);
	return 0;
}

static int release_block(struct mt_profile *p, const struct mt_event *event, uint32_t thread_index,
			 bool freed)
{
	struct mt_thread_state *thread = &p->threads[thread_index];
	uint32_t space = mt_profile_space_of(p, thread, event->time);
	struct mt_live_space *s = &p->live.spaces[space];
	struct mt_live_block *block = s->gone ? NULL : mt_blocks_find(&s->blocks, event->addr);
	struct mt_totals *of_stack, *of_thread;
	uint64_t sample_bytes = p->scope.sample_bytes;
	struct mt_share share;
	bool temporary;

	if (!block) {
		p->totals.all.frees += freed && !sample_bytes;
		if (mt_live_space_inherited(&p->live, space, event->addr)) {
			p->totals.inherited_frees++;
		} else if (p->disabled) {
			/* Most likely allocated unseen, and then no part of what is reported. */
			p->totals.disabled_frees++;
			p->totals.all.frees -= freed && !sample_bytes;
		} else {
			p->totals.unmatched_frees++;
			thread->unmatched += freed;
		}
		return 0;
	}
	thread->unmatched = 0;

	share = mt_share_of(block->size, sample_bytes);
	of_stack = &p->stacks[block->stack].totals;
	of_thread = &p->threads[block->thread].tally.totals;
	if (freed) {
		/* The thread may have allocated something that was not sampled. */
		temporary = block->thread == thread_index && thread->last_addr == event->addr &&
			    !sample_bytes;
		p->totals.all.frees += share.blocks;
		of_stack->frees += share.blocks;
		of_thread->frees += share.blocks;
		if (temporary) {
			of_stack->temporary++;
			of_thread->temporary++;
			p->totals.all.temporary++;
		}
	}
	if (thread->last_addr == event->addr)
		thread->last_addr = 0;
	drop_block(p, block, share);
	return mt_live_space_remove(&p->live, space, block, event->time);
}

/* Of the events that a profile of mapped memory is not about. */
static void pass_over(struct mt_profile *p, const struct mt_event *event)
{
	if (event->type == MT_EV_FREE || mt_event_allocates(event->type))
		p->totals.by_type[event->type]++;
	else if (!mt_event_gives_up(event->type))
		p->totals.bad_events++;
}

static int take_event(struct mt_profile *p, const struct mt_event *event)
{
	uint32_t thread = event->thread < p->n_threads ? event->thread : p->n_threads;

	if (p->regions && !mt_event_maps(event->type) && event->type != MT_EV_GIVE_UP_REGION) {
		pass_over(p, event);
		return 0;
	}
	switch (event->type) {
	case MT_EV_GIVE_UP:
		/* A realloc that gave nothing back (size 0) was a free. */
		return release_block(p, event, thread, !event->old_addr);
	case MT_EV_FREE:
		p->totals.by_type[event->type]++;
		if (event->addr)
			return release_block(p, event, thread, true);
		break;
	case MT_EV_GIVE_UP_REGION:
		return p->regions ? mt_profile_take_region(p, event, thread) : 0;
	default:
		if (mt_event_maps(event->type)) {
			p->totals.by_type[event->type]++;
			return p->regions ? mt_profile_take_region(p, event, thread) : 0;
		}
		if (!mt_event_allocates(event->type))
			break;
		p->totals.by_type[event->type]++;
		if (event->addr)
			return add_block(p, event, thread);
		if (event->type == MT_EV_REALLOC && event->old_addr)
			return 0;
		break;
	}
	p->totals.bad_events++;
	return 0;
}

/* Marks up to this time: what happens at the time of a mark happens after it. */
static void pass_marks(struct mt_profile *p, uint64_t time)
{
	struct mt_moment *moment;

	while (p->scope.marks && p->next_mark < p->scope.marks->n && p->mark_time <= time) {
		moment = &p->scope.marks->rows[p->next_mark++];
		if (!p->regions) {
			moment->totals = p->totals.all;
			moment->totals.live_bytes = p->bytes;
			moment->totals.live_blocks = p->blocks;
		}
		if (moment->type != MT_MARK_NAME)
			p->disabled = moment->type == MT_MARK_DISABLE;
		p->mark_time = p->next_mark < p->scope.marks->n ?
			       p->scope.marks->rows[p->next_mark].time : UINT64_MAX;
	}
}

static const struct mt_blocks_table *table_of(const struct mt_profile *p,
					      const struct mt_event *event)
{
	uint32_t thread = event->thread < p->n_threads ? event->thread : p->n_threads;
	uint32_t process = p->threads[thread].process;
	uint32_t space = process == MT_NONE ? p->live.n - 1 : p->space_of[process];

	return space == MT_NONE ? NULL : &p->live.spaces[space].blocks;
}

/*
 * Live blocks and stacks are more than the caches hold: what events will read is fetched early.
 * First where their block is; once that is here, the tally of the stack which it has. NULL, or
 * what to fetch: __builtin_prefetch() takes anything.
 */
static inline const void *block_of(const struct mt_profile *p, const struct mt_event *event)
{
	const struct mt_blocks_table *table = table_of(p, event);

	return table ? mt_blocks_place(table, event->addr) : NULL;
}

static inline const void *tally_of(const struct mt_profile *p, const struct mt_event *event)
{
	const struct mt_blocks_table *table;
	const struct mt_live_block *block;
	uint32_t slot;

	if (mt_event_allocates(event->type)) {
		slot = mt_id_map_find(&p->ids, event->stack);
		return slot == UINT32_MAX ? NULL : &p->stacks[slot];
	}
	table = table_of(p, event);
	block = table ? mt_blocks_glance(table, event->addr) : NULL;
	return block ? &p->stacks[block->stack] : NULL;
}

static int take_batch(struct mt_profile *p, const struct mt_timeline_batch *batch)
{
	size_t i;
	int err;

	for (i = 0; i < batch->n; i++) {
		if (batch->n - i > PREFETCH_BLOCK)
			__builtin_prefetch(block_of(p, &batch->events[i + PREFETCH_BLOCK]), 1);
		if (batch->n - i > PREFETCH_STACK)
			__builtin_prefetch(tally_of(p, &batch->events[i + PREFETCH_STACK]), 1);
		if (batch->events[i].time >= p->mark_time)
			pass_marks(p, batch->events[i].time);
		p->totals.events_read += !mt_event_gives_up(batch->events[i].type);
		if (batch->events[i].time < p->scope.from ||
		    batch->events[i].time >= p->scope.until)
			continue;
		p->totals.events += !mt_event_gives_up(batch->events[i].type);
		err = take_event(p, &batch->events[i]);
		if (err)
			return err;
	}
	if (!batch->lifecycle || batch->lifecycle->time >= p->scope.until)
		return 0;
	pass_marks(p, batch->lifecycle->time);
	take_lifecycle(p, batch->lifecycle);
	return 0;
}

void mt_totals_add(struct mt_totals *sum, const struct mt_totals *part)
{
	sum->allocations += part->allocations;
	sum->allocated_bytes += part->allocated_bytes;
	sum->frees += part->frees;
	sum->live_blocks += part->live_blocks;
	sum->live_bytes += part->live_bytes;
	sum->peak_blocks += part->peak_blocks;
	sum->peak_bytes += part->peak_bytes;
	sum->temporary += part->temporary;
}

static void make_whole(struct mt_totals *totals)
{
	totals->allocations = mt_sample_whole(totals->allocations);
	totals->frees = mt_sample_whole(totals->frees);
	totals->live_blocks = mt_sample_whole(totals->live_blocks);
	totals->peak_blocks = mt_sample_whole(totals->peak_blocks);
}

/* Blocks of sampled recordings have been added up in parts. */
static void make_all_whole(struct mt_profile *p)
{
	uint32_t i;

	if (!p->scope.sample_bytes)
		return;
	make_whole(&p->totals.all);
	p->totals.discarded_blocks = mt_sample_whole(p->totals.discarded_blocks);
	for (i = 0; i < mt_id_map_count(&p->ids); i++)
		make_whole(&p->stacks[i].totals);
	for (i = 0; i <= p->n_threads; i++)
		make_whole(&p->threads[i].tally.totals);
	for (i = 0; i < p->n_processes; i++)
		make_whole(&p->processes[i]);
	for (i = 0; p->scope.marks && i < p->scope.marks->n; i++)
		make_whole(&p->scope.marks->rows[i].totals);
}

static void finish(struct mt_profile *p)
{
	uint32_t i, n = mt_id_map_count(&p->ids);
	struct mt_thread_state *thread;

	pass_marks(p, UINT64_MAX);
	for (i = 0; i < n; i++)
		mt_tally_finish(&p->stacks[i], p->epoch);
	for (i = 0; i <= p->n_threads; i++) {
		thread = &p->threads[i];
		mt_tally_finish(&thread->tally, p->epoch);
		if (thread->process != MT_NONE)
			mt_totals_add(&p->processes[thread->process], &thread->tally.totals);
	}
	p->totals.all.live_bytes += p->bytes;
	p->totals.all.live_blocks += p->blocks;
	make_all_whole(p);

	mt_live_spaces_release(&p->live);
	mt_regions_free(p->regions);
	p->regions = NULL;
	free(p->space_of);
	p->space_of = NULL;
	p->session = NULL;
}

static void set_scope(struct mt_profile *p, const struct mt_profile_scope *scope)
{
	p->scope = scope ? *scope : (struct mt_profile_scope){ .until = UINT64_MAX };
	if (p->scope.regions)
		p->scope.sample_bytes = 0;
	p->mark_time = p->scope.marks && p->scope.marks->n ? p->scope.marks->rows[0].time :
							     UINT64_MAX;
}

int mt_profile_replay(struct mt_timeline *timeline, const struct mt_session *session,
		      const struct mt_profile_scope *scope, struct mt_profile **ret_profile)
{
	struct mt_profile *p = calloc(1, sizeof(*p));
	struct mt_timeline_batch batch;
	int err;

	if (!p)
		return -ENOMEM;
	set_scope(p, scope);
	err = prepare(p, session);
	while (!err) {
		err = mt_timeline_next(timeline, &batch);
		if (err <= 0)
			break;
		err = take_batch(p, &batch);
	}
	if (err) {
		mt_profile_free(p);
		return err;
	}

	p->totals.late = mt_timeline_late(timeline);
	finish(p);
	*ret_profile = p;
	return 0;
}

const struct mt_profile_totals *mt_profile_totals(const struct mt_profile *profile)
{
	return &profile->totals;
}

const struct mt_totals *mt_profile_stack(const struct mt_profile *profile, uint32_t id)
{
	uint32_t slot = mt_id_map_find(&profile->ids, id);

	return slot == UINT32_MAX ? &no_totals : &profile->stacks[slot].totals;
}

uint32_t mt_profile_stacks(const struct mt_profile *profile)
{
	return mt_id_map_count(&profile->ids);
}

uint32_t mt_profile_stack_id(const struct mt_profile *profile, uint32_t index)
{
	return profile->stack_ids[index];
}

const struct mt_totals *mt_profile_thread(const struct mt_profile *profile, uint32_t thread)
{
	return thread < profile->n_threads ? &profile->threads[thread].tally.totals : &no_totals;
}

const struct mt_totals *mt_profile_process(const struct mt_profile *profile, uint32_t process)
{
	return process < profile->n_processes ? &profile->processes[process] : &no_totals;
}
