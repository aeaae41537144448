/* Who is in which address space: lifecycle rows. */
#include "report/aggregate_impl.h"

enum settle { LEAKED, DISCARDED };

/* The last process has left the space by exit (its blocks are leaked) or by exec. */
static void settle_space(struct mt_profile *p, uint32_t space, enum settle how)
{
	mt_profile_settle_blocks(p, space, how == LEAKED);
	if (p->regions)
		mt_profile_settle_regions(p, space, how == LEAKED ? MT_REGION_KEPT :
								      MT_REGION_DISCARDED);
	mt_live_space_gone(&p->live, space);
}

static void enter(struct mt_profile *p, uint32_t process, uint32_t space)
{
	p->space_of[process] = space;
	p->moves++;
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

int mt_profile_take_lifecycle(struct mt_profile *p, const struct mt_lifecycle *row)
{
	uint32_t space, parent;

	switch (row->type) {
	case MT_LC_START:
	case MT_LC_FORK:
		space = mt_session_space(p->session, row->process, row->time);
		if (p->space_of[row->process] == MT_NONE && space != MT_NONE)
			enter(p, row->process, space);
		if (row->parent == MT_NONE || row->type == MT_LC_START || row->shares_memory)
			return 0;
		parent = p->space_of[row->parent];
		if (parent == MT_NONE || space == MT_NONE)
			return 0;
		return mt_live_space_fork(&p->live, parent, space, row->time);
	case MT_LC_EXEC:
		space = mt_session_space(p->session, row->process, row->time);
		if (space == p->space_of[row->process])
			return 0;
		leave(p, row->process, DISCARDED);
		enter(p, row->process, space);
		return 0;
	case MT_LC_EXIT:
		leave(p, row->process, LEAKED);
		return 0;
	case MT_LC_THREAD_EXIT:
		thread_exits(p, row->thread);
		return 0;
	}
	return 0;
}

uint32_t mt_profile_first_space(struct mt_profile *p, const struct mt_thread_state *thread,
				uint64_t time)
{
	uint32_t space = MT_NONE;

	if (thread->process != MT_NONE)
		space = mt_session_space(p->session, thread->process, time);
	if (space == MT_NONE)
		return p->live.n - 1;
	enter(p, thread->process, space);
	return space;
}
