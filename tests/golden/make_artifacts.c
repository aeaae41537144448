/*
 * make_artifacts DIR - write the small artifacts that tests/cli reads, by the recorder's writer.
 *
 * "make golden-artifacts" rewrites testdata/golden. Nothing of them was recorded: files are
 * mapped that exist nowhere, so that a report is the same everywhere. What a report must say
 * is worked out by hand in the comments here, and stands in tests/cli/golden_numbers.sh.
 */
#include "common/artifact.h"
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define START 1000000000000ull	/* ns */
#define MS(n) (START + (uint64_t)((n) * 1000000.0 + 0.5))
#define STACK_BASE 0x7ffd00001000ull
#define LIBC 0x7f0000000000ull

static int failed;

static void check(int err, const char *what)
{
	if (err && !failed) {
		fprintf(stderr, "make_artifacts: %s: error %d\n", what, err);
		failed = 1;
	}
}

static const char *const plain_args[] = { "sh", "-c", "prog; sh" };

static const struct mt_header plain_header = {
	.format_version = MT_FORMAT_VERSION,
	.min_reader_version = MT_FORMAT_VERSION,
	.producer = "make_artifacts 1",
	.arch = "x86_64",
	.byte_order = "little",
	.kernel = "6.1.0-golden",
	.hostname = "golden",
	.clock = "monotonic",
	.start_time = START,
	.start_realtime = 1735689600ull * 1000000000,	/* 2025-01-01 */
	.page_size = 4096,
	.code_mask = UINT64_MAX,
	.stack_size = 32768,
	.ring_size = 1 << 20,
	.stack_ring_size = 2 << 20,
	.watch = "tracepoint",
	.attach = "multi",
	.mapping_source = "perf",
	.cwd = "/home/golden",
	.n_args = MT_ARRAY_SIZE(plain_args),
	.args = (const char **)plain_args,
};

static struct mt_writer *begin(const char *dir, const char *name, const struct mt_header *header)
{
	char path[512];
	struct mt_writer *writer = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
	check(fd < 0 ? -errno : mt_writer_open(fd, header, &writer), path);
	if (!writer)
		exit(1);
	return writer;
}

static void finish(struct mt_writer *writer, uint64_t end_time, uint64_t lost)
{
	struct mt_trailer trailer = {
		.end_time = end_time, .lost = lost, .status_known = true, .end_reason = "exited",
	};

	check(mt_writer_finish(writer, &trailer), "finish");
	mt_writer_free(writer);
}

static void lifecycle(struct mt_writer *writer, struct mt_lifecycle row)
{
	if (!row.name)
		row.name = "";
	if (!row.path)
		row.path = "";
	check(mt_writer_lifecycle(writer, &row, 1), "lifecycle");
}

static void birth(struct mt_writer *writer, uint64_t time, uint32_t process, uint32_t parent,
		  uint32_t pid, bool shares, const char *name)
{
	lifecycle(writer, (struct mt_lifecycle){
		.type = parent == UINT32_MAX ? MT_LC_START : MT_LC_FORK, .time = time,
		.process = process, .parent = parent == UINT32_MAX ? 0 : parent, .pid = pid,
		.shares_memory = shares, .name = name });
}

static void thread(struct mt_writer *writer, uint64_t time, uint32_t process, uint32_t index,
		   uint32_t tid, const char *name)
{
	lifecycle(writer, (struct mt_lifecycle){ .type = MT_LC_THREAD, .time = time,
		.process = process, .thread = index, .tid = tid, .name = name });
}

static void map(struct mt_writer *writer, uint64_t time, uint32_t process, uint64_t start,
		uint64_t end, uint64_t offset, uint64_t ino, const char *path)
{
	struct mt_mapping row = {
		.type = MT_MAP_MAP, .time = time, .process = process, .start = start, .end = end,
		.offset = offset, .dev_major = 8, .dev_minor = 1, .ino = ino, .path = path,
	};

	check(mt_writer_mappings(writer, &row, 1), "mapping");
}

static void clear(struct mt_writer *writer, uint64_t time, uint32_t process)
{
	struct mt_mapping row = {
		.type = MT_MAP_EXEC_CLEAR, .time = time, .process = process, .path = "",
	};

	check(mt_writer_mappings(writer, &row, 1), "clear");
}

static void event(struct mt_writer *writer, struct mt_event row)
{
	if (!row.begin)
		row.begin = row.time;
	check(mt_writer_events(writer, &row, 1), "event");
}

enum shape { WHOLE, CUT, ASTRAY };

/*
 * A stack whose functions keep frame pointers: pcs[0] is the allocator's entry, the others return
 * addresses. WHOLE ends where the captured bytes and the stack end; CUT goes on above the
 * captured bytes; ASTRAY has a frame pointer that leads nowhere.
 */
static void stack(struct mt_writer *writer, uint32_t id, uint32_t process, uint32_t thread_index,
		  uint64_t time, const uint64_t *pcs, size_t n, enum shape shape)
{
	uint64_t words[64] = { 0 };
	struct mt_stack row = {
		.id = id, .process = process, .thread = thread_index, .time = time,
		.identity = id * 7919u, .n_regs = 17,
		.bytes = (const uint8_t *)words,
	};
	size_t at = 0, i;

	words[at++] = pcs[1];
	row.regs[6] = n > 2 || shape == CUT ? STACK_BASE + 8 * at : 0;
	for (i = 2; i < n; i++) {
		words[at] = i + 1 < n || shape == CUT ? STACK_BASE + 8 * (at + 2) : 0;
		at++;
		words[at++] = pcs[i];
	}
	if (shape == ASTRAY)
		for (i = 0; i < 4; i++)
			words[at++] = 0x1111 * (i + 1);
	row.regs[7] = STACK_BASE;
	row.regs[16] = pcs[0];
	row.flags = shape == CUT ? MT_STACK_CUT_BUDGET : 0;
	row.above = shape == CUT ? 4096 : 0;
	row.n_bytes = (uint32_t)(8 * at);
	check(mt_writer_stacks(writer, &row, 1), "stack");
}

/*
 * tree.mt - a shell forks a child that executes prog, which vforks and executes a shell.
 *
 *	ms	what					live bytes after it
 *	10	sh: A = malloc(100)	stack 1		100
 *	11	sh: B = malloc(50)	stack 2		150
 *	20	sh forks 101
 *	21	101: free(A)		inherited	150
 *	22	101: C = malloc(300)	stack 1		450
 *	23	sh: free(B)		temporary	400
 *	24	101: free(B)		inherited	400
 *	25	101 executes prog: C is discarded	100
 *	30	prog: realloc(NULL, 64)	stack 3		164
 *	31	the same block to 128	stack 3		100, 228
 *	32	to 256, begun at 31.9	stack 4		100 ... 372
 *	31.95	thread 102 gets the old address: 16 bytes, stack 5	116
 *	33	102 frees it		temporary	356
 *	34	calloc(1000)		stack 4		1356
 *	35	aligned(500)		stack 3		1856	the peak: 4 blocks
 *	36	free of that		temporary	1356
 *	37	free of the 256				1100
 *	40	prog vforks 103
 *	41	103: malloc(8)		stack 3		1108
 *	42	103 executes sh; prog keeps what 103 allocated for it
 *	43	103: malloc(700)	stack 6		1808
 *	44	103 exits: 700 leaked			1108
 *	45	prog frees the 8			1100
 *	46	prog frees what nobody allocated	1100
 *	50	prog exits: 1000 leaked			100
 *	60	sh exits: 100 leaked			0
 *
 * 19 events: 11 allocations of 100 + 50 + 300 + 64 + 128 + 256 + 16 + 1000 + 500 + 8 + 700 = 3122
 * bytes, 8 frees, 3 temporary. Not freed: 100 + 1000 + 700 = 1800 bytes in 3 blocks.
 * Stacks 1, 2 and 6 are one call path (sh is mapped elsewhere in 103): 100 + 50 + 300 + 700
 * = 1150 bytes, 100 at the peak, 800 not freed. Stack 3: 64 + 128 + 500 + 8 = 700, 500 at the
 * peak. Stack 4 (truncated): 256 + 1000 = 1256, all at the peak, 1000 not freed. Stack 5 (no
 * unwind information): 16.
 */
static void make_tree(const char *dir)
{
	static const uint64_t sh_path[] = { LIBC + 0x1000, 0x401100, 0x401020 };
	static const uint64_t sh2_path[] = { LIBC + 0x1000, 0x501100, 0x501020 };
	static const uint64_t prog_path[] = { LIBC + 0x2000, 0x401230, 0x401300, 0x401040 };
	static const uint64_t deep_path[] = { LIBC + 0x2000, 0x401450, 0x401450 };
	static const uint64_t thread_path[] = { LIBC + 0x1000, 0x401600 };
	struct mt_writer *w = begin(dir, "tree.mt", &plain_header);
	struct mt_checkpoint checkpoint = { .time = MS(24.5) };

	birth(w, MS(0), 0, UINT32_MAX, 100, false, "sh");
	thread(w, MS(0), 0, 0, 100, "sh");
	map(w, MS(0), 0, 0x401000, 0x404000, 0x1000, 10, "/opt/golden/sh");
	map(w, MS(0), 0, LIBC, LIBC + 0x100000, 0x26000, 12, "/opt/golden/libc.so");
	stack(w, 1, 0, 0, MS(10), sh_path, 3, WHOLE);
	stack(w, 2, 0, 0, MS(11), sh_path, 3, WHOLE);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(10), .addr = 0x1000,
				    .size = 100, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(11), .addr = 0x1100,
				    .size = 50, .stack = 2 });
	birth(w, MS(20), 1, 0, 101, false, NULL);
	thread(w, MS(20), 1, 1, 101, NULL);
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(21), .addr = 0x1000,
				    .thread = 1 });
	/* Submitted in another order than stamped: 24, 22, 23. */
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(24), .addr = 0x1100,
				    .thread = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(22), .addr = 0x1000,
				    .size = 300, .thread = 1, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(23), .addr = 0x1100 });
	check(mt_writer_checkpoint(w, &checkpoint), "checkpoint");

	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXEC, .time = MS(26), .process = 1,
					    .name = "prog", .path = "/opt/golden/prog" });
	clear(w, MS(25), 1);
	map(w, MS(25.5), 1, 0x401000, 0x403000, 0x1000, 11, "/opt/golden/prog");
	map(w, MS(25.6), 1, LIBC, LIBC + 0x100000, 0x26000, 12, "/opt/golden/libc.so");
	thread(w, MS(29), 1, 2, 102, "worker");
	stack(w, 3, 1, 1, MS(29.9), prog_path, 4, WHOLE);
	stack(w, 4, 1, 1, MS(31.9), deep_path, 3, CUT);
	stack(w, 5, 1, 2, MS(31.95), thread_path, 2, ASTRAY);
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(30), .begin = MS(29.9),
				    .addr = 0x2000, .size = 64, .thread = 1, .stack = 3 });
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(31), .begin = MS(30.9),
				    .addr = 0x2000, .old_addr = 0x2000, .size = 128, .thread = 1,
				    .stack = 3 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(31.95), .addr = 0x2000,
				    .size = 16, .thread = 2, .stack = 5 });
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(32), .begin = MS(31.9),
				    .addr = 0x3000, .old_addr = 0x2000, .size = 256, .thread = 1,
				    .stack = 4 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(33), .addr = 0x2000,
				    .thread = 2 });
	event(w, (struct mt_event){ .type = MT_EV_CALLOC, .time = MS(34), .addr = 0x4000,
				    .size = 1000, .thread = 1, .stack = 4 });
	event(w, (struct mt_event){ .type = MT_EV_ALIGNED, .time = MS(35), .addr = 0x5000,
				    .size = 500, .align = 64, .thread = 1, .stack = 3 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(36), .addr = 0x5000,
				    .thread = 1 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(37), .addr = 0x3000,
				    .thread = 1 });

	birth(w, MS(40), 2, 1, 103, true, NULL);
	thread(w, MS(40), 2, 3, 103, NULL);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(41), .addr = 0x6000,
				    .size = 8, .thread = 3, .stack = 3 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXEC, .time = MS(42), .process = 2,
					    .name = "sh", .path = "/opt/golden/sh" });
	map(w, MS(42.5), 2, 0x501000, 0x504000, 0x1000, 10, "/opt/golden/sh");
	map(w, MS(42.6), 2, LIBC, LIBC + 0x100000, 0x26000, 12, "/opt/golden/libc.so");
	stack(w, 6, 2, 3, MS(43), sh2_path, 3, WHOLE);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(43), .addr = 0x6000,
				    .size = 700, .thread = 3, .stack = 6 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXIT, .time = MS(44), .process = 2 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(45), .addr = 0x6000,
				    .thread = 1 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(46), .addr = 0x7777,
				    .thread = 1 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_THREAD_EXIT, .time = MS(49),
					    .process = 1, .thread = 2 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXIT, .time = MS(50), .process = 1,
					    .status = 1 << 8 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXIT, .time = MS(60), .process = 0 });
	finish(w, MS(61), 0);
}

static void one_process(struct mt_writer *w)
{
	birth(w, MS(0), 0, UINT32_MAX, 100, false, "prog");
	thread(w, MS(0), 0, 0, 100, "prog");
}

/*
 * lost.mt - no modules. 2 allocations of 10 and 20 bytes with a stack that is defined (and has no
 * mapping), 1 of 40 whose stack 9 was lost, 1 of 80 without a stack; 5 events, 2 stacks and
 * 1 mapping were lost. The loss rows are running totals: 3 events at the checkpoint, then 5.
 */
static void make_lost(const char *dir)
{
	static const uint64_t path[] = { 0x9000, 0x9100 };
	static const struct mt_loss first[] = {
		{ .source = "events", .cause = "ring_full", .count = 3, .first = START + 2000000,
		  .last = START + 2500000 },
	};
	static const struct mt_loss last[] = {
		{ .source = "events", .cause = "ring_full", .count = 5, .first = START + 2000000,
		  .last = START + 3500000 },
		{ .source = "stacks", .cause = "ring_full", .count = 2 },
		{ .source = "mappings", .cause = "kernel", .count = 1 },
	};
	struct mt_checkpoint checkpoint = { .time = MS(3), .lost = 3 };
	struct mt_writer *w = begin(dir, "lost.mt", &plain_header);

	one_process(w);
	stack(w, 1, 0, 0, MS(1), path, 2, WHOLE);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(1), .addr = 0x1000,
				    .size = 10, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(2), .addr = 0x2000,
				    .size = 40, .stack = 9 });
	check(mt_writer_loss(w, first, 1), "loss");
	check(mt_writer_checkpoint(w, &checkpoint), "checkpoint");
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(4), .addr = 0x3000,
				    .size = 80 });
	/* Where a block was that nobody freed: its free was lost. */
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(5), .addr = 0x1000,
				    .size = 20, .stack = 1 });
	check(mt_writer_loss(w, last, 3), "loss");
	finish(w, MS(6), 8);
}

/* killed.mt - 3 allocations of 1000 bytes before the last checkpoint, no end after it. */
static void make_killed(const char *dir)
{
	struct mt_checkpoint checkpoint = { .time = MS(1000) };
	struct mt_writer *w = begin(dir, "killed.mt", &plain_header);
	uint32_t i;

	one_process(w);
	for (i = 0; i < 3; i++)
		event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(10 + i),
					    .addr = 0x1000 * (i + 1), .size = 1000 });
	check(mt_writer_checkpoint(w, &checkpoint), "checkpoint");
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(1001), .addr = 0x9000,
				    .size = 1 });
	mt_writer_free(w);
}

/* none.mt - a command that allocates nothing. */
static void make_none(const char *dir)
{
	struct mt_writer *w = begin(dir, "none.mt", &plain_header);

	one_process(w);
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXIT, .time = MS(1) });
	finish(w, MS(2), 0);
}

/*
 * odd.mt - names that could break lines, terminals or folded stacks; --stack-size 0 but for two
 * stacks; realloc to nothing; zero bytes. By hand: 4 allocations (0, 24, 48, 7), 79 bytes; 2
 * frees, one of them realloc(p, 0), both temporary; live 0 + 7 bytes in 2 blocks; peak 48
 * bytes in 2 blocks (with the block of zero bytes).
 */
static void make_odd(const char *dir)
{
	static const char *const args[] = { "a b", "it's", "", "tab\there", "$(x)", "esc\033[31m" };
	static const uint64_t path[] = { 0x11000, 0x11100, 0x12200 };
	struct mt_header header = plain_header;
	struct mt_writer *w;

	header.stack_size = 0;
	header.n_args = MT_ARRAY_SIZE(args);
	header.args = (const char **)args;
	w = begin(dir, "odd.mt", &header);
	birth(w, MS(0), 0, UINT32_MAX, 100, false, "na\nme");
	thread(w, MS(0), 0, 0, 100, "na\nme");
	map(w, MS(0), 0, 0x11000, 0x12000, 0, 7, "/odd/semi;colon and\nline\033[31m");
	map(w, MS(0), 0, 0x12000, 0x13000, 0x5000, 8, "/odd/caf\xc3\xa9 \xff");
	stack(w, 1, 0, 0, MS(1), path, 3, WHOLE);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(1), .addr = 0x1000,
				    .size = 0, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(2), .addr = 0x2000,
				    .size = 24, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(3), .addr = 0x2000 });
	event(w, (struct mt_event){ .type = MT_EV_ALIGNED, .time = MS(4), .addr = 0x3000,
				    .align = 4096, .size = 48 });
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(6), .begin = MS(5),
				    .old_addr = 0x3000 });
	event(w, (struct mt_event){ .type = MT_EV_CALLOC, .time = MS(7), .addr = 0x4000,
				    .size = 7 });
	finish(w, MS(8), 0);
}

/*
 * sampled.mt - one allocation in 1000 bytes. Without stacks. A block of some size stands for
 * 1 / (1 - exp(-size / 1000)) blocks.
 *
 *	ms	what					stands for	bytes	in use after it
 *	1	A = malloc(0)				1000.500	0	0
 *	2	B = calloc(100)				10.508		1051	1051
 *	3	mark half
 *	4	C = realloc(0, 1000)			1.582		1582	2633
 *	5	D = realloc(C, 100000), begun at 4.5	1		100000	101051	the peak
 *	6	free(B)							100000
 *	7	a free that nothing is known of				100000
 *
 * All: 6 events, 4 allocations taken; 1013.590 allocations of 102633 bytes; 10.508 frees and one
 * that is unmatched; 1001.5 blocks of 100000 bytes not freed; 1012.008 blocks at the peak. At half:
 * 1011.008 allocations of 1051 bytes. That malloc(0) is worth 1000 times what it was is how seldom
 * one is taken.
 */
static void make_sampled(const char *dir)
{
	static const struct mt_mark mark = {
		.type = MT_MARK_NAME, .time = START + 3000000, .name = "half",
	};
	struct mt_header header = plain_header;
	struct mt_writer *w;

	header.format_version = MT_FORMAT_VERSION_SAMPLED;
	header.min_reader_version = MT_FORMAT_VERSION_SAMPLED;
	header.stack_size = 0;
	header.sample_bytes = 1000;
	w = begin(dir, "sampled.mt", &header);
	one_process(w);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(1), .addr = 0x1000 });
	event(w, (struct mt_event){ .type = MT_EV_CALLOC, .time = MS(2), .addr = 0x2000,
				    .size = 100 });
	check(mt_writer_marks(w, &mark, 1), "marks");
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(4), .begin = MS(4),
				    .addr = 0x3000, .size = 1000 });
	event(w, (struct mt_event){ .type = MT_EV_REALLOC, .time = MS(5), .begin = MS(4.5),
				    .old_addr = 0x3000, .addr = 0x4000, .size = 100000 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(6), .addr = 0x2000 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(7), .addr = 0x9000 });
	finish(w, MS(8), 0);
}

/*
 * marks.mt - marks, and a time without recording. Without stacks.
 *
 *	ms	what					live bytes after it
 *	1	A = malloc(100)				100
 *	2	mark load
 *	3	B = malloc(200)				300
 *	4	free(A)					200
 *	5	mark run, and C = malloc(400)		600	what happens then is after it
 *	6	disable
 *	7	free(B), free of an unknown block	400
 *	8	enable
 *	9	free of an unknown block
 *	10	mark run
 *	11	D = malloc(800)				1200	the peak: 2 blocks
 *	12	a mark whose name is not UTF-8
 *
 * All: 4 allocations of 1500 bytes, 3 frees, 1 of them unmatched, 1 more while disabled; 1200
 * bytes in 2 blocks not freed. From load to run: 1 allocation of 200 bytes, not freed; 1 free,
 * unmatched. From run to run#2: 1 allocation of 400 bytes, not freed; 1 free, unmatched, and 2
 * while disabled. Disabled for 2 ms.
 */
static void make_marks(const char *dir)
{
	static const struct mt_mark marks[] = {
		{ .type = MT_MARK_NAME, .time = START + 2000000, .name = "load" },
		{ .type = MT_MARK_NAME, .time = START + 5000000, .name = "run" },
		{ .type = MT_MARK_DISABLE, .time = START + 6000000, .name = "" },
		{ .type = MT_MARK_ENABLE, .time = START + 8000000, .name = "" },
		{ .type = MT_MARK_NAME, .time = START + 10000000, .name = "run" },
		{ .type = MT_MARK_NAME, .time = START + 12000000, .name = "caf\xe9 au\033lait" },
	};
	struct mt_checkpoint checkpoint = { .time = MS(6.5) };
	struct mt_header header = plain_header;
	struct mt_writer *w;

	header.stack_size = 0;
	w = begin(dir, "marks.mt", &header);
	one_process(w);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(1), .addr = 0x1000,
				    .size = 100 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(3), .addr = 0x2000,
				    .size = 200 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(4), .addr = 0x1000 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(5), .addr = 0x3000,
				    .size = 400 });
	check(mt_writer_marks(w, marks, 3), "marks");
	check(mt_writer_checkpoint(w, &checkpoint), "checkpoint");
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(7), .addr = 0x2000 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(7), .addr = 0x9000 });
	event(w, (struct mt_event){ .type = MT_EV_FREE, .time = MS(9), .addr = 0x9100 });
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(11), .addr = 0x4000,
				    .size = 800 });
	check(mt_writer_marks(w, marks + 3, 3), "marks");
	finish(w, MS(14), 0);
}

/*
 * regions.mt - recorded with --mmap. In pages of 4096 bytes:
 *
 *	ms	what					mapped after it, in regions
 *	1	malloc(100)		stack 1		0	not a part of it
 *	2	A = mmap(8)		stack 1		8	1
 *	3	B = mmap(16000 bytes of a file) stack 2	12	2
 *	4	munmap(2 in the middle of A)		10	3
 *	5	mmap(2, MAP_FIXED) over A's last page, and one more, stack 2	11	4
 *	6	mremap of B to 6, begun at 5.5, stack 3	13	4
 *	7	mremap of A's 3 other last pages to 1 elsewhere, begun at 6.5, stack 3	... 14	5
 *	6.8	thread 102 maps 3 there, stack 1	13	4
 *	8	brk adds 5		stack 1		19	6
 *	9	brk adds 1.5		stack 1		21	7	the peak
 *	10	brk leaves 2				16	6
 *	11	the process forks 101
 *	12	101: munmap(B)		inherited	16	6
 *	13	101: mmap(3) there	stack 1		19	7
 *	14	101 executes prog: discarded		16	6
 *	15	101: mmap(2)		no stack	18	7
 *	16	munmap of what nobody mapped		18	7
 *	17	101 exits: 2 kept			16	6
 *	18	mremap of shared memory, size 0, to 1 elsewhere, stack 3	17	7
 *	20	the process exits: 17 kept
 *
 * 11 calls that map 8 + 4 + 2 + 6 + 1 + 3 + 5 + 2 + 3 + 2 + 1 = 37 pages, 151552 bytes: stack 1 21,
 * stack 2 6, stack 3 8, no stack 2. 4 that unmap, 1 of them unmatched and 1 inherited. The peak is
 * 86016 bytes. Kept: 77824 bytes in 8 regions.
 */
static void make_regions(const char *dir)
{
	static const uint64_t paths[3][3] = {
		{ LIBC + 0x3000, 0x401100, 0x401020 }, { LIBC + 0x3000, 0x401200, 0x401020 },
		{ LIBC + 0x4000, 0x401300, 0x401020 },
	};
	struct mt_writer *w = begin(dir, "regions.mt", &plain_header);
	uint32_t i;

	one_process(w);
	thread(w, MS(0.5), 0, 1, 102, "worker");
	map(w, MS(0), 0, 0x401000, 0x404000, 0x1000, 11, "/opt/golden/prog");
	map(w, MS(0), 0, LIBC, LIBC + 0x100000, 0x26000, 12, "/opt/golden/libc.so");
	for (i = 0; i < 3; i++)
		stack(w, i + 1, 0, 0, MS(1), paths[i], 3, WHOLE);
	event(w, (struct mt_event){ .type = MT_EV_MALLOC, .time = MS(1), .addr = 0x500010,
				    .size = 100, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MMAP, .time = MS(2), .addr = 0x100000,
				    .size = 0x8000, .prot = 3, .flags = 0x22, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MMAP, .time = MS(3), .addr = 0x200000,
				    .size = 16000, .prot = 1, .flags = 2, .stack = 2 });
	event(w, (struct mt_event){ .type = MT_EV_MUNMAP, .time = MS(4), .addr = 0x102000,
				    .size = 0x2000 });
	event(w, (struct mt_event){ .type = MT_EV_MMAP, .time = MS(5), .addr = 0x107000,
				    .size = 0x2000, .prot = 3, .flags = 0x32, .stack = 2 });
	event(w, (struct mt_event){ .type = MT_EV_MREMAP, .time = MS(6), .begin = MS(5.5),
				    .addr = 0x200000, .old_addr = 0x200000, .size = 0x6000,
				    .old_size = 16000, .stack = 3 });
	event(w, (struct mt_event){ .type = MT_EV_MMAP, .time = MS(6.8), .addr = 0x104000,
				    .size = 0x3000, .prot = 3, .flags = 0x22, .stack = 1,
				    .thread = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MREMAP, .time = MS(7), .begin = MS(6.5),
				    .addr = 0x300000, .old_addr = 0x104000, .size = 0x1000,
				    .old_size = 0x3000, .stack = 3 });
	event(w, (struct mt_event){ .type = MT_EV_BRK, .time = MS(8), .addr = 0x500000,
				    .size = 0x5000, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_BRK, .time = MS(9), .addr = 0x500000,
				    .size = 0x6800, .old_size = 0x5000, .stack = 1 });
	event(w, (struct mt_event){ .type = MT_EV_BRK, .time = MS(10), .addr = 0x500000,
				    .size = 0x2000, .old_size = 0x6800 });
	birth(w, MS(11), 1, 0, 101, false, NULL);
	thread(w, MS(11), 1, 2, 101, NULL);
	event(w, (struct mt_event){ .type = MT_EV_MUNMAP, .time = MS(12), .addr = 0x200000,
				    .size = 0x6000, .thread = 2 });
	event(w, (struct mt_event){ .type = MT_EV_MMAP, .time = MS(13), .addr = 0x200000,
				    .size = 0x3000, .prot = 3, .flags = 0x22, .stack = 1,
				    .thread = 2 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXEC, .time = MS(14), .process = 1,
					    .name = "prog", .path = "/opt/golden/prog" });
	event(w, (struct mt_event){ .type = MT_EV_MMAP, .time = MS(15), .addr = 0x100000,
				    .size = 0x2000, .prot = 3, .flags = 0x22, .thread = 2 });
	event(w, (struct mt_event){ .type = MT_EV_MUNMAP, .time = MS(16), .addr = 0x900000,
				    .size = 0x1000 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXIT, .time = MS(17), .process = 1 });
	event(w, (struct mt_event){ .type = MT_EV_MREMAP, .time = MS(18), .begin = MS(17.5),
				    .addr = 0x600000, .old_addr = 0x100000, .size = 0x1000,
				    .stack = 3 });
	lifecycle(w, (struct mt_lifecycle){ .type = MT_LC_EXIT, .time = MS(20), .process = 0 });
	finish(w, MS(21), 0);
}

/* newer.mt - whoever reads this must know format 1000. */
static void make_newer(const char *dir)
{
	struct mt_header header = plain_header;

	header.format_version = 1000;
	header.min_reader_version = 1000;
	finish(begin(dir, "newer.mt", &header), MS(1), 0);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: make_artifacts DIR\n", stderr);
		return 64;
	}
	make_tree(argv[1]);
	make_lost(argv[1]);
	make_killed(argv[1]);
	make_none(argv[1]);
	make_odd(argv[1]);
	make_sampled(argv[1]);
	make_marks(argv[1]);
	make_regions(argv[1]);
	make_newer(argv[1]);
	return failed;
}
