#include "report/call_paths.h"
#include "report/completeness.h"
#include "report/ranking.h"
#include "report/session.h"
#include "report/timeline.h"

#include <criterion/criterion.h>

/* One program mapped at two addresses in two processes, a library in the first. */
#define PROG 0x10000ull
#define PROG2 0x50000ull
#define LIB 0x90000ull

static struct mt_session *session;
static struct mt_paths *paths;

static void init(void)
{
	static const struct mt_lifecycle lc[] = {
		{ .type = MT_LC_START, .pid = 1, .name = "", .path = "" },
		{ .type = MT_LC_THREAD, .tid = 1, .name = "", .path = "" },
		{ .type = MT_LC_START, .process = 1, .pid = 2, .name = "", .path = "" },
	};
	static const struct mt_mapping maps[] = {
		{ .type = MT_MAP_MAP, .start = PROG, .end = PROG + 0x1000, .offset = 0x1000,
		  .path = "/bin/prog" },
		{ .type = MT_MAP_MAP, .start = LIB, .end = LIB + 0x1000, .path = "/lib/lib.so" },
		{ .type = MT_MAP_MAP, .process = 1, .start = PROG2, .end = PROG2 + 0x1000,
		  .offset = 0x1000, .path = "/bin/prog" },
	};

	cr_assert_eq(mt_session_build(lc, 3, maps, 3, &session), 0);
	cr_assert_eq(mt_paths_new(session, &paths), 0);
}

static void fini(void)
{
	mt_paths_free(paths);
	mt_session_free(session);
}

TestSuite(call_paths, .init = init, .fini = fini);

/* Frames at these pcs, innermost first, as the unwinder would give them. */
static void add(uint32_t id, uint32_t process, const uint64_t *pcs, size_t n,
		enum mt_unwind_end end)
{
	struct mt_stack stack = { .id = id, .process = process, .time = 5 };
	struct mt_frame frames[8];
	size_t i;

	for (i = 0; i < n; i++)
		frames[i] = (struct mt_frame){
			.pc = pcs[i], .exact = i == 0,
			.placement = mt_session_find(session, process, 5, pcs[i]),
			.source = i ? MT_FRAME_CFI : MT_FRAME_REGISTERS,
		};
	cr_assert_eq(mt_paths_add(paths, &stack, frames, n, end), 0);
}

Test(call_paths, equal_chains_are_one_path_wherever_they_are_mapped)
{
	static const uint64_t a[] = { PROG + 1, PROG + 2 }, b[] = { PROG2 + 1, PROG2 + 2 };
	static const uint64_t c[] = { PROG + 1, PROG + 3 };

	add(1, 0, a, 2, MT_UNWIND_COMPLETE);
	add(7, 1, b, 2, MT_UNWIND_COMPLETE);
	add(3, 0, c, 2, MT_UNWIND_COMPLETE);
	cr_expect_eq(mt_paths_definitions(paths), 3);
	cr_expect_eq(mt_paths_count(paths), 2);
	cr_expect_eq(mt_paths_of_stack(paths, 1), mt_paths_of_stack(paths, 7));
	cr_expect_neq(mt_paths_of_stack(paths, 1), mt_paths_of_stack(paths, 3));
	cr_expect_eq(mt_paths_of_stack(paths, 2), MT_PATHS_NONE);
	cr_expect_eq(mt_paths_calls(paths), 3);
	cr_expect_eq(mt_paths_call(paths, 0)->offset, 0x1002, "the outermost comes first");
}

Test(call_paths, how_a_stack_ends_is_part_of_the_path)
{
	static const uint64_t a[] = { PROG + 1, PROG + 2 };

	add(1, 0, a, 2, MT_UNWIND_COMPLETE);
	add(2, 0, a, 2, MT_UNWIND_TRUNCATED);
	add(3, 0, a, 0, MT_UNWIND_EMPTY);
	add(4, 0, a, 0, MT_UNWIND_EMPTY);
	cr_expect_eq(mt_paths_count(paths), 3);
	cr_expect_eq(mt_paths_ends(paths, MT_UNWIND_COMPLETE), 1);
	cr_expect_eq(mt_paths_ends(paths, MT_UNWIND_TRUNCATED), 1);
	cr_expect_eq(mt_paths_ends(paths, MT_UNWIND_EMPTY), 2);
	cr_expect_eq(mt_paths_at(paths, mt_paths_of_stack(paths, 4))->leaf, MT_PATHS_NONE);
}

Test(call_paths, the_first_definition_of_an_id_counts)
{
	static const uint64_t a[] = { PROG + 1, PROG + 2 }, b[] = { PROG + 8, PROG + 9 };

	add(1, 0, a, 2, MT_UNWIND_COMPLETE);
	add(1, 0, b, 2, MT_UNWIND_TRUNCATED);
	cr_expect_eq(mt_paths_definitions(paths), 1);
	cr_expect_eq(mt_paths_redefinitions(paths), 1);
	cr_expect_eq(mt_paths_ends(paths, MT_UNWIND_TRUNCATED), 0);
}

Test(call_paths, outer_calls_are_shared)
{
	static const uint64_t a[] = { PROG + 1, PROG + 2, PROG + 3 };
	static const uint64_t b[] = { LIB + 1, PROG + 2, PROG + 3 };
	const struct mt_path_node *x, *y;

	add(1, 0, a, 3, MT_UNWIND_COMPLETE);
	add(2, 0, b, 3, MT_UNWIND_COMPLETE);
	x = mt_paths_node(paths, mt_paths_at(paths, 0)->leaf);
	y = mt_paths_node(paths, mt_paths_at(paths, 1)->leaf);
	cr_expect_neq(x->call, y->call);
	cr_expect_eq(x->parent, y->parent);
	cr_expect_eq(mt_paths_node(paths, mt_paths_node(paths, x->parent)->parent)->parent,
		     MT_PATHS_NONE);
}

Test(call_paths, pcs_outside_all_mappings_are_calls_too)
{
	static const uint64_t a[] = { PROG + 1, 0x3 }, b[] = { PROG + 1, 0x4 };

	add(1, 0, a, 2, MT_UNWIND_NO_MODULE);
	add(2, 0, b, 2, MT_UNWIND_NO_MODULE);
	add(3, 1, b, 1, MT_UNWIND_NO_MODULE);	/* process 1 has nothing there */
	cr_expect_eq(mt_paths_count(paths), 3);
	cr_expect_eq(mt_paths_call(paths, 0)->file, MT_PATHS_NONE);
	cr_expect_eq(mt_paths_call(paths, 0)->offset, 3);
}

Test(call_paths, completeness_names_what_to_do_and_who_is_to_blame)
{
	static const uint64_t lib[] = { PROG + 1, LIB + 2 }, prog[] = { LIB + 1, PROG + 2 };
	struct mt_ranked_path rows[5] = {
		{ .path = 0, .totals = { .allocations = 992 } },
		{ .path = 1, .totals = { .allocations = 5 } },
		{ .path = 2, .totals = { .allocations = 2 } },
		{ MT_RANKED_NO_STACK, MT_PATHS_NONE, { .allocations = 1 } },
		{ MT_RANKED_UNDEFINED, MT_PATHS_NONE, { .allocations = 0 } },
	};
	struct mt_completeness completeness;
	char *text = NULL;
	size_t len;
	FILE *out;

	add(1, 0, prog, 2, MT_UNWIND_COMPLETE);
	add(2, 0, prog, 2, MT_UNWIND_TRUNCATED);
	add(3, 0, lib, 2, MT_UNWIND_NO_CFI);
	mt_completeness_count(rows, 5, paths, session, 4096, &completeness);
	cr_expect_eq(completeness.definitions, 3);
	cr_expect_eq(completeness.distinct, 3);
	cr_expect_eq(completeness.allocations, 1000);
	out = open_memstream(&text, &len);
	mt_completeness_put(&completeness, out);
	fclose(out);
	cr_expect_str_eq(text, "99.2 % of stacks complete; 0.5 % truncated at 4096 bytes (raise "
			       "--stack-size); 0.2 % no unwind information (lib.so); 0.1 % without "
			       "a stack");
	free(text);
}

/* Stack ids of one path are added up; what has no stack or a lost one is kept apart. */
static const struct mt_event events[] = {
	{ .type = MT_EV_MALLOC, .time = 1, .begin = 1, .addr = 0x10, .size = 30, .stack = 1 },
	{ .type = MT_EV_MALLOC, .time = 2, .begin = 2, .addr = 0x20, .size = 40, .stack = 2 },
	{ .type = MT_EV_MALLOC, .time = 3, .begin = 3, .addr = 0x30, .size = 70, .stack = 3 },
	{ .type = MT_EV_FREE, .time = 4, .begin = 4, .addr = 0x30 },
	{ .type = MT_EV_MALLOC, .time = 5, .begin = 5, .addr = 0x40, .size = 5, .stack = 0 },
	{ .type = MT_EV_MALLOC, .time = 6, .begin = 6, .addr = 0x50, .size = 6, .stack = 99 },
	{ .type = MT_EV_MALLOC, .time = 7, .begin = 7, .addr = 0x60, .size = 1, .stack = 3 },
};

static int next(void *arg, const struct mt_event **ret_events, size_t *ret_n)
{
	bool *done = arg;

	*ret_events = events;
	*ret_n = MT_ARRAY_SIZE(events);
	*done = !*done;
	return *done;
}

Test(call_paths, ranking_by_each_weight)
{
	static const uint64_t a[] = { PROG + 1, PROG + 2 }, b[] = { PROG + 1, PROG + 3 };
	static const enum mt_by order[] = { MT_BY_BYTES, MT_BY_COUNT, MT_BY_PEAK, MT_BY_LIVE };
	/* Bytes: b 71, a 70. Count: both 2, a was defined first. Peak (140): b 70, a 70. */
	static const uint32_t first[] = { 1, 0, 0, 0 };
	struct mt_ranked_path *rows;
	struct mt_timeline *timeline;
	struct mt_profile *profile;
	bool done = false;
	size_t n, i;

	add(1, 0, a, 2, MT_UNWIND_COMPLETE);
	add(2, 0, a, 2, MT_UNWIND_COMPLETE);
	add(3, 0, b, 2, MT_UNWIND_COMPLETE);
	cr_assert_eq(mt_timeline_new(next, &done, 0, session, &timeline), 0);
	cr_assert_eq(mt_profile_replay(timeline, session, NULL, &profile), 0);
	for (i = 0; i < MT_ARRAY_SIZE(order); i++) {
		cr_assert_eq(mt_rank_paths(profile, paths, order[i], &rows, &n), 0);
		cr_assert_eq(n, 4);
		cr_expect_eq(rows[0].path, first[i]);
		cr_expect_eq(rows[0].totals.allocations, 2);
		free(rows);
	}
	cr_assert_eq(mt_rank_paths(profile, paths, MT_BY_BYTES, &rows, &n), 0);
	cr_expect_eq(rows[2].kind, MT_RANKED_UNDEFINED);
	cr_expect_eq(rows[2].totals.allocated_bytes, 6);
	cr_expect_eq(rows[3].kind, MT_RANKED_NO_STACK);
	cr_expect_eq(rows[3].totals.live_bytes, 5);
	free(rows);
	mt_profile_free(profile);
	mt_timeline_free(timeline);
}

Test(ranking, allocators_by_name)
{
	static const char *const yes[] = { "malloc", "__libc_malloc", "__GI___libc_malloc",
		"operator new(unsigned long)", "operator new[](unsigned long)", "posix_memalign",
		"__rust_alloc" };
	static const char *const no[] = { "xmalloc", "main", "malloc_consolidate", "newt",
		"operator()", "", "g_malloc" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(yes); i++)
		cr_expect(mt_is_allocator(yes[i]), "%s", yes[i]);
	for (i = 0; i < MT_ARRAY_SIZE(no); i++)
		cr_expect_not(mt_is_allocator(no[i]), "%s", no[i]);
}
