/* Mapped memory: a profile of mmap, munmap, mremap and brk in place of the heap. */
#include "report/aggregate_impl.h"

#include "report/timeline.h"

/* mt_region_gone_fn */
static void region_gone(void *arg, uint32_t stack, uint32_t thread, uint64_t bytes, int regions)
{
	struct mt_profile *p = arg;
	struct mt_share share = { .blocks = (uint64_t)(int64_t)regions, .bytes = bytes };

	mt_profile_change(p, stack, thread, p->fate == MT_REGION_UNMAPPED && regions > 0 ?
			  MT_TALLY_FREED : MT_TALLY_WENT, share);
	p->bytes -= share.bytes;
	p->blocks -= share.blocks;
	p->gone_bytes += bytes;
	if (p->fate == MT_REGION_KEPT) {
		mt_profile_keep(p, stack, thread, mt_share_of(bytes, 0));
	} else if (p->fate == MT_REGION_DISCARDED) {
		p->totals.discarded_blocks++;
		p->totals.discarded_bytes += bytes;
	}
}

int mt_profile_follow_regions(struct mt_profile *p, uint32_t n_spaces)
{
	return mt_regions_new(n_spaces, region_gone, p, &p->regions);
}

static int add_region(struct mt_profile *p, const struct mt_event *event, uint32_t space,
		      uint32_t thread, const struct mt_region_change *change)
{
	struct mt_region region = {
		.start = change->start, .end = change->end, .thread = thread,
	};
	uint64_t bytes = change->end - change->start;
	struct mt_share share = mt_share_of(bytes, 0);
	int err = mt_profile_find_stack(p, event->stack, &region.stack);

	if (err)
		return err;
	p->totals.all.allocations++;
	p->totals.all.allocated_bytes += bytes;
	if (!bytes || p->live.spaces[space].gone) {
		mt_profile_change(p, region.stack, thread, MT_TALLY_CAME, share);
		mt_profile_change(p, region.stack, thread, MT_TALLY_WENT, share);
		if (bytes)
			mt_profile_keep(p, region.stack, thread, share);
		return 0;
	}
	p->fate = MT_REGION_REPLACED;
	err = mt_regions_map(p->regions, space, &region);
	if (err)
		return err;
	mt_profile_change(p, region.stack, thread, MT_TALLY_CAME, share);
	p->bytes += bytes;
	p->blocks++;
	mt_profile_raise_peak(p, event->time);
	return 0;
}

static int remove_regions(struct mt_profile *p, const struct mt_event *event, uint32_t space,
			  const struct mt_region_change *change)
{
	bool freed = event->type != MT_EV_GIVE_UP_REGION;
	int err = 0;

	p->fate = freed ? MT_REGION_UNMAPPED : MT_REGION_REPLACED;
	p->gone_bytes = 0;
	if (!p->live.spaces[space].gone)
		err = mt_regions_unmap(p->regions, space, change->start, change->end);
	if (err)
		return err;
	p->totals.all.frees += freed;
	if (p->gone_bytes)
		return 0;
	/* Of the program itself, of before the recording, or of what a fork copied. */
	if (p->live.spaces[space].linked) {
		p->totals.inherited_frees++;
	} else if (p->disabled) {
		p->totals.disabled_frees++;
		p->totals.all.frees -= freed;
	} else {
		p->totals.unmatched_frees++;
	}
	return 0;
}

static int take_region(struct mt_profile *p, const struct mt_event *event, uint32_t thread_index)
{
	struct mt_region_change change;
	uint32_t space;

	if (mt_region_change_of(event, p->scope.page_size, &change)) {
		p->totals.bad_events += !mt_event_gives_up(event->type);
		return 0;
	}
	space = mt_profile_space_of(p, &p->threads[thread_index], event->time);
	if (change.maps)
		return add_region(p, event, space, thread_index, &change);
	/* The heap's end has moved within its page. */
	if (event->type == MT_EV_BRK && change.start == change.end)
		return 0;
	return remove_regions(p, event, space, &change);
}

/* Of the events that a profile of mapped memory is not about. */
static void pass_over(struct mt_profile *p, const struct mt_event *event)
{
	if (event->type == MT_EV_FREE || mt_event_allocates(event->type))
		p->totals.by_type[event->type]++;
	else if (!mt_event_gives_up(event->type))
		p->totals.bad_events++;
}

int mt_profile_take_regions(struct mt_profile *p, const struct mt_event *events, size_t n)
{
	const struct mt_event *event;
	uint32_t thread;
	int err = 0;

	for (event = events; event < events + n && !err; event++) {
		thread = event->thread < p->n_threads ? event->thread : p->n_threads;
		if (!mt_event_maps(event->type) && event->type != MT_EV_GIVE_UP_REGION) {
			pass_over(p, event);
			continue;
		}
		if (mt_event_maps(event->type))
			p->totals.by_type[event->type]++;
		err = take_region(p, event, thread);
	}
	return err;
}

void mt_profile_settle_regions(struct mt_profile *p, uint32_t space, enum mt_region_fate fate)
{
	p->fate = fate;
	mt_regions_clear(p->regions, space);
}
