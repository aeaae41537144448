#include "report/session.h"
#include "report/timeline.h"

#include <criterion/criterion.h>
#include <errno.h>

/* A source that hands out an array in pieces of `piece`. */
struct source {
	const struct mt_event *events;
	size_t n, at, piece;
	int error;	/* returned after the last piece */
};

static int next(void *arg, const struct mt_event **ret_events, size_t *ret_n)
{
	struct source *source = arg;
	size_t n = source->n - source->at;

	if (!n)
		return source->error;
	if (n > source->piece)
		n = source->piece;
	*ret_events = source->events + source->at;
	*ret_n = n;
	source->at += n;
	return 1;
}

/* Delivered events in one array, lifecycle rows as marks: type 100 + row type. */
static struct mt_event *out;
static size_t n_out, cap_out;
static uint64_t late;
static bool gave_up;		/* some batch was said to have such events */

static void deliver(struct mt_event event)
{
	if (n_out == cap_out) {
		cap_out = cap_out ? cap_out * 2 : 64;
		out = realloc(out, cap_out * sizeof(*out));
	}
	out[n_out++] = event;
}

static int run(const struct mt_event *events, size_t n, size_t piece, uint64_t lag,
	       const struct mt_session *session, int error)
{
	struct source source = { events, n, 0, piece, error };
	struct mt_timeline_batch batch;
	struct mt_timeline *timeline;
	size_t i;
	int err;

	n_out = 0;
	gave_up = false;
	cr_assert_eq(mt_timeline_new(next, &source, lag, session, &timeline), 0);
	for (;;) {
		err = mt_timeline_next(timeline, &batch);
		if (err <= 0)
			break;
		gave_up |= batch.gives_up;
		for (i = 0; i < batch.n; i++) {
			cr_assert(batch.gives_up || !mt_event_gives_up(batch.events[i].type));
			deliver(batch.events[i]);
		}
		if (batch.lifecycle)
			deliver((struct mt_event){ .time = batch.lifecycle->time,
						   .type = 100 + batch.lifecycle->type });
	}
	late = mt_timeline_late(timeline);
	mt_timeline_free(timeline);
	return err;
}

static struct mt_event add(uint64_t time, uint64_t addr)
{
	return (struct mt_event){ .type = MT_EV_MALLOC, .time = time, .begin = time,
				  .addr = addr, .size = 1 };
}

static void fini(void)
{
	free(out);
}

TestSuite(timeline, .fini = fini);

Test(timeline, nothing)
{
	cr_expect_eq(run(NULL, 0, 1, 0, NULL, 0), 0);
	cr_expect_eq(n_out, 0);
}

Test(timeline, an_error_of_the_source_is_passed_on)
{
	struct mt_event events[] = { add(1, 1) };

	cr_expect_eq(run(events, 1, 1, 0, NULL, -EIO), -EIO);
}

Test(timeline, sorts_within_the_lag_and_keeps_ties_in_file_order)
{
	struct mt_event events[] = { add(50, 1), add(20, 2), add(50, 3), add(30, 4), add(80, 5),
				     add(50, 6) };
	static const uint64_t want[] = { 2, 4, 1, 3, 6, 5 };
	size_t i, piece;

	for (piece = 1; piece <= 6; piece++) {
		cr_assert_eq(run(events, 6, piece, 30, NULL, 0), 0);
		cr_assert_eq(n_out, 6);
		for (i = 0; i < 6; i++)
			cr_expect_eq(out[i].addr, want[i]);
		cr_expect_eq(late, 0);
		cr_expect_not(gave_up);
	}
}

Test(timeline, realloc_is_a_release_and_an_addition)
{
	struct mt_event events[] = {
		add(10, 0xa0),
		{ .type = MT_EV_MALLOC, .time = 25, .addr = 0xa0, .size = 5, .thread = 1 },
		{ .type = MT_EV_REALLOC, .time = 30, .begin = 20, .old_addr = 0xa0, .addr = 0xb0,
		  .size = 9, .stack = 3 },
		{ .type = MT_EV_REALLOC, .time = 40, .begin = 40, .addr = 0xc0, .size = 9 },
	};

	cr_assert_eq(run(events, 4, 4, 10, NULL, 0), 0);
	cr_assert_eq(n_out, 5, "realloc of nothing releases nothing");
	cr_expect_eq(out[1].type, MT_EV_GIVE_UP);
	cr_expect_eq(out[1].time, 20);
	cr_expect_eq(out[1].addr, 0xa0);
	cr_expect_eq(out[1].old_addr, 0xb0);
	cr_expect_eq(out[2].thread, 1, "another thread got the old address in between");
	cr_expect_eq(out[3].type, MT_EV_REALLOC);
	cr_expect_eq(out[3].time, 30);
	cr_expect_eq(out[3].begin, 20);
	cr_expect_eq(out[3].old_addr, 0xa0);
	cr_expect_eq(out[4].addr, 0xc0);
}

Test(timeline, realloc_in_no_time_releases_first)
{
	struct mt_event events[] = {
		{ .type = MT_EV_REALLOC, .time = 30, .begin = 30, .old_addr = 1, .addr = 1 },
	};

	cr_assert_eq(run(events, 1, 1, 0, NULL, 0), 0);
	cr_assert_eq(n_out, 2);
	cr_expect_eq(out[0].type, MT_EV_GIVE_UP);
	cr_expect_eq(out[1].type, MT_EV_REALLOC);
}

Test(timeline, lifecycle_rows_stand_where_they_happened)
{
	struct mt_lifecycle rows[] = {
		{ .type = MT_LC_START, .time = 5, .name = "", .path = "" },
		{ .type = MT_LC_FORK, .time = 20, .process = 1, .name = "", .path = "" },
		{ .type = MT_LC_EXIT, .time = 20, .name = "", .path = "" },
		{ .type = MT_LC_EXIT, .time = 99, .process = 1, .name = "", .path = "" },
	};
	struct mt_event events[] = { add(20, 2), add(1, 1), add(30, 3) };
	/* A birth comes before the events of its moment, a death after them. */
	static const unsigned int want[] = { MT_EV_MALLOC, 100 + MT_LC_START, 100 + MT_LC_FORK,
					     MT_EV_MALLOC, 100 + MT_LC_EXIT, MT_EV_MALLOC,
					     100 + MT_LC_EXIT };
	struct mt_session *session;
	size_t i, piece;

	cr_assert_eq(mt_session_build(rows, 4, NULL, 0, &session), 0);
	for (piece = 1; piece <= 3; piece++) {
		cr_assert_eq(run(events, 3, piece, 50, session, 0), 0);
		cr_assert_eq(n_out, 7);
		for (i = 0; i < n_out; i++)
			cr_expect_eq(out[i].type, want[i]);
	}
	mt_session_free(session);
}

Test(timeline, a_lag_that_is_not_true_is_noticed_not_fatal)
{
	static struct mt_event events[40000];
	size_t i;

	for (i = 0; i < 40000; i++)
		events[i] = add(1000 + i * 10, i + 1);
	events[39999] = add(3, 99);
	cr_assert_eq(run(events, 40000, 40000, 10, NULL, 0), 0);
	cr_expect_eq(n_out, 40000);
	cr_expect_eq(late, 1);
}

Test(timeline, an_unknown_lag_is_a_second)
{
	struct mt_event events[] = { add(2000000000, 1), add(1000000001, 2) };

	cr_assert_eq(run(events, 2, 1, UINT64_MAX, NULL, 0), 0);
	cr_expect_eq(out[0].addr, 2);
	cr_expect_eq(late, 0);
}

Test(timeline, a_window_that_nothing_closes_is_bounded)
{
	enum { N = 3000000 };
	struct mt_event *events = calloc(N, sizeof(*events));
	size_t i;

	/* All stamps within the lag: nothing is ever certain. */
	for (i = 0; i < N; i++)
		events[i] = add(5 + i, i + 1);
	cr_assert_eq(run(events, N, 250000, UINT64_MAX - 1, NULL, 0), 0);
	cr_expect_eq(n_out, N);
	cr_expect_eq(late, 0);
	free(events);
}

/* Random stamps within a random lag, against a plain stable sort. */
static int by_time_then_file(const void *a, const void *b)
{
	const struct mt_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

Test(timeline, random_streams_agree_with_a_stable_sort)
{
	enum { N = 60000 };
	struct mt_event *events = calloc(N, sizeof(*events));
	uint32_t seed = 1, round;
	uint64_t lag;
	size_t i;

	for (round = 0; round < 12; round++) {
		lag = 1ull << (2 * round);
		for (i = 0; i < N; i++) {
			seed = seed * 1664525 + 1013904223;
			events[i] = add((1u << 23) + i * 3 - (seed >> 8) % (lag + 1), i + 1);
			events[i].size = i;
		}
		cr_assert_eq(run(events, N, 777, lag + 1, NULL, 0), 0);
		cr_assert_eq(n_out, N);
		cr_expect_eq(late, 0);
		qsort(events, N, sizeof(*events), by_time_then_file);
		for (i = 0; i < N; i++)
			cr_assert(out[i].addr == events[i].addr && out[i].time == events[i].time);
	}
	free(events);
}
