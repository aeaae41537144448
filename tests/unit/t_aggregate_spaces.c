/* Totals of processes that fork, execute and end. */
#include "tests/unit/aggregate_fixture.h"

TestSuite(aggregate_spaces, .fini = fini);

Test(aggregate_spaces, exit_leaks_what_is_live_and_ends_its_share_of_the_sum)
{
	start();
	fork_at(2, 0, 1, false);
	alloc(3, 1, 0x10, 100, 1);
	exit_at(4, 1);
	alloc(5, 0, 0x10, 80, 2);
	replay();
	/* Never 180 at once. */
	expect("all", &totals->all, 2, 180, 0, 2, 180, 1, 100);
	expect("child", mt_profile_process(profile, 1), 1, 100, 0, 1, 100, 1, 100);
	expect("parent", mt_profile_process(profile, 0), 1, 80, 0, 1, 80, 0, 0);
	cr_expect_eq(totals->conflicts, 0, "another space");
}

Test(aggregate_spaces, exec_discards)
{
	start();
	alloc(1, 0, 0x10, 100, 1);
	alloc(2, 0, 0x20, 1, 1);
	exec_at(3, 0);
	alloc(4, 0, 0x10, 60, 2);
	replay();
	expect("all", &totals->all, 3, 161, 0, 1, 60, 2, 101);
	expect("1", mt_profile_stack(profile, 1), 2, 101, 0, 0, 0, 2, 101);
	cr_expect_eq(totals->discarded_blocks, 2);
	cr_expect_eq(totals->discarded_bytes, 101);
	cr_expect_eq(totals->conflicts, 0);
}

Test(aggregate_spaces, copies_of_a_fork_are_recognized)
{
	start();
	alloc(1, 0, 0x10, 100, 1);
	alloc(2, 0, 0x20, 50, 1);
	fork_at(3, 0, 1, false);
	alloc(4, 0, 0x30, 1, 1);	/* after the fork: not the child's */
	release(5, 0, 0x10);		/* the parent's own; the child's copy is still there */
	release(6, 1, 0x10);		/* inherited */
	release(7, 1, 0x20);		/* inherited; the parent's 0x20 stays live */
	release(8, 1, 0x30);		/* unmatched */
	release(9, 1, 0x99);		/* unmatched */
	replay();
	expect("all", &totals->all, 3, 151, 5, 2, 51, 3, 151);
	cr_expect_eq(totals->inherited_frees, 2);
	cr_expect_eq(totals->unmatched_frees, 2);
}

Test(aggregate_spaces, realloc_of_a_copy_is_a_new_block_of_the_child)
{
	start();
	alloc(1, 0, 0x10, 100, 1);
	fork_at(3, 0, 1, false);
	resize(4, 5, 1, 0x10, 0x40, 300, 2);
	release(6, 1, 0x40);
	replay();
	expect("all", &totals->all, 2, 400, 1, 1, 100, 2, 400);
	cr_expect_eq(totals->inherited_frees, 1);
	cr_expect_eq(totals->unmatched_frees, 0);
}

Test(aggregate_spaces, copies_outlive_the_parent_and_its_exec)
{
	start();
	alloc(1, 0, 0x10, 10, 1);
	fork_at(2, 0, 1, false);
	alloc(3, 1, 0x20, 10, 1);
	fork_at(4, 1, 2, false);
	exit_at(5, 0);
	exec_at(6, 1);
	release(7, 2, 0x10);	/* from the grandparent, which is gone */
	release(8, 2, 0x20);	/* from the parent, which runs something else */
	release(9, 1, 0x10);	/* a new program: no copies */
	replay();
	cr_expect_eq(totals->inherited_frees, 2);
	cr_expect_eq(totals->unmatched_frees, 1);
	cr_expect_eq(totals->discarded_blocks, 1);
	cr_expect_eq(totals->all.live_blocks, 1);
}

Test(aggregate_spaces, what_was_freed_before_a_fork_is_no_copy)
{
	start();
	alloc(1, 0, 0x10, 10, 1);
	fork_at(2, 0, 1, false);
	release(3, 0, 0x10);
	fork_at(4, 0, 2, false);
	release(5, 2, 0x10);
	release(6, 1, 0x10);
	replay();
	cr_expect_eq(totals->inherited_frees, 1);
	cr_expect_eq(totals->unmatched_frees, 1);
}

Test(aggregate_spaces, clone_vm_child_is_the_same_space_until_it_executes)
{
	start();
	alloc(1, 0, 0x10, 10, 1);
	fork_at(2, 0, 1, true);
	release(3, 1, 0x10);		/* really freed */
	alloc(4, 1, 0x20, 20, 2);
	exec_at(5, 1);			/* the parent still has 0x20 */
	alloc(6, 1, 0x20, 5, 3);
	release(7, 0, 0x20);
	exit_at(8, 1);
	replay();
	expect("all", &totals->all, 3, 35, 2, 1, 5, 2, 25);
	cr_expect_eq(totals->inherited_frees, 0);
	cr_expect_eq(totals->unmatched_frees, 0);
	cr_expect_eq(totals->discarded_blocks, 0);
	expect("child", mt_profile_process(profile, 1), 2, 25, 1, 1, 5, 2, 25);
}

Test(aggregate_spaces, events_after_an_exit_change_no_sum_but_the_leaks)
{
	start();
	alloc(1, 0, 0x10, 10, 1);
	exit_at(2, 0);
	alloc(3, 0, 0x20, 5, 1);
	release(4, 0, 0x10);
	replay();
	expect("all", &totals->all, 2, 15, 1, 2, 15, 1, 10);
	cr_expect_eq(totals->unmatched_frees, 1);
}

Test(aggregate_spaces, glibc_empties_a_threads_cache_as_it_ends)
{
	start();
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD, .process = 0, .thread = 1,
					 .tid = 501, .name = "", .path = "" });
	alloc(1, 1, 0x10, 10, 1);
	alloc(2, 1, 0x20, 10, 1);
	release(3, 1, 0x99);		/* never seen: the program's own */
	release(4, 1, 0x10);
	release(5, 1, 0x20);
	release(6, 1, 0x20);		/* out of the cache */
	release(7, 1, 0x10);
	release(8, 1, 0x77);		/* the cache itself */
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD_EXIT, .time = 9, .thread = 1,
					 .name = "", .path = "" });
	release(10, 0, 0x88);
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD_EXIT, .time = 11, .thread = 0,
					 .name = "", .path = "" });
	replay();
	cr_expect_eq(totals->all.frees, 4);
	cr_expect_eq(totals->cache_frees, 3);
	cr_expect_eq(totals->unmatched_frees, 2);
}

/* An exec behind the scope discards nothing; one within it does. */
Test(aggregate_spaces, processes_go_on_behind_the_scope)
{
	static const struct mt_profile_scope before = { .from = 2, .until = 20 };
	static const struct mt_profile_scope over = { .from = 2, .until = 30 };

	start();
	alloc(1, 0, 0x10, 100, 1);
	alloc(3, 0, 0x20, 200, 1);
	exec_at(20, 0);
	alloc(21, 0, 0x20, 7, 1);
	scope = &before;
	replay();
	expect("before", &totals->all, 1, 200, 0, 1, 200, 1, 200);
	cr_expect_eq(totals->discarded_blocks, 0);
	scope = &over;
	replay();
	expect("over", &totals->all, 2, 207, 0, 1, 7, 1, 200);
	cr_expect_eq(totals->discarded_blocks, 1);
}
