/*
 * tests/unit/aggregate_fixture.h - a recording in memory, replayed: what it came to.
 */
#ifndef MT_AGGREGATE_FIXTURE_H
#define MT_AGGREGATE_FIXTURE_H

#include <criterion/criterion.h>

#include "report/aggregate.h"
#include "report/session.h"
#include "report/timeline.h"

/* A recording in memory: thread N is the first thread of process N unless said otherwise. */
static struct mt_lifecycle lc[256];
static struct mt_event events[4096];
static size_t n_lc, n_events;
static struct mt_session *session;
static struct mt_profile *profile;
static const struct mt_profile_totals *totals;

static inline void lifecycle(struct mt_lifecycle row)
{
	row.name = row.path = "";
	lc[n_lc++] = row;
}

static inline void thread(uint32_t process, uint32_t index)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD, .process = process, .thread = index,
					 .tid = 500 + index });
}

static inline void start(void)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_START, .pid = 500 });
	thread(0, 0);
}

static inline void fork_at(uint64_t time, uint32_t parent, uint32_t child, bool shares)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_FORK, .time = time, .process = child,
					 .parent = parent, .pid = 500 + child,
					 .shares_memory = shares });
	thread(child, child);
}

static inline void exec_at(uint64_t time, uint32_t process)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_EXEC, .time = time, .process = process });
}

static inline void exit_at(uint64_t time, uint32_t process)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_EXIT, .time = time, .process = process });
}

static inline void alloc(uint64_t time, uint32_t thread_index, uint64_t addr, uint64_t size,
		  uint32_t stack)
{
	events[n_events++] = (struct mt_event){
		.type = MT_EV_MALLOC, .time = time, .begin = time, .addr = addr, .size = size,
		.thread = thread_index, .stack = stack,
	};
}

static inline void release(uint64_t time, uint32_t thread_index, uint64_t addr)
{
	events[n_events++] = (struct mt_event){
		.type = MT_EV_FREE, .time = time, .begin = time, .addr = addr,
		.thread = thread_index,
	};
}

static inline void resize(uint64_t begin, uint64_t time, uint32_t thread_index, uint64_t old,
		   uint64_t addr, uint64_t size, uint32_t stack)
{
	events[n_events++] = (struct mt_event){
		.type = MT_EV_REALLOC, .time = time, .begin = begin, .old_addr = old, .addr = addr,
		.size = size, .thread = thread_index, .stack = stack,
	};
}

static inline int next(void *arg, const struct mt_event **ret_events, size_t *ret_n)
{
	bool *done = arg;

	if (*done)
		return 0;
	*done = true;
	*ret_events = events;
	*ret_n = n_events;
	return 1;
}

static const struct mt_profile_scope *scope;

static inline void replay(void)
{
	struct mt_timeline *timeline;
	bool done = false;

	mt_profile_free(profile);
	mt_session_free(session);
	cr_assert_eq(mt_session_build(lc, n_lc, NULL, 0, &session), 0);
	cr_assert_eq(mt_session_bad_rows(session), 0);
	cr_assert_eq(mt_timeline_new(next, &done, 100000, session, &timeline), 0);
	cr_assert_eq(mt_profile_replay(timeline, session, scope, &profile), 0);
	mt_timeline_free(timeline);
	totals = mt_profile_totals(profile);
}

static inline void expect(const char *what, const struct mt_totals *t, uint64_t allocations,
		   uint64_t bytes, uint64_t frees, uint64_t live_blocks, uint64_t live_bytes,
		   uint64_t peak_blocks, uint64_t peak_bytes)
{
	cr_expect_eq(t->allocations, allocations, "%s: allocations %zu", what, t->allocations);
	cr_expect_eq(t->allocated_bytes, bytes, "%s: bytes %zu", what, t->allocated_bytes);
	cr_expect_eq(t->frees, frees, "%s: frees %zu", what, t->frees);
	cr_expect_eq(t->live_blocks, live_blocks, "%s: live blocks %zu", what, t->live_blocks);
	cr_expect_eq(t->live_bytes, live_bytes, "%s: live bytes %zu", what, t->live_bytes);
	cr_expect_eq(t->peak_blocks, peak_blocks, "%s: peak blocks %zu", what, t->peak_blocks);
	cr_expect_eq(t->peak_bytes, peak_bytes, "%s: peak bytes %zu", what, t->peak_bytes);
}

static inline void fini(void)
{
	mt_profile_free(profile);
	mt_session_free(session);
}

#endif
