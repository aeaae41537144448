#include "report/aggregate.h"

#include "common/error.h"
#include "report/aggregate_impl.h"
#include "report/mark_facts.h"
#include "report/session.h"
#include "report/timeline.h"

#include <errno.h>

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
 * How many of the events, which are in the order of their time, are all in the scope or all outside
 * of it, with no mark in between; at least one.
 */
static size_t alike(const struct mt_profile *p, const struct mt_event *events, size_t n,
		    bool *ret_in)
{
	uint64_t first = events[0].time, end = p->mark_time;
	size_t i;

	*ret_in = first >= p->scope.from && first < p->scope.until;
	if (first < p->scope.from && p->scope.from < end)
		end = p->scope.from;
	if (first < p->scope.until && p->scope.until < end)
		end = p->scope.until;
	if (events[n - 1].time < end)
		return n;
	for (i = 1; i < n && events[i].time < end; i++)
		;
	return i;
}

static size_t count_given_up(const struct mt_event *events, size_t n)
{
	size_t i, given_up = 0;

	for (i = 0; i < n; i++)
		given_up += mt_event_gives_up(events[i].type);
	return given_up;
}

static int take_batch(struct mt_profile *p, const struct mt_timeline_batch *batch)
{
	const struct mt_event *events = batch->events, *end = events + batch->n;
	size_t n, counted;
	bool in_scope;
	int err;

	for (; events < end; events += n) {
		if (events->time >= p->mark_time)
			pass_marks(p, events->time);
		n = alike(p, events, (size_t)(end - events), &in_scope);
		counted = n - (batch->gives_up ? count_given_up(events, n) : 0);
		p->totals.events_read += counted;
		if (!in_scope)
			continue;
		p->totals.events += counted;
		err = p->regions ? mt_profile_take_regions(p, events, n) :
				   mt_profile_take_blocks(p, events, n);
		if (err)
			return err;
	}
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
