#include "report/aggregate.h"

#include "common/error.h"
#include "report/aggregate_impl.h"
#include "report/mark_facts.h"
#include "report/session.h"
#include "report/timeline.h"

#include <errno.h>

#define PREFETCH 16	/* events ahead */

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
		return mt_profile_release_block(p, event, thread, !event->old_addr);
	case MT_EV_FREE:
		p->totals.by_type[event->type]++;
		if (event->addr)
			return mt_profile_release_block(p, event, thread, true);
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
			return mt_profile_add_block(p, event, thread);
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

/*
 * Live blocks are more than the caches hold: where an event will look is fetched early. NULL, or
 * what to fetch, of which there are two cache lines: __builtin_prefetch() takes anything, and GCC
 * leaves out the call of a function that only prefetches.
 */
static inline const struct mt_live_bucket *bucket_of(const struct mt_profile *p,
						     const struct mt_event *event)
{
	uint32_t thread = event->thread < p->n_threads ? event->thread : p->n_threads;
	uint32_t process = p->threads[thread].process;
	uint32_t space = process == MT_NONE ? p->live.n - 1 : p->space_of[process];
	const struct mt_live_table *table;

	if (space == MT_NONE)
		return NULL;
	table = &p->live.spaces[space].blocks;
	return table->buckets ? mt_live_table_home(table, event->addr) : NULL;
}

static int take_batch(struct mt_profile *p, const struct mt_timeline_batch *batch)
{
	const struct mt_live_bucket *bucket;
	const struct mt_event *event;
	size_t i;
	int err;

	for (i = 0; i < batch->n; i++) {
		event = &batch->events[i];
		if (batch->n - i > PREFETCH) {
			bucket = bucket_of(p, event + PREFETCH);
			__builtin_prefetch(bucket, 1);
			__builtin_prefetch((const char *)bucket + MT_CACHE_LINE, 1);
		}
		if (event->time >= p->mark_time)
			pass_marks(p, event->time);
		p->totals.events_read += !mt_event_gives_up(event->type);
		if (event->time < p->scope.from || event->time >= p->scope.until)
			continue;
		p->totals.events += !mt_event_gives_up(event->type);
		err = take_event(p, event);
		if (err)
			return err;
	}
	mt_profile_settle_changes(p);
	if (!batch->lifecycle || batch->lifecycle->time >= p->scope.until)
		return 0;
	pass_marks(p, batch->lifecycle->time);
	return mt_profile_take_lifecycle(p, batch->lifecycle);
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
