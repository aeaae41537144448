/* Code compiled at run time: its maps, its dumps, and whose they are. */
#include "report/jit.h"

#include "common/error.h"
#include "report/jit_codes.h"
#include "report/jit_file.h"
#include "tests/unit/elf_fixture.h"

#include <time.h>

static struct mt_jit_codes *codes;

static void begin(void)
{
	elf_fixture_begin();
	cr_assert_eq(mt_jit_codes_new(&codes), 0);
}

static void end(void)
{
	mt_jit_codes_free(codes);
	elf_fixture_end();
}

TestSuite(jit, .init = begin, .fini = end);

static void take_map(const char *text)
{
	cr_assert_eq(mt_jit_codes_take_map(codes, (const uint8_t *)text, strlen(text)), 0);
	cr_assert_eq(mt_jit_codes_index(codes), 0);
}

static const char *name_at(uint64_t addr, uint64_t time)
{
	uint32_t code = mt_jit_codes_find(codes, addr, time);

	return code == MT_JIT_NONE ? "none" : mt_jit_codes_at(codes, code)->name;
}

Test(jit, map_lines)
{
	take_map("1000 10 first\n"
		 "0x2000 0x20 two words, and more\r\n"
		 "FFFFFFFFFFFFF000 fff last\n"
		 "3000 0 empty\n"
		 "3000 10\n"
		 "3000 10 \n"
		 "10000000000003000 10 too long\n"
		 "ffffffffffffff00 1000 beyond\n"
		 "not a line\n"
		 "\n"
		 "4000 10 cut");
	cr_expect_eq(mt_jit_codes_count(codes), 3);
	cr_expect_str_eq(name_at(0xfff, 0), "none");
	cr_expect_str_eq(name_at(0x1000, 0), "first");
	cr_expect_str_eq(name_at(0x100f, 0), "first");
	cr_expect_str_eq(name_at(0x1010, 0), "none");
	cr_expect_str_eq(name_at(0x201f, 0), "two words, and more");
	cr_expect_str_eq(name_at(0xfffffffffffff001, 0), "last");
	cr_expect_str_eq(name_at(0x4000, 0), "none");
}

Test(jit, map_last_counts)
{
	take_map("1000 100 old\n1080 10 inner\n1080 8 newer\n1000 20 newest\n");
	cr_expect_str_eq(name_at(0x1000, 5), "newest");
	cr_expect_str_eq(name_at(0x1020, 5), "old");
	cr_expect_str_eq(name_at(0x1080, 5), "newer");
	cr_expect_str_eq(name_at(0x1088, 5), "inner");
	cr_expect_str_eq(name_at(0x1090, 5), "old");
}

Test(jit, long_name_is_whole)
{
	size_t n = 1 << 20;
	char *text = malloc(n + 16);

	cr_assert_not_null(text);
	memcpy(text, "1000 10 ", 8);
	memset(text + 8, 'x', n);
	text[n + 8] = '\n';
	text[n + 9] = 0;
	take_map(text);
	cr_expect_eq(strlen(name_at(0x1000, 0)), n);
	free(text);
}

struct record {
	uint32_t kind, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, len, index;
};

struct jit_line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

static uint8_t dump[4096];
static size_t dump_size;

static void dump_header(uint64_t flags)
{
	uint32_t words[] = { 0x4a695444, 1, 40, 62, 0, 1, 0, 0 };

	memcpy(dump, words, sizeof(words));
	memcpy(dump + 32, &flags, 8);
	dump_size = 40;
}

static void dump_load(uint64_t time, uint64_t addr, uint64_t len, const char *name)
{
	struct record r = { .size = sizeof(r) + (uint32_t)strlen(name) + 1, .time = time,
			    .addr = addr, .len = len };

	memcpy(dump + dump_size, &r, sizeof(r));
	memcpy(dump + dump_size + sizeof(r), name, strlen(name) + 1);
	dump_size += r.size;
}

static void dump_move(uint64_t time, uint64_t from, uint64_t to, uint64_t len)
{
	struct record r = { .kind = 1, .size = sizeof(r) + 8, .time = time, .addr = from,
			    .len = to, .index = len };

	memcpy(dump + dump_size, &r, sizeof(r));
	memset(dump + dump_size + sizeof(r), 0, 8);
	dump_size += r.size;
}

static void dump_lines(uint64_t addr, uint64_t n, const struct jit_line *lines)
{
	uint64_t head[4] = { 2, 0, addr, n };
	size_t start = dump_size, i;
	uint32_t size;

	dump_size += sizeof(head);
	for (i = 0; i < n; i++) {
		memcpy(dump + dump_size, &lines[i].addr, 8);
		memcpy(dump + dump_size + 8, &lines[i].line, 4);
		memset(dump + dump_size + 12, 0, 4);
		memcpy(dump + dump_size + 16, lines[i].file, strlen(lines[i].file) + 1);
		dump_size += 16 + strlen(lines[i].file) + 1;
	}
	size = (uint32_t)(dump_size - start);
	head[0] |= (uint64_t)size << 32;
	memcpy(dump + start, head, sizeof(head));
}

static void take_dump(void)
{
	cr_assert_eq(mt_jit_codes_take_dump(codes, dump, dump_size), 0);
	cr_assert_eq(mt_jit_codes_index(codes), 0);
}

Test(jit, dump_times)
{
	struct record other = { .kind = 4, .size = sizeof(other), .time = 15 };

	dump_header(0);
	dump_load(10, 0x1000, 0x10, "first");
	memcpy(dump + dump_size, &other, sizeof(other));
	dump_size += sizeof(other);
	dump_load(20, 0x1000, 0x10, "second");
	dump_move(30, 0x1000, 0x2000, 0x10);
	dump_move(30, 0x9000, 0x3000, 0x10);
	take_dump();
	cr_expect_eq(mt_jit_codes_count(codes), 3);
	cr_expect_str_eq(name_at(0x1000, 9), "none");
	cr_expect_str_eq(name_at(0x1000, 10), "first");
	cr_expect_str_eq(name_at(0x1000, 19), "first");
	cr_expect_str_eq(name_at(0x1000, 20), "second");
	cr_expect_str_eq(name_at(0x2000, 29), "none");
	cr_expect_str_eq(name_at(0x2000, 30), "second");
}

static void expect_line(uint64_t addr, uint64_t time, const char *want_file, uint32_t want_line)
{
	uint32_t code = mt_jit_codes_find(codes, addr, time), line = 0;
	const char *file = "";

	cr_assert_neq(code, MT_JIT_NONE, "%lx", addr);
	cr_expect_eq(mt_jit_codes_line(codes, code, addr, &file, &line), *want_file != 0);
	cr_expect_str_eq(file, want_file);
	cr_expect_eq(line, want_line);
}

Test(jit, dump_lines)
{
	/* In any order; before the code; of the file before; without one. */
	static const struct jit_line lines[] = {
		{ 0x1008, 3, "/a.js" }, { 0x1004, 2, "\xff" }, { 0xff0, 1, "\xff" },
		{ 0x100c, 7, "/b.js" },
	};
	static const struct jit_line none[] = { { 0x5000, 3, "\xff" } };

	dump_header(0);
	dump_lines(0x1000, 4, lines);
	dump_load(10, 0x1000, 0x10, "first");
	/* Of nobody: other code comes next, and they are not kept for a third. */
	dump_lines(0x9000, 4, lines);
	dump_load(20, 0x2000, 0x10, "second");
	dump_load(20, 0x9000, 0x10, "late");
	dump_move(30, 0x1000, 0x3000, 0x10);
	dump_lines(0x5000, 1, none);
	dump_load(40, 0x5000, 0x10, "none");
	take_dump();
	expect_line(0x1000, 25, "", 0);
	expect_line(0x1003, 25, "", 0);
	expect_line(0x1004, 25, "/a.js", 2);
	expect_line(0x100b, 25, "/a.js", 3);
	expect_line(0x100f, 25, "/b.js", 7);
	expect_line(0x3004, 35, "/a.js", 2);
	expect_line(0x2004, 35, "", 0);
	expect_line(0x9004, 35, "", 0);
	expect_line(0x5004, 45, "", 0);
}

Test(jit, dump_of_another_clock)
{
	dump_header(1);
	dump_load(1ull << 60, 0x1000, 0x10, "first");
	take_dump();
	cr_expect_str_eq(name_at(0x1000, 9), "first");
}

Test(jit, dump_cut_anywhere)
{
	size_t whole;

	dump_header(0);
	dump_load(10, 0x1000, 0x10, "first");
	dump_load(20, 0x2000, 0x10, "second");
	whole = dump_size;
	for (dump_size = 0; dump_size < whole; dump_size++) {
		mt_jit_codes_free(codes);
		cr_assert_eq(mt_jit_codes_new(&codes), 0);
		take_dump();
		cr_expect_eq(mt_jit_codes_count(codes), dump_size >= 40 + 56 + 6);
	}
}

Test(jit, name_of_a_dump)
{
	cr_expect(mt_jit_is_dump("/root/.debug/jit/x/jit-12.dump"));
	cr_expect(mt_jit_is_dump("jit-0.dump"));
	cr_expect_not(mt_jit_is_dump("/tmp/jit-.dump"));
	cr_expect_not(mt_jit_is_dump("/tmp/jit-1.dumpling"));
	cr_expect_not(mt_jit_is_dump("/tmp/jit-1a.dump"));
	cr_expect_not(mt_jit_is_dump("/tmp/xjit-1.dump"));
}

#define SECOND 1000000000ull
#define START (1700000000ull * SECOND)

/* A map of a process that ran from second 10 to 20, written at this second. */
static enum mt_module_status open_at(long at, long ns, char reason[MT_REASON_MAX])
{
	struct mt_module_options options = { .start_time = 5 * SECOND, .start_realtime = START };
	struct timespec times[2] = { { 1700000000 - 5 + at, ns }, { 1700000000 - 5 + at, ns } };
	enum mt_module_status status;
	int fd = -1;

	write_file(in_dir("map"), "1 1 x\n", 6);
	cr_assert_eq(utimensat(AT_FDCWD, in_dir("map"), times, 0), 0);
	*reason = 0;
	status = mt_jit_open_map(&options, in_dir("map"), 10 * SECOND, 20 * SECOND, &fd, reason);
	if (status == MT_MODULE_VERIFIED)
		close(fd);
	return status;
}

Test(jit, map_was_written_meanwhile)
{
	char reason[MT_REASON_MAX];

	cr_expect_eq(open_at(15, 0, reason), MT_MODULE_VERIFIED, "%s", reason);
	cr_expect_eq(open_at(10, 0, reason), MT_MODULE_VERIFIED, "%s", reason);
	cr_expect_eq(open_at(20, 0, reason), MT_MODULE_VERIFIED, "%s", reason);
	cr_expect_eq(open_at(9, 900000000, reason), MT_MODULE_CHANGED);
	cr_expect_str_eq(reason, "last written before the process was recorded");
	cr_expect_eq(open_at(20, 100000000, reason), MT_MODULE_CHANGED);
	cr_expect_str_eq(reason, "written to after the process had ended");
}

Test(jit, map_is_a_plain_file)
{
	struct mt_module_options options = { .start_time = 1, .start_realtime = 1 };
	char reason[MT_REASON_MAX];
	int fd;

	cr_expect_eq(mt_jit_open_map(&options, in_dir("none"), 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_GONE);
	run("cd \"$D\"; echo 1 1 x >map; ln -s map link; mkfifo fifo; mkdir dir");
	cr_expect_eq(mt_jit_open_map(&options, in_dir("link"), 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_UNREADABLE);
	cr_expect_str_eq(reason, "a link");
	cr_expect_eq(mt_jit_open_map(&options, in_dir("fifo"), 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_UNREADABLE);
	cr_expect_eq(mt_jit_open_map(&options, in_dir("dir"), 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_UNREADABLE);
	cr_expect_eq(mt_jit_open_map(&options, in_dir("map"), 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_VERIFIED);
	close(fd);
	/* Below a sysroot, links cannot lead out of it. */
	run("cd \"$D\"; mkdir -p sys/tmp; ln -s ../../map sys/tmp/perf-1.map");
	options.sysroot = in_dir("sys");
	cr_expect_eq(mt_jit_open_map(&options, "/tmp/perf-1.map", 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_GONE);
	run("cd \"$D\"; rm sys/tmp/perf-1.map; cp map sys/tmp/perf-1.map");
	cr_expect_eq(mt_jit_open_map(&options, "/tmp/perf-1.map", 1, UINT64_MAX, &fd, reason),
		     MT_MODULE_VERIFIED);
	close(fd);
}
