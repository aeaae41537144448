#include "report/mark_facts.h"
#include "tests/unit/aggregate_fixture.h"

TestSuite(aggregate, .fini = fini);

Test(aggregate, nothing)
{
	replay();
	expect("all", &totals->all, 0, 0, 0, 0, 0, 0, 0);
	cr_expect_eq(mt_profile_stacks(profile), 0);
	expect("unknown stack", mt_profile_stack(profile, 77), 0, 0, 0, 0, 0, 0, 0);
	expect("unknown thread", mt_profile_thread(profile, 77), 0, 0, 0, 0, 0, 0, 0);
}

Test(aggregate, per_stack_peaks_are_those_of_the_peak_over_all)
{
	start();
	alloc(1, 0, 0x10, 100, 1);
	alloc(2, 0, 0x20, 50, 2);
	release(3, 0, 0x10);
	alloc(4, 0, 0x30, 70, 3);	/* 120 */
	alloc(5, 0, 0x40, 70, 3);	/* 190: the peak: 2 has 50, 3 has 140, 1 nothing */
	release(6, 0, 0x30);
	release(7, 0, 0x40);
	alloc(8, 0, 0x50, 140, 1);	/* 190 again: not higher */
	release(9, 0, 0x20);
	replay();
	expect("all", &totals->all, 5, 430, 4, 1, 140, 3, 190);
	cr_expect_eq(totals->peak_time, 5);
	expect("1", mt_profile_stack(profile, 1), 2, 240, 1, 1, 140, 0, 0);
	expect("2", mt_profile_stack(profile, 2), 1, 50, 1, 0, 0, 1, 50);
	expect("3", mt_profile_stack(profile, 3), 2, 140, 2, 0, 0, 2, 140);
	cr_expect_eq(mt_profile_stacks(profile), 3);
	cr_expect_eq(mt_profile_stack_id(profile, 2), 3);
	expect("thread", mt_profile_thread(profile, 0), 5, 430, 4, 1, 140, 3, 190);
	expect("process", mt_profile_process(profile, 0), 5, 430, 4, 1, 140, 3, 190);
	cr_expect_eq(totals->events, 9);
	cr_expect_eq(totals->by_type[MT_EV_MALLOC], 5);
	cr_expect_eq(totals->by_type[MT_EV_FREE], 4);
}

Test(aggregate, realloc_releases_at_its_begin_and_adds_at_its_end)
{
	start();
	thread(0, 1);
	alloc(1, 0, 0xa0, 100, 1);
	/* Thread 1 is given 0xa0 before thread 0's realloc has returned. */
	alloc(5, 1, 0xa0, 30, 2);
	resize(3, 8, 0, 0xa0, 0xb0, 200, 3);
	release(9, 1, 0xa0);
	replay();
	expect("all", &totals->all, 3, 330, 1, 1, 200, 2, 230);
	expect("1", mt_profile_stack(profile, 1), 1, 100, 0, 0, 0, 0, 0);
	expect("2", mt_profile_stack(profile, 2), 1, 30, 1, 0, 0, 1, 30);
	expect("3", mt_profile_stack(profile, 3), 1, 200, 0, 1, 200, 1, 200);
	cr_expect_eq(totals->conflicts, 0);
	cr_expect_eq(totals->unmatched_frees, 0);
	cr_expect_eq(totals->events, 4);
}

Test(aggregate, realloc_chain_from_nothing_to_nothing)
{
	start();
	resize(1, 1, 0, 0, 0x10, 8, 1);
	resize(2, 3, 0, 0x10, 0x10, 16, 1);
	resize(4, 5, 0, 0x10, 0x90, 32, 2);
	resize(6, 6, 0, 0x90, 0, 0, 2);		/* realloc(p, 0): a free */
	replay();
	expect("all", &totals->all, 3, 56, 1, 0, 0, 1, 32);
	cr_expect_eq(totals->by_type[MT_EV_REALLOC], 4);
	cr_expect_eq(totals->bad_events, 0);
	cr_expect_eq(totals->all.temporary, 1, "nothing was allocated between the last two");
}

Test(aggregate, zero_bytes_are_a_block)
{
	start();
	alloc(1, 0, 0x10, 0, 1);
	alloc(2, 0, 0x20, 0, 1);
	release(3, 0, 0x10);
	replay();
	expect("all", &totals->all, 2, 0, 1, 1, 0, 0, 0);
	cr_expect_eq(totals->peak_time, 0);
}

Test(aggregate, temporary_is_freed_before_its_thread_allocates_again)
{
	start();
	thread(0, 1);
	alloc(1, 0, 0x10, 1, 1);
	release(2, 0, 0x10);		/* temporary */
	alloc(3, 0, 0x10, 1, 1);
	alloc(4, 1, 0x20, 1, 1);	/* another thread does not count */
	release(5, 0, 0x10);		/* temporary */
	alloc(6, 0, 0x30, 1, 1);
	alloc(7, 0, 0x40, 1, 1);
	release(8, 0, 0x30);		/* not */
	release(9, 1, 0x40);		/* not: freed by another thread */
	release(10, 1, 0x20);		/* temporary: thread 1 never allocated again */
	replay();
	cr_expect_eq(totals->all.temporary, 3);
	cr_expect_eq(mt_profile_stack(profile, 1)->temporary, 3);
	cr_expect_eq(mt_profile_thread(profile, 0)->temporary, 2);
	cr_expect_eq(mt_profile_thread(profile, 1)->temporary, 1);
}

Test(aggregate, a_block_belongs_to_who_allocated_it)
{
	start();
	thread(0, 1);
	alloc(1, 0, 0x10, 7, 1);
	release(2, 1, 0x10);
	replay();
	expect("thread 0", mt_profile_thread(profile, 0), 1, 7, 1, 0, 0, 1, 7);
	expect("thread 1", mt_profile_thread(profile, 1), 0, 0, 0, 0, 0, 0, 0);
}

Test(aggregate, an_address_that_is_still_live_was_freed_unseen)
{
	start();
	alloc(1, 0, 0x10, 10, 1);
	alloc(2, 0, 0x10, 30, 2);
	replay();
	expect("all", &totals->all, 2, 40, 0, 1, 30, 1, 30);
	cr_expect_eq(totals->conflicts, 1);
}

Test(aggregate, unknown_threads_and_senseless_events)
{
	start();
	alloc(1, 99, 0x10, 10, 1);
	release(2, 99, 0x10);
	release(3, 0, 0);
	alloc(4, 0, 0, 5, 1);
	events[n_events++] = (struct mt_event){ .type = 77, .time = 5 };
	events[n_events++] = (struct mt_event){ .type = 0, .time = 6 };
	replay();
	expect("all", &totals->all, 1, 10, 1, 0, 0, 1, 10);
	cr_expect_eq(totals->bad_events, 4);
	cr_expect_eq(totals->events, 6);
}

Test(aggregate, stack_ids_are_what_the_file_says)
{
	start();
	alloc(1, 0, 0x10, 1, UINT32_MAX);
	alloc(2, 0, 0x20, 2, 0);
	alloc(3, 0, 0x30, 4, UINT32_MAX);
	replay();
	cr_expect_eq(mt_profile_stacks(profile), 2);
	expect("max", mt_profile_stack(profile, UINT32_MAX), 2, 5, 0, 2, 5, 2, 5);
	expect("none", mt_profile_stack(profile, 0), 1, 2, 0, 1, 2, 1, 2);
}

/* Random runs of three processes against lists that are searched from end to end. */
struct model_block {
	uint64_t addr, size;
	uint32_t space, stack;
	bool copy;
};

Test(aggregate, random_runs_agree_with_lists)
{
	enum { STEPS = 1500, STACKS = 5, SPACES = 3 };
	static struct model_block blocks[3 * STEPS], at_peak[3 * STEPS];
	static struct mt_totals stacks[STACKS];
	uint64_t bytes, sum, inherited, unmatched, allocations;
	size_t n, n_peak, i, j;
	uint32_t seed = 99, round, t, stack, space, spaces;

	for (round = 0; round < 40; round++) {
		n_lc = n_events = n = n_peak = 0;
		bytes = inherited = unmatched = allocations = 0;
		memset(stacks, 0, sizeof(stacks));
		spaces = 1;
		start();
		for (t = 1; t <= STEPS; t++) {
			uint64_t addr, size;

			if (t == 400 || t == 800) {
				/* Every space's first one is process 0's: fork it again. */
				fork_at(t, 0, spaces, false);
				for (i = 0, j = n; i < j; i++)
					if (blocks[i].space == 0) {
						blocks[n] = blocks[i];
						blocks[n].copy = true;
						blocks[n++].space = spaces;
					}
				spaces++;
				continue;
			}
			seed = seed * 1664525 + 1013904223;
			space = (seed >> 28) % spaces;
			addr = 16 + 16 * ((seed >> 8) % 150);
			stack = (seed >> 16) % STACKS;
			size = (seed >> 4) % 1000;
			for (i = 0; i < n; i++)
				if (blocks[i].space == space && blocks[i].addr == addr)
					break;
			if (i < n) {
				release(t, space, addr);
				if (blocks[i].copy)
					inherited++;
				else {
					stacks[blocks[i].stack].frees++;
					bytes -= blocks[i].size;
				}
				blocks[i] = blocks[--n];
			} else if (seed >> 30 == 0) {
				release(t, space, addr);
				unmatched++;
			} else {
				alloc(t, space, addr, size, stack);
				blocks[n++] = (struct model_block){ addr, size, space, stack,
								    false };
				stacks[stack].allocations++;
				stacks[stack].allocated_bytes += size;
				allocations++;
				bytes += size;
				sum = 0;
				for (j = 0; j < n_peak; j++)
					sum += at_peak[j].copy ? 0 : at_peak[j].size;
				if (bytes > sum) {
					memcpy(at_peak, blocks, n * sizeof(*blocks));
					n_peak = n;
				}
			}
		}
		for (j = 0; j < n_peak; j++)
			if (!at_peak[j].copy) {
				stacks[at_peak[j].stack].peak_bytes += at_peak[j].size;
				stacks[at_peak[j].stack].peak_blocks++;
			}
		for (j = 0; j < n; j++)
			if (!blocks[j].copy) {
				stacks[blocks[j].stack].live_bytes += blocks[j].size;
				stacks[blocks[j].stack].live_blocks++;
			}
		replay();
		cr_assert_eq(totals->all.live_bytes, bytes);
		cr_assert_eq(totals->all.allocations, allocations);
		cr_assert_eq(totals->conflicts, 0);
		/* An address used twice around a fork may pass for a copy, never the other way. */
		cr_assert_geq(totals->inherited_frees, inherited);
		cr_assert_eq(totals->inherited_frees + totals->unmatched_frees,
			     inherited + unmatched);
		for (stack = 0; stack < STACKS; stack++)
			expect("model", mt_profile_stack(profile, stack), stacks[stack].allocations,
			       stacks[stack].allocated_bytes, stacks[stack].frees,
			       stacks[stack].live_blocks, stacks[stack].live_bytes,
			       stacks[stack].peak_blocks, stacks[stack].peak_bytes);
	}
}

static struct mt_moment moments[] = {
	{ .time = 5, .type = MT_MARK_NAME, .name = "a", .nth = 1 },
	{ .time = 6, .type = MT_MARK_DISABLE, .name = "" },
	{ .time = 9, .type = MT_MARK_ENABLE, .name = "" },
	{ .time = 10, .type = MT_MARK_NAME, .name = "b", .nth = 1 },
	{ .time = 99, .type = MT_MARK_NAME, .name = "c", .nth = 1 },
};
static struct mt_mark_facts marks = { .rows = moments, .n = MT_ARRAY_SIZE(moments) };

/* Two processes; what the second leaves, what is freed while disabled, what a fork copies. */
static void make_marked(void)
{
	start();
	alloc(1, 0, 0x10, 100, 1);
	fork_at(2, 0, 1, false);
	alloc(3, 1, 0x20, 200, 2);
	alloc(5, 0, 0x30, 400, 1);	/* at the mark: after it */
	release(6, 0, 0x10);
	release(7, 0, 0x90);		/* allocated unseen */
	resize(7, 8, 0, 0x98, 0, 0, 0);	/* the same, by realloc(p, 0) */
	exit_at(9, 1);
	release(9, 0, 0x91);		/* enabled again */
	release(10, 0, 0x30);
	alloc(11, 0, 0x40, 800, 2);
}

Test(aggregate, marks_know_what_was_before_them)
{
	static const struct mt_profile_scope all = { .until = UINT64_MAX, .marks = &marks };

	make_marked();
	scope = &all;
	replay();
	expect("all", &totals->all, 4, 1500, 3, 2, 1000, 1, 800);
	cr_expect_eq(totals->all.peak_bytes, 800);
	cr_expect_eq(totals->unmatched_frees, 1);
	cr_expect_eq(totals->disabled_frees, 2);
	expect("a", &moments[0].totals, 2, 300, 0, 2, 300, 2, 300);
	expect("b", &moments[3].totals, 3, 700, 2, 1, 400, 3, 700);
	expect("c", &moments[4].totals, 4, 1500, 3, 1, 800, 1, 800);
}

Test(aggregate, only_what_is_in_scope_counts)
{
	static const struct mt_profile_scope some = { .from = 5, .until = 10, .marks = &marks };

	make_marked();
	scope = &some;
	replay();
	/* 0x10 is one of before; it was freed while disabled. */
	expect("all", &totals->all, 1, 400, 1, 1, 400, 1, 400);
	cr_expect_eq(totals->unmatched_frees, 1);
	cr_expect_eq(totals->disabled_frees, 3);
	cr_expect_eq(totals->events, 5);
	cr_expect_eq(totals->events_read, n_events);
	expect("1", mt_profile_stack(profile, 1), 1, 400, 0, 1, 400, 1, 400);
	expect("2", mt_profile_stack(profile, 2), 0, 0, 0, 0, 0, 0, 0);
	expect("at a", &moments[0].totals, 0, 0, 0, 0, 0, 0, 0);
	expect("at b", &moments[3].totals, 1, 400, 1, 1, 400, 1, 400);
}
