#include "common/artifact.h"
#include "report/render_json.h"
#include "report/folded.h"
#include "report/names.h"
#include "report/packages.h"
#include "report/run_facts.h"
#include "report/top_report.h"
#include "report/workers.h"

#include <criterion/criterion.h>
#include <unistd.h>

/* What f prints. */
static char *text;

#define PRINTED(call) ({ \
	size_t printed_len; \
	FILE *out; \
	free(text); \
	text = NULL; \
	out = open_memstream(&text, &printed_len); \
	call; \
	fclose(out); \
	text; \
})

static void fini(void)
{
	free(text);
	text = NULL;
}

TestSuite(render, .fini = fini);

Test(render, bytes)
{
	char buf[MT_TEXT_MAX];

	cr_expect_str_eq(mt_text_bytes(0, buf), "0 B");
	cr_expect_str_eq(mt_text_bytes(1023, buf), "1023 B");
	cr_expect_str_eq(mt_text_bytes(1024, buf), "1.0 KiB");
	cr_expect_str_eq(mt_text_bytes(1024 * 1024 - 1, buf), "1023.9 KiB");
	cr_expect_str_eq(mt_text_bytes(1536ull << 20, buf), "1.5 GiB");
	cr_expect_str_eq(mt_text_bytes(UINT64_MAX, buf), "15.9 EiB");
}

Test(render, counts)
{
	char buf[MT_TEXT_MAX];

	cr_expect_str_eq(mt_text_count(0, buf), "0");
	cr_expect_str_eq(mt_text_count(999, buf), "999");
	cr_expect_str_eq(mt_text_count(1000, buf), "1,000");
	cr_expect_str_eq(mt_text_count(UINT64_MAX, buf), "18,446,744,073,709,551,615");
}

Test(render, shares_never_claim_all_or_nothing)
{
	char buf[MT_TEXT_MAX];

	cr_expect_str_eq(mt_text_share(0, 0, buf), "-");
	cr_expect_str_eq(mt_text_share(0, 7, buf), "0.0 %");
	cr_expect_str_eq(mt_text_share(7, 7, buf), "100.0 %");
	cr_expect_str_eq(mt_text_share(99999, 100000, buf), "99.9 %");
	cr_expect_str_eq(mt_text_share(1, 100000, buf), "<0.1 %");
	cr_expect_str_eq(mt_text_share(2, 3, buf), "66.7 %");
	cr_expect_str_eq(mt_text_share(UINT64_MAX / 2, UINT64_MAX, buf), "50.0 %");
}

Test(render, times)
{
	char buf[MT_TEXT_MAX];

	cr_expect_str_eq(mt_text_time(1234567890, buf), "1.234 s");
	cr_expect_str_eq(mt_text_time(192000000000, buf), "3 min 12 s");
	cr_expect_str_eq(mt_text_time(7500000000000, buf), "2 h 5 min");
	cr_expect_str_eq(mt_text_date(0, buf), "1970-01-01 00:00:00 UTC");
	mt_text_date(UINT64_MAX, buf);	/* whatever a file says */
}

Test(render, clean_text)
{
	cr_expect_str_eq(PRINTED(mt_text_put_clean("a\nb\t\033[1m\177z", out)), "a?b??[1m?z");
	cr_expect_str_eq(PRINTED(mt_text_put_clean("caf\xc3\xa9 \xc2\x9b" "2J", out)),
			 "caf\xc3\xa9 ?2J");
	cr_expect_str_eq(PRINTED(mt_text_put_clean("\xc2", out)), "\xc2");
}

Test(render, parts_of_paths)
{
	cr_expect_str_eq(mt_text_base("/usr/lib/libc.so.6"), "libc.so.6");
	cr_expect_str_eq(mt_text_base("[vdso]"), "[vdso]");
	cr_expect_str_eq(mt_text_base("/"), "/");
	cr_expect_str_eq(mt_text_base("/dir/"), "/dir/");
	cr_expect_str_eq(mt_text_path("/a/b/c.c", "/a"), "b/c.c");
	cr_expect_str_eq(mt_text_path("/a/b/c.c", "/a/b"), "c.c");
	cr_expect_str_eq(mt_text_path("/ab/c.c", "/a"), "/ab/c.c");
	cr_expect_str_eq(mt_text_path("/a/c.c", "/"), "/a/c.c");
	cr_expect_str_eq(mt_text_path("/a/c.c", ""), "/a/c.c");
	cr_expect_str_eq(mt_text_path("/a", "/a"), "/a");
	cr_expect_str_eq(mt_text_path("./malloc/malloc.c", "/a"), "malloc/malloc.c");
	cr_expect_str_eq(mt_text_path("../x.c", "/a"), "../x.c");
}

Test(render, command_line_can_be_pasted)
{
	static const char *const args[] = { "prog", "a b", "it's", "", "$x", "--n=3" };
	struct mt_header header = { .n_args = 6, .args = (const char **)args };
	struct mt_run run = { .header = &header };
	char *command = mt_run_command(&run);

	cr_expect_str_eq(command, "prog 'a b' 'it'\\''s' '' '$x' --n=3");
	free(command);
}

/* A report in memory: two stacks of a C++ program with inlined calls. */
static const struct mt_location
	at_malloc = { .function = "malloc", .module = "/lib/libc.so.6", .offset = 0x1000 },
	at_new = { .function = "operator new(unsigned long)", .module = "/lib/libstdc++.so.6" },
	at_grow = { .function = "std::vector<int>::grow()", .file = "/usr/include/c++/12/vector.h",
		    .line = 99, .inlined = true, .module = "/opt/app" },
	at_load = { .function = "app::load(int; int)", .file = "../src/load.cc", .line = 12,
		    .module = "/opt/app" },
	at_main = { .function = "main", .file = "/home/app/src/main.cc", .module = "/opt/app" },
	at_raw = { .module = "/opt/stripped.so", .offset = 0x1234 },
	at_nowhere = { .offset = 0x7f00 };

static const struct mt_location *first_frames[] = { &at_malloc, &at_new, &at_grow, &at_load,
						    &at_main };
static const struct mt_location *second_frames[] = { &at_malloc, &at_raw, &at_nowhere };

static struct mt_top_stack stacks[] = {
	{ .end = MT_UNWIND_COMPLETE, .frames = first_frames, .n_frames = 5,
	  .totals = { .allocations = 1000, .allocated_bytes = 3 << 20, .live_bytes = 2048,
		      .peak_bytes = 1 << 20, .temporary = 10 } },
	{ .end = MT_UNWIND_NO_CFI, .end_module = "/opt/stripped.so", .frames = second_frames,
	  .n_frames = 3, .totals = { .allocations = 1, .allocated_bytes = 1 << 20 } },
};

static struct mt_module_facts facts[] = {
	{ .path = "/lib/libc.so.6", .status = MT_MODULE_VERIFIED, .reason = "", .symbols = true,
	  .debug_path = "", .calls = 4, .unlocated = 4, .package = (char *)"libc6",
	  .build_id = { 0xab, 0x01 }, .n_build_id = 2 },
	{ .path = "/opt/app", .status = MT_MODULE_VERIFIED, .reason = "", .symbols = true,
	  .lines = true, .debug_path = "/usr/lib/debug/app.debug", .calls = 3 },
	{ .path = "/opt/gone.so", .status = MT_MODULE_GONE, .reason = "no such file",
	  .debug_path = "" },
	{ .path = "/opt/stripped.so", .status = MT_MODULE_VERIFIED, .reason = "",
	  .debug_path = "", .calls = 1, .unnamed = 1, .unlocated = 1 },
	{ .path = "/usr/bin/tool", .status = MT_MODULE_VERIFIED, .reason = "", .symbols = true,
	  .debug_path = "", .calls = 9, .unnamed = 2, .unlocated = 9, .package = (char *)"tools",
	  .build_id = { 0xff }, .n_build_id = 1 },
};

static const struct mt_modules modules = { facts, MT_ARRAY_SIZE(facts) };
static const struct mt_header header = { .start_time = 1000000000 };
static const struct mt_profile_totals totals = {
	.all = { .allocations = 1001, .allocated_bytes = 4 << 20, .peak_bytes = 1 << 20,
		 .peak_blocks = 7, .live_bytes = 2048, .live_blocks = 1, .temporary = 10 },
	.peak_time = 1500000000,
};
static struct mt_ranked_function functions[] = {
	{ .location = { .function = "app::load(int; int)", .module = "/opt/app" },
	  .self = { .allocated_bytes = 3 << 20 }, .inclusive = { .allocated_bytes = 3 << 20 } },
};
static const char *const problems[] = { "events were lost", "name\nwith a line break" };

static const struct mt_top_report report = {
	.command = (char *)"app --load", .cwd = (char *)"/home/app",
	.header = &header, .duration = 2000000000,
	.totals = &totals, .n_threads = 2, .by = MT_BY_BYTES, .whole = 4 << 20,
	.completeness = { .allocations = 1001,
			  .allocations_by_end = { [MT_UNWIND_COMPLETE] = 1000,
						  [MT_UNWIND_NO_CFI] = 1 },
			  .culprits = { [MT_UNWIND_NO_CFI] = { { "/opt/stripped.so", 1 } } } },
	.stacks = stacks, .n_stacks = 2, .all_stacks = 9,
	.self = functions, .n_self = 1, .all_self = 1,
	.inclusive = functions, .n_inclusive = 1, .all_inclusive = 1,
	.all_processes = 1, .modules = &modules, .problems = problems, .n_problems = 2,
};

static const char top_text[] =
	"Partial    events were lost\n"
	"Partial    name?with a line break\n"
	"Command    app --load\n"
	"Allocated  4.0 MiB in 1,001 allocations by 1 process and 2 threads in 2.000 s\n"
	"Peak       1.0 MiB in 7 blocks after 0.500 s\n"
	"Not freed  2.0 KiB in 1 block\n"
	"Temporary  10 allocations (1.0 %), freed before the thread's next one\n"
	"Stacks     99.9 % of stacks complete; 0.1 % no unwind information (stripped.so)\n"
	"\n"
	"Call stacks by allocated bytes (2 of 9)\n"
	"\n"
	"  1.  3.0 MiB  75.0 %, 1,000 allocations, 1.0 MiB at the peak, 2.0 KiB not freed, "
	"10 temporary\n"
	"      malloc  libc.so.6\n"
	"      operator new(unsigned long)  libstdc++.so.6\n"
	"      std::vector<int>::grow()  /usr/include/c++/12/vector.h:99  (inlined)\n"
	"      app::load(int; int)  ../src/load.cc:12\n"
	"      main  src/main.cc\n"
	"\n"
	"  2.  1.0 MiB  25.0 %, 1 allocation, 0 B at the peak, 0 B not freed\n"
	"      malloc  libc.so.6\n"
	"      /opt/stripped.so+0x1234\n"
	"      0x7f00\n"
	"      [no unwind info: stripped.so]\n"
	"\n"
	"Functions by their own allocated bytes\n"
	"\n"
	"                self            inclusive\n"
	"     3.0 MiB  75.0 %      3.0 MiB  75.0 %  app::load(int; int)  app\n"
	"\n"
	"Functions, with all they call, by allocated bytes\n"
	"\n"
	"                self            inclusive\n"
	"     3.0 MiB  75.0 %      3.0 MiB  75.0 %  app::load(int; int)  app\n"
	"\n"
	"Modules\n"
	"\n"
	"  verified   symbols -      /lib/libc.so.6\n"
	"  verified   symbols lines  /opt/app  with /usr/lib/debug/app.debug\n"
	"  gone       -       -      /opt/gone.so  no such file\n"
	"  verified   -       -      /opt/stripped.so\n"
	"  verified   symbols -      /usr/bin/tool\n"
	"\n"
	"To see more names and lines\n"
	"\n"
	"debuginfod-find is in the package debuginfod; packages named -dbgsym are from the "
	"debian-debug archive.\n"
	"\n"
	"  /lib/libc.so.6\n"
	"      no line numbers; as root, either of\n"
	"      install -D $(debuginfod-find debuginfo ab01) /usr/lib/debug/.build-id/ab/01.debug\n"
	"      apt install libc6-dbg\n"
	"  /opt/stripped.so\n"
	"      some functions without name, no line numbers: build it with -g and do not strip it\n"
	"  /usr/bin/tool\n"
	"      some functions without name, no line numbers; as root\n"
	"      apt install tools-dbgsym\n";

/* With a debug file in use there is nothing to install. */
Test(render, what_a_module_lacks)
{
	struct mt_module_facts some = facts[0];

	cr_expect(mt_module_lacks(&some));
	some.unnamed = 1;
	cr_expect(mt_module_lacks(&some));
	some.debug_path = "/usr/lib/debug/.build-id/ab/01.debug";
	cr_expect_not(mt_module_lacks(&some));
	some = facts[0];
	some.lines = true;
	cr_expect_not(mt_module_lacks(&some));
	some.unnamed = 1;
	cr_expect(mt_module_lacks(&some));
	some.package = NULL;
	cr_expect_str_eq(PRINTED(mt_module_put_advice(&some, "  ", out)),
			 "  some functions without name: build it with -g and do not strip it; "
			 "or, as root\n"
			 "  install -D $(debuginfod-find debuginfo ab01) "
			 "/usr/lib/debug/.build-id/ab/01.debug");
}

Test(render, top)
{
	cr_expect_str_eq(PRINTED(mt_render_top(&report, &mt_style_plain, out)), top_text);
}

Test(render, colour_changes_nothing_but_colour)
{
	char *p, *q;

	PRINTED(mt_render_top(&report, &mt_style_colour, out));
	cr_expect_not_null(strstr(text, "\033[31mPartial\033[0m"));
	for (p = q = text; *p; p++) {
		if (*p == '\033')
			p += strcspn(p, "m");
		else
			*q++ = *p;
	}
	*q = '\0';
	cr_expect_str_eq(text, top_text);
}

Test(render, a_deep_stack_shows_both_ends)
{
	static const struct mt_location *frames[100];
	struct mt_top_report deep = report;
	struct mt_top_stack stack = stacks[0];
	size_t i;

	for (i = 0; i < 100; i++)
		frames[i] = i == 0 ? &at_malloc : i == 99 ? &at_main : &at_load;
	stack.frames = frames;
	stack.n_frames = 100;
	deep.stacks = &stack;
	deep.n_stacks = 1;
	PRINTED(mt_render_top(&deep, &mt_style_plain, out));
	cr_expect_not_null(strstr(text, "      ... 64 more ...\n"));
	cr_expect_not_null(strstr(text, "      main  src/main.cc\n\nFunctions"));
}

/* Nobody reads lines of two thousand columns. */
Test(render, a_line_has_room_for_the_longest_name)
{
	static char name[2200];
	struct mt_location at = { .function = name, .module = "/opt/app", .line = 123,
				  .file = "/usr/include/c++/12/bits/vector.h", .inlined = true };
	const struct mt_location *frames[] = { &at };
	struct mt_ranked_function function = { .location = at, .self = { .allocated_bytes = 1 } };
	struct mt_top_stack stack = { .frames = frames, .n_frames = 1 };
	struct mt_top_report wide = report;
	size_t n = 0, length;
	char *line, *rest;

	while (n < sizeof(name) - 40)
		n += snprintf(name + n, sizeof(name) - n, "ns::type<int, ns::other<long> >::");
	snprintf(name + n, sizeof(name) - n, "end(int)");
	wide.stacks = &stack;
	wide.n_stacks = wide.n_self = wide.n_inclusive = 1;
	wide.self = wide.inclusive = &function;
	wide.passed = true;
	PRINTED(mt_render_top(&wide, &mt_style_plain, out));
	cr_expect_not_null(strstr(text, "end(int)  /usr/include/c++/12/bits/vector.h:123  (in"));
	cr_expect_not_null(strstr(text, "end(int)  app\n"));
	cr_expect_not_null(strstr(text, "counts for the function that called it.\n\n   "));
	for (rest = text; (line = strsep(&rest, "\n"));) {
		length = strlen(line);
		cr_expect_leq(length, 160, "%s", line);
	}
}

Test(render, folded_lines)
{
	struct mt_top_stack none = { .kind = MT_RANKED_NO_STACK };
	struct mt_top_stack lost = { .kind = MT_RANKED_UNDEFINED };
	struct mt_top_stack empty = { .end = MT_UNWIND_EMPTY };
	struct mt_folded folded = { 0 };

	cr_assert_eq(mt_folded_add(&folded, &stacks[0], 5), 0);
	cr_assert_eq(mt_folded_add(&folded, &stacks[1], 7), 0);
	cr_assert_eq(mt_folded_add(&folded, &stacks[0], 3), 0);
	cr_assert_eq(mt_folded_add(&folded, &stacks[1], 0), 0);
	cr_assert_eq(mt_folded_add(&folded, &none, 1), 0);
	cr_assert_eq(mt_folded_add(&folded, &lost, 2), 0);
	cr_assert_eq(mt_folded_add(&folded, &empty, UINT64_MAX), 0);
	mt_folded_merge(&folded);
	cr_expect_str_eq(PRINTED(mt_folded_put(&folded, out)),
			 "[no stack] 1\n"
			 "[no unwind info: stripped.so];0x7f00;/opt/stripped.so+0x1234;malloc 7\n"
			 "[nothing captured] 18446744073709551615\n"
			 "[stack lost] 2\n"
			 "main;app::load(int: int);std::vector<int>::grow();"
			 "operator new(unsigned long);malloc 8\n");
	mt_folded_release(&folded);
	mt_folded_merge(&folded);
	cr_expect_str_eq(PRINTED(mt_folded_put(&folded, out)), "");
}

/* Calls named by their address: main calls f calls f calls the allocator, with g inlined in f. */
static int name(void *arg, const struct mt_frame *frame, const struct mt_location **ret_locations,
		size_t *ret_n)
{
	static const struct mt_location leaf = { .function = "je_malloc" };
	static const struct mt_location new = { .function = "operator new(unsigned long)" };
	static const struct mt_location lib = { .function = "bool std::regex_match<a>(a)" };
	static const struct mt_location f[] = { { .function = "g", .inlined = true },
						{ .function = "f" } };
	static const struct mt_location outer = { .function = "main" };

	(void)arg;
	*ret_n = frame->pc == 3 ? 2 : 1;
	*ret_locations = frame->pc == 1 ? &leaf : frame->pc == 2 ? &new :
			 frame->pc == 3 ? f : frame->pc == 5 ? &lib : &outer;
	return 0;
}

Test(render, a_functions_own_share_is_what_it_asks_an_allocator_for)
{
	static const uint64_t pcs[3][6] = { { 1, 2, 5, 3, 3, 4 }, { 1, 4 }, { 1, 2, 5, 5 } };
	static const size_t depth[3] = { 6, 2, 4 };
	struct mt_ranked_path rows[3] = {
		{ .path = 0, .totals = { .allocations = 10 } },
		{ .path = 1, .totals = { .allocations = 1 } },
		/* Nobody else is there. */
		{ .path = 2, .totals = { .allocations = 3 } },
	};
	struct mt_ranked_function *ranked;
	struct mt_frame frames[6];
	struct mt_stack stack = { 0 };
	struct mt_workers *workers;
	struct mt_paths *paths;
	struct mt_names *names;
	size_t i, j, n;

	cr_assert_eq(mt_paths_new(NULL, &paths), 0);
	for (i = 0; i < 3; i++) {
		for (j = 0; j < depth[i]; j++)
			frames[j] = (struct mt_frame){ .pc = pcs[i][j], .placement = UINT32_MAX,
						       .exact = !j,
						       .source = j ? MT_FRAME_CFI :
								 MT_FRAME_REGISTERS };
		stack.id = i + 1;
		cr_assert_eq(mt_paths_add(paths, &stack, frames, depth[i], MT_UNWIND_COMPLETE), 0);
	}
	cr_assert_eq(mt_workers_new(1, &workers), 0);
	cr_assert_eq(mt_names_load(name, NULL, paths, workers, &names), 0);
	mt_workers_free(workers);
	cr_assert_eq(mt_rank_functions(rows, 3, paths, names, &ranked, &n), 0);
	cr_assert_eq(n, 6);

	mt_sort_functions(ranked, n, MT_BY_COUNT, false);
	cr_expect_str_eq(ranked[0].location.function, "g");
	cr_expect_eq(ranked[0].self.allocations, 10);
	cr_expect_eq(ranked[0].inclusive.allocations, 10, "recursion counts once");
	cr_expect_str_eq(ranked[1].location.function, "bool std::regex_match<a>(a)");
	cr_expect_eq(ranked[1].self.allocations, 3);
	cr_expect_eq(ranked[1].inclusive.allocations, 13);
	cr_expect(ranked[1].passes);
	cr_expect_str_eq(ranked[2].location.function, "main");
	cr_expect_eq(ranked[2].self.allocations, 1);
	cr_expect_eq(ranked[2].inclusive.allocations, 11);
	cr_expect_eq(ranked[3].self.allocations, 0);

	mt_sort_functions(ranked, n, MT_BY_COUNT, true);
	cr_expect_str_eq(ranked[0].location.function, "je_malloc");
	cr_expect_str_eq(ranked[1].location.function, "bool std::regex_match<a>(a)",
			 "more of its own than operator new");
	cr_expect_str_eq(ranked[3].location.function, "main");
	cr_expect_str_eq(ranked[5].location.function, "f");
	free(ranked);
	mt_names_free(names);
	mt_paths_free(paths);
}

static void write_file(const char *dir, const char *file, const char *content)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fputs(content, out);
	fclose(out);
}

Test(render, packages_are_found_by_path_with_and_without_usr)
{
	static const char *const paths[] = { "/usr/lib/x/libc.so.6", "/usr/bin/tool", "/opt/none",
					     "/lib/libz.so" };
	static const char *const files[] = { "libc6:amd64.list", "tools.list",
					     "libc6:amd64.md5sums", "zlib1g:amd64.list" };
	char dir[] = "/tmp/t_render.XXXXXX", path[256], *packages[4];
	size_t i;

	cr_assert_not_null(mkdtemp(dir));
	write_file(dir, files[0], "/.\n/lib\n/lib/x/libc.so.6\n");
	write_file(dir, files[1], "/usr/bin/tools\n/usr/bin/tool");
	write_file(dir, files[2], "/opt/none\n");
	write_file(dir, files[3], "/usr/lib/libz.so\n");
	cr_assert_eq(mt_packages_find(dir, paths, 4, packages), 0);
	cr_expect_str_eq(packages[0], "libc6");
	cr_expect_str_eq(packages[1], "tools");
	cr_expect_null(packages[2]);
	cr_expect_str_eq(packages[3], "zlib1g");
	for (i = 0; i < 4; i++) {
		free(packages[i]);
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
	cr_assert_eq(mt_packages_find(dir, paths, 4, packages), 0, "no such folder is no error");
	cr_expect_null(packages[0]);
}

static void expect_exit(bool known, int32_t status, const char *want)
{
	struct mt_json json;
	char *got = NULL;
	size_t n;
	FILE *out = open_memstream(&got, &n);

	cr_assert_not_null(out);
	mt_json_init(&json, out, false);
	mt_json_object_begin(&json);
	mt_json_member_exit(&json, known, status);
	mt_json_object_end(&json);
	mt_json_finish(&json);
	fclose(out);
	cr_expect_str_eq(got, want);
	free(got);
}

Test(render, how_a_command_ended)
{
	expect_exit(true, 3 << 8, "{\"exit_status\":3,\"signal\":null}\n");
	expect_exit(true, 0, "{\"exit_status\":0,\"signal\":null}\n");
	expect_exit(true, 11, "{\"exit_status\":null,\"signal\":11}\n");
	expect_exit(true, 6 | 0x80, "{\"exit_status\":null,\"signal\":6}\n");
	expect_exit(false, 0, "{\"exit_status\":null,\"signal\":null}\n");
}
