/* Who has what mapped where, at which time: placements, programs executed, names, damage. */
#include "report/session.h"

#include "report/addr_tree.h"
#include "tests/unit/session_fixture.h"

TestSuite(session, .fini = fini);

Test(session, ranges_are_half_open_in_space_and_time)
{
	start(0, 10);
	map(20, 0, LIB, LIB + 0x1000, 0x3000, "/a");
	unmap(30, 0, LIB, LIB + 0x1000);
	build();
	EXPECT_AT(0, 19, LIB, "", 0);
	EXPECT_AT(0, 20, LIB, "/a", 0x3000);
	EXPECT_AT(0, 29, LIB + 0xfff, "/a", 0x3fff);
	EXPECT_AT(0, 29, LIB + 0x1000, "", 0);
	EXPECT_AT(0, 29, LIB - 1, "", 0);
	EXPECT_AT(0, 30, LIB, "", 0);
	cr_expect_eq(mt_session_placements(session), 1);
	cr_expect_eq(mt_session_placement(session, 0)->until, 30);
	cr_expect_eq(mt_session_find(session, 1, 25, LIB), MT_NONE, "no such process");
}

Test(session, library_loaded_again_elsewhere_and_another_one_at_its_place)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x2000, 0, "/a");
	unmap(20, 0, LIB, LIB + 0x2000);
	map(30, 0, LIB, LIB + 0x1000, 0, "/b");
	map(40, 0, 4 * LIB, 4 * LIB + 0x2000, 0, "/a");
	build();
	EXPECT_AT(0, 15, LIB + 0x10, "/a", 0x10);
	EXPECT_AT(0, 25, LIB + 0x10, "", 0);
	EXPECT_AT(0, 50, LIB + 0x10, "/b", 0x10);
	EXPECT_AT(0, 50, LIB + 0x1010, "", 0);
	EXPECT_AT(0, 50, 4 * LIB + 0x1010, "/a", 0x1010);
	cr_expect_eq(mt_session_files(session), 2);
	cr_expect_eq(mt_session_placements(session), 3);
}

Test(session, a_new_mapping_splits_what_it_covers)
{
	start(0, 0);
	map(10, 0, 0x1000, 0x9000, 0x100000, "/a");
	map(20, 0, 0x3000, 0x5000, 0, "/b");
	map(30, 0, 0x4000, 0xa000, 0, "/c");
	build();
	EXPECT_AT(0, 15, 0x4000, "/a", 0x103000);
	EXPECT_AT(0, 25, 0x2fff, "/a", 0x101fff);
	EXPECT_AT(0, 25, 0x3000, "/b", 0);
	EXPECT_AT(0, 25, 0x5000, "/a", 0x104000);
	EXPECT_AT(0, 35, 0x2000, "/a", 0x101000);
	EXPECT_AT(0, 35, 0x3000, "/b", 0);
	EXPECT_AT(0, 35, 0x4000, "/c", 0);
	EXPECT_AT(0, 35, 0x8000, "/c", 0x4000);
	EXPECT_AT(0, 35, 0x9fff, "/c", 0x5fff);
}

Test(session, unmapping_a_hole_keeps_both_ends)
{
	start(0, 0);
	map(10, 0, 0x1000, 0x9000, 0, "/a");
	unmap(20, 0, 0x4000, 0x5000);
	build();
	EXPECT_AT(0, 20, 0x3fff, "/a", 0x2fff);
	EXPECT_AT(0, 20, 0x4000, "", 0);
	EXPECT_AT(0, 20, 0x5000, "/a", 0x4000);
}

Test(session, anonymous_memory_in_the_middle_of_code_is_a_copy_of_it)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x8000, 0x1000, "/a");
	map(10, 0, 2 * LIB, 2 * LIB + 0x8000, 0, "/b");
	map(10, 0, 3 * LIB, 3 * LIB + 0x8000, 0, "/c");
	map_memory(20, 0, LIB + 0x2000, LIB + 0x8000);
	map_memory(21, 0, LIB + 0x2000, LIB + 0x8000);
	/* More than its code; and where it was, but is not any more. */
	map_memory(20, 0, 2 * LIB + 0x2000, 2 * LIB + 0x9000);
	unmap(20, 0, 3 * LIB, 3 * LIB + 0x8000);
	map_memory(30, 0, 3 * LIB + 0x2000, 3 * LIB + 0x3000);
	build();
	EXPECT_AT(0, 15, LIB + 0x3000, "/a", 0x4000);
	EXPECT_AT(0, 25, LIB + 0x3000, "/a", 0x4000);
	EXPECT_AT(0, 25, LIB, "/a", 0x1000);
	EXPECT_AT(0, 25, 2 * LIB, "/b", 0);
	EXPECT_AT(0, 25, 2 * LIB + 0x3000, "//anon", 0x1000);
	EXPECT_AT(0, 35, 3 * LIB + 0x2000, "//anon", 0);
	cr_expect(mt_session_file(session, 0)->copied);
	cr_expect(!mt_session_file(session, 1)->copied);
	cr_expect(!mt_session_file(session, 2)->copied);
}

Test(session, exec_clears_at_the_clearing_not_at_the_exec_row)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/old");
	map(10, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/old2");
	exec_at(105, 0, "/bin/new");
	clear(100, 0);
	map(102, 0, LIB, LIB + 0x1000, 0, "/bin/new");
	map(110, 0, 3 * LIB, 3 * LIB + 0x1000, 0, "/libc");
	build();
	EXPECT_AT(0, 99, 2 * LIB, "/old2", 0);
	EXPECT_AT(0, 100, 2 * LIB, "", 0);
	EXPECT_AT(0, 103, LIB, "/bin/new", 0);
	EXPECT_AT(0, 120, LIB, "/bin/new", 0);
	EXPECT_AT(0, 120, 2 * LIB, "", 0);
	EXPECT_AT(0, 120, 3 * LIB, "/libc", 0);
	cr_expect_str_eq(mt_session_process(session, 0)->path, "/bin/new");
	cr_expect_str_eq(mt_session_process(session, 0)->comm, "exec");
	cr_expect_eq(mt_session_spaces(session), 2, "one clearing, one new space");
	cr_expect_eq(mt_session_space_parent(session, mt_session_space(session, 0, 120)), MT_NONE);
}

Test(session, exec_without_a_clearing_row_clears_itself_twice_in_a_row)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/old");
	exec_at(100, 0, "/one");
	map(101, 0, LIB, LIB + 0x1000, 0, "/one");
	clear(200, 0);
	map(201, 0, LIB, LIB + 0x1000, 0, "/two");
	exec_at(202, 0, "/two");
	exec_at(300, 0, "/three");
	build();
	EXPECT_AT(0, 99, LIB, "/old", 0);
	EXPECT_AT(0, 100, LIB, "", 0);
	EXPECT_AT(0, 150, LIB, "/one", 0);
	EXPECT_AT(0, 250, LIB, "/two", 0);
	EXPECT_AT(0, 300, LIB, "", 0);
}

Test(session, the_same_program_executed_again_is_a_new_space)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	clear(20, 0);
	map(21, 0, LIB, LIB + 0x1000, 0, "/a");
	exec_at(22, 0, "/a");
	build();
	cr_expect_neq(mt_session_find(session, 0, 15, LIB), mt_session_find(session, 0, 25, LIB));
	cr_expect_eq(mt_session_files(session), 1);
	cr_expect_eq(mt_session_placements(session), 2);
}

Test(session, rows_out_of_order_are_sorted_by_time)
{
	/* Two checkpoints' worth of rows: each is sorted, both together are not. */
	start(0, 0);
	map(50, 0, LIB, LIB + 0x1000, 0, "/second");
	map(10, 0, LIB, LIB + 0x1000, 0, "/first");
	map(0, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/whole-run");
	build();
	EXPECT_AT(0, 30, LIB, "/first", 0);
	EXPECT_AT(0, 60, LIB, "/second", 0);
	EXPECT_AT(0, 0, 2 * LIB, "/whole-run", 0);
}

Test(session, telling_a_mapping_twice_changes_nothing)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	map(20, 0, LIB, LIB + 0x1000, 0, "/a");
	build();
	cr_expect_eq(mt_session_placements(session), 1);
	EXPECT_AT(0, 25, LIB, "/a", 0);
}

Test(session, the_same_path_with_another_inode_is_another_file)
{
	start(0, 0);
	map(10, 0, LIB, LIB + 0x1000, 0, "/a");
	map(20, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/a");
	maps[1].ino = 8;
	build();
	cr_expect_eq(mt_session_files(session), 2);
}

Test(session, a_file_is_mapped_since_its_first_mapping_in_any_process)
{
	start(0, 0);
	start(1, 0);
	map(50, 0, LIB, LIB + 0x1000, 0, "/lib");
	map(70, 0, 2 * LIB, 2 * LIB + 0x1000, 0, "/lib");
	map(30, 1, LIB, LIB + 0x1000, 0, "/lib");
	map(60, 1, 3 * LIB, 3 * LIB + 0x1000, 0, "/other");
	build();
	cr_assert_eq(mt_session_files(session), 2);
	cr_expect_eq(mt_session_file(session, 0)->mapped,
		     strcmp(mt_session_file(session, 0)->path, "/lib") ? 60 : 30);
	cr_expect_eq(mt_session_file(session, 1)->mapped,
		     strcmp(mt_session_file(session, 1)->path, "/lib") ? 60 : 30);
}

Test(session, threads_and_names)
{
	start(0, 0);
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD, .time = 0, .process = 0, .thread = 0,
					 .tid = 100, .name = "start" });
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD, .time = 5, .process = 0, .thread = 1,
					 .tid = 109, .name = "start" });
	lifecycle((struct mt_lifecycle){ .type = MT_LC_NAME, .time = 6, .thread = 1,
					 .name = "worker" });
	lifecycle((struct mt_lifecycle){ .type = MT_LC_NAME, .time = 7, .thread = 0,
					 .name = "main!" });
	fork_at(8, 0, 1, false);
	build();
	cr_assert_eq(mt_session_threads(session), 2);
	cr_expect_eq(mt_session_thread(session, 1)->tid, 109);
	cr_expect_str_eq(mt_session_thread(session, 1)->name, "worker");
	cr_expect_str_eq(mt_session_thread(session, 0)->name, "main!");
	cr_expect_str_eq(mt_session_process(session, 0)->comm, "main!");
	cr_expect_str_eq(mt_session_process(session, 1)->comm, "main!", "inherited by the fork");
	cr_expect_eq(mt_session_process(session, 1)->parent, 0);
	cr_expect_eq(mt_session_process(session, 0)->parent, MT_NONE);
	cr_expect_eq(mt_session_bad_rows(session), 0);
}

Test(session, contradictions_are_left_out_and_counted)
{
	start(0, 0);
	start(0, 5);			/* defined twice */
	start(4000000000u, 5);		/* no recorder numbers like this */
	fork_at(6, 77, 1, true);	/* of an unknown parent: a first process */
	exec_at(7, 50, "/x");
	exit_at(7, 50);
	lifecycle((struct mt_lifecycle){ .type = MT_LC_THREAD, .process = 9, .thread = 0 });
	lifecycle((struct mt_lifecycle){ .type = MT_LC_NAME, .thread = 3, .name = "x" });
	lifecycle((struct mt_lifecycle){ .type = 99 });
	map(1, 9, LIB, LIB + 1, 0, "/a");
	map(1, 0, LIB, LIB, 0, "/empty");
	map(1, 0, LIB + 1, LIB, 0, "/backwards");
	build();
	cr_expect_eq(mt_session_bad_rows(session), 10);
	cr_expect_eq(mt_session_processes(session), 2);
	cr_expect_eq(mt_session_process(session, 1)->parent, MT_NONE);
	cr_expect_neq(mt_session_space(session, 0, 9), mt_session_space(session, 1, 9));
	cr_expect_eq(mt_session_placements(session), 0);
}

Test(session, the_ends_of_the_address_range)
{
	start(0, 0);
	map(1, 0, 0, 0x1000, 0, "/low");
	map(1, 0, UINT64_MAX - 0xfff, UINT64_MAX, 0, "/high");
	unmap(2, 0, 0, UINT64_MAX);
	build();
	EXPECT_AT(0, 1, 0, "/low", 0);
	EXPECT_AT(0, 1, UINT64_MAX - 1, "/high", 0xffe);
	EXPECT_AT(0, 1, UINT64_MAX, "", 0);
	EXPECT_AT(0, 2, 0, "", 0);
	EXPECT_AT(0, 2, UINT64_MAX - 1, "", 0);
}

/* Random histories against a table of pages that says the same in the dullest way. */
Test(session, random_histories_agree_with_a_page_table)
{
	enum { PAGES = 24, STEPS = 60, PROCS = 2 };
	static int model[STEPS + 1][PROCS][PAGES];
	static const char *const names[] = { "", "/a", "/b", "/c" };
	uint32_t seed = 12345, round, t, page, process, from, len, kind;
	uint64_t ignored;

	for (round = 0; round < 200; round++) {
		n_lc = n_maps = 0;
		memset(model, 0, sizeof(model));
		start(0, 0);
		for (t = 1; t <= STEPS; t++) {
			memcpy(model[t], model[t - 1], sizeof(model[t]));
			if (t == STEPS / 3) {
				fork_at(t, 0, 1, false);
				memcpy(model[t][1], model[t][0], sizeof(model[t][1]));
				continue;
			}
			seed = seed * 1664525 + 1013904223;
			process = t > STEPS / 3 ? seed >> 31 : 0;
			from = (seed >> 8) % PAGES;
			len = 1 + (seed >> 16) % (PAGES - from);
			kind = (seed >> 24) % 4;
			if (kind)
				map(t, process, from * 0x1000, (from + len) * 0x1000, 0,
				    names[kind]);
			else
				unmap(t, process, from * 0x1000, (from + len) * 0x1000);
			for (page = from; page < from + len; page++)
				model[t][process][page] = (int)kind;
		}
		build();
		for (t = 1; t <= STEPS; t++)
			for (process = 0; process < (t < STEPS / 3 ? 1 : PROCS); process++)
				for (page = 0; page < PAGES; page++)
					cr_assert_str_eq(at(process, t, page * 4096 + 5, &ignored),
							 names[model[t][process][page]]);
		mt_session_free(session);
		session = NULL;
	}
}

Test(addr_tree, old_roots_keep_their_maps_for_any_order_of_keys)
{
	enum { N = 2000 };
	static uint32_t roots[N + 1];
	struct mt_addr_trees trees;
	uint32_t i, value;
	uint64_t key;

	mt_addr_trees_init(&trees);
	for (i = 0; i < N; i++)
		cr_assert_eq(mt_addr_tree_set(&trees, roots[i], i, i + 7, &roots[i + 1]), 0);
	for (i = 1; i <= N; i += 97) {
		cr_expect(mt_addr_tree_floor(&trees, roots[i], UINT64_MAX, &key, &value));
		cr_expect_eq(key, i - 1);
		cr_expect_eq(value, i + 6);
		cr_expect_not(mt_addr_tree_above(&trees, roots[i], i - 1, &key, &value));
	}
	/* Ascending keys would make a plain tree a list. */
	cr_expect_lt(trees.n, N * 20u);
	for (i = 0; i < N; i += 2)
		cr_assert_eq(mt_addr_tree_remove(&trees, roots[N], i, &roots[N]), 0);
	cr_assert_eq(mt_addr_tree_remove(&trees, roots[N], 4, &roots[N]), 0);
	for (i = 0; i < N - 1; i++) {
		cr_assert(mt_addr_tree_above(&trees, roots[N], i, &key, &value));
		cr_expect_eq(key, (i + 1) | 1);
	}
	cr_expect_not(mt_addr_tree_floor(&trees, roots[N], 0, &key, &value));
	mt_addr_trees_release(&trees);
}
