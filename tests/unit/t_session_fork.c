/* Whose memory is whose after fork, vfork and clone. */
#include "report/session.h"

#include "tests/unit/session_fixture.h"

TestSuite(session_fork, .fini = fini);

Test(session_fork, fork_inherits_and_then_each_goes_its_own_way)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	map(10, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/z");
	fork_at(20, 0, 1, false);
	unmap(30, 0, LIB, LIB + 0x1000);
	map(40, 1, LIB, LIB + 0x800, 0, "/b");
	map(50, 0, 3 * LIB, 3 * LIB + 0x1000, 0, "/parents");
	build();
	EXPECT_AT(1, 25, LIB, "/a", 0);
	EXPECT_AT(1, 35, LIB, "/a", 0);
	EXPECT_AT(0, 35, LIB, "", 0);
	EXPECT_AT(1, 45, LIB, "/b", 0);
	EXPECT_AT(1, 45, LIB + 0x800, "/a", 0x800);
	EXPECT_AT(0, 45, LIB, "", 0);
	EXPECT_AT(0, 55, 3 * LIB, "/parents", 0);
	EXPECT_AT(1, 55, 3 * LIB, "", 0);
	EXPECT_AT(1, 55, 2 * LIB, "/z", 0);
	cr_expect_neq(mt_session_space(session, 0, 25), mt_session_space(session, 1, 25));
	cr_expect_eq(mt_session_space_parent(session, mt_session_space(session, 1, 25)),
		     mt_session_space(session, 0, 25));
}

Test(session_fork, inherited_placements_are_listed_for_the_child)
{
	uint32_t i, n = 0;
	const struct mt_placement *p;

	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	map(10, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/z");
	fork_at(20, 0, 1, false);
	unmap(40, 1, LIB, LIB + 0x1000);
	exit_at(60, 0);
	exit_at(70, 1);
	build();
	for (i = 0; i < mt_session_placements(session); i++) {
		p = mt_session_placement(session, i);
		if (p->process != 1) {
			cr_expect_eq(p->until, 60);
			continue;
		}
		n++;
		cr_expect_eq(p->from, 20);
		cr_expect_eq(p->until, p->start == LIB ? 40 : 70);
	}
	cr_expect_eq(n, 2);
}

Test(session_fork, shared_placements_are_listed_for_the_child)
{
	/* From and until, as the child sees them. */
	static const struct { uint64_t start, from, until; } want[] = {
		{ LIB, 20, 40 }, { 2 * LIB, 20, 60 }, { 3 * LIB, 30, 60 }, { LIB, 45, 60 },
		{ LIB, 61, 70 },
	};
	const struct mt_placement *p;
	uint32_t i, k, n = 0;

	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	map(10, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/z");
	map(11, 0, 4 * LIB, 4 * LIB + 0x1000, 0, "/gone-before");
	unmap(15, 0, 4 * LIB, 4 * LIB + 0x1000);
	fork_at(20, 0, 1, true);
	map(30, 1, 3 * LIB, 3 * LIB + 0x1000, 0, "/by-child");
	unmap(40, 0, LIB, LIB + 0x1000);
	map(45, 0, LIB, LIB + 0x1000, 0, "/by-parent");
	clear(60, 1);
	map(61, 1, LIB, LIB + 0x1000, 0, "/bin/other");
	exec_at(62, 1, "/bin/other");
	map(65, 0, 4 * LIB, 4 * LIB + 0x1000, 0, "/after");
	exit_at(70, 1);
	build();
	for (i = 0; i < mt_session_placements(session); i++) {
		p = mt_session_placement(session, i);
		if (p->process != 1)
			continue;
		n++;
		for (k = 0; k < sizeof(want) / sizeof(*want); k++)
			if (want[k].start == p->start && want[k].from == p->from)
				break;
		cr_assert_lt(k, sizeof(want) / sizeof(*want), "%lx from %lu", p->start, p->from);
		cr_expect_eq(p->until, want[k].until, "%lx from %lu", p->start, p->from);
	}
	cr_expect_eq(n, sizeof(want) / sizeof(*want));
}

Test(session_fork, clone_vm_child_shares_until_it_executes)
{
	const struct mt_placement *placement;

	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	fork_at(20, 0, 1, true);
	map(30, 1, 2 * LIB, 2 * LIB + 0x1000, 0, "/by-child");
	clear(40, 1);
	map(41, 1, LIB, LIB + 0x1000, 0, "/bin/other");
	exec_at(42, 1, "/bin/other");
	map(50, 0, 3 * LIB, 3 * LIB + 0x1000, 0, "/later");
	build();
	EXPECT_AT(1, 25, LIB, "/a", 0);
	EXPECT_AT(0, 35, 2 * LIB, "/by-child", 0);
	cr_expect_eq(mt_session_space(session, 0, 35), mt_session_space(session, 1, 35));
	EXPECT_AT(1, 45, LIB, "/bin/other", 0);
	EXPECT_AT(1, 45, 2 * LIB, "", 0);
	EXPECT_AT(0, 45, LIB, "/a", 0);
	EXPECT_AT(0, 45, 2 * LIB, "/by-child", 0);
	EXPECT_AT(1, 55, 3 * LIB, "", 0);
	EXPECT_AT(0, 55, 3 * LIB, "/later", 0);
	placement = mt_session_placement(session, mt_session_find(session, 0, 35, 2 * LIB));
	cr_expect_eq(placement->process, 0, "listed for the owner of the space");
}

Test(session_fork, shared_space_outlives_the_process_that_made_it)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	fork_at(20, 0, 1, true);
	exit_at(30, 0);
	map(40, 1, 2 * LIB, 2 * LIB + 0x1000, 0, "/b");
	exit_at(50, 1);
	build();
	EXPECT_AT(1, 45, LIB, "/a", 0);
	EXPECT_AT(1, 45, 2 * LIB, "/b", 0);
	cr_expect_eq(mt_session_placement(session, 0)->until, 50);
}

Test(session_fork, a_reused_pid_is_another_process)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	fork_at(20, 0, 1, false);
	clear(21, 1);
	map(22, 1, 2 * LIB, 2 * LIB + 0x1000, 0, "/b");
	exec_at(23, 1, "/b");
	exit_at(30, 1);
	fork_at(40, 0, 2, false);
	lc[n_lc - 1].pid = 101;
	build();
	cr_expect_eq(mt_session_process(session, 1)->pid, mt_session_process(session, 2)->pid);
	EXPECT_AT(1, 25, 2 * LIB, "/b", 0);
	EXPECT_AT(2, 45, 2 * LIB, "", 0);
	EXPECT_AT(2, 45, LIB, "/a", 0);
	cr_expect_eq(mt_session_process(session, 1)->end, 30);
	cr_expect(mt_session_process(session, 1)->exited);
	cr_expect_eq(mt_session_process(session, 1)->status, 256);
	cr_expect_eq(mt_session_process(session, 2)->end, UINT64_MAX);
}

Test(session_fork, grandchild_sees_what_was_mapped_before_the_forks)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	fork_at(20, 0, 1, false);
	map(30, 1, 2 * LIB, 2 * LIB + 0x1000, 0, "/b");
	fork_at(40, 1, 2, false);
	map(50, 1, 3 * LIB, 3 * LIB + 0x1000, 0, "/c");
	build();
	EXPECT_AT(2, 60, LIB, "/a", 0);
	EXPECT_AT(2, 60, 2 * LIB, "/b", 0);
	EXPECT_AT(2, 60, 3 * LIB, "", 0);
}
