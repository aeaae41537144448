/*
 * tests/bench/bench_report.c - time and memory that mt-report takes for a large recording.
 *
 *	bench_report MT_REPORT FILE [EVENTS]
 *
 * Writes FILE, if it is not there, with that many events (100 million): half of them allocations
 * of 4 threads, a million blocks live at the most, 200000 stacks; now and then a process is forked,
 * executes a program that maps a file, and ends. Finds all mappings and processes in it; then runs
 * each command of MT_REPORT on it, and prints what it took and the most memory it had. Targets:
 * 50 ms for finding, 500 MiB.
 */
#include "common/artifact.h"
#include "common/error.h"
#include "record/writer.h"
#include "report/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START 1000000000000ull
#define BLOCK 32768u
#define LIVE_MAX 1000000u
#define STACKS 200000u
#define STACK_BYTES 512u
#define CHECKPOINT_EVENTS (BLOCK * 64)

static const struct mt_header header = {
	.format_version = 1, .min_reader_version = 1, .producer = "bench", .arch = "x86_64",
	.byte_order = "little", .kernel = "", .hostname = "", .clock = "monotonic",
	.start_time = START, .page_size = 4096, .code_mask = UINT64_MAX, .stack_size = 32768,
	.watch = "tracepoint", .attach = "multi", .mapping_source = "perf", .cwd = "/",
};

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int write_process(struct mt_writer *writer)
{
	struct mt_lifecycle row = { .type = MT_LC_START, .time = START, .pid = 100,
				    .name = "bench", .path = "" };
	int err = mt_writer_lifecycle(writer, &row, 1);
	uint32_t i;

	for (i = 0; i < 4 && !err; i++) {
		row = (struct mt_lifecycle){ .type = MT_LC_THREAD, .time = START, .thread = i,
					     .tid = 100 + i, .name = "bench", .path = "" };
		err = mt_writer_lifecycle(writer, &row, 1);
	}
	return err;
}

/* A child comes and goes. */
static int write_child(struct mt_writer *writer, uint32_t n, uint64_t time)
{
	const struct mt_lifecycle rows[] = {
		{ .type = MT_LC_FORK, .time = time, .process = n, .pid = 1000 + n, .name = "bench",
		  .path = "" },
		{ .type = MT_LC_EXEC, .time = time, .process = n, .pid = 1000 + n, .name = "child",
		  .path = "/bin/child" },
		{ .type = MT_LC_EXIT, .time = time, .process = n, .pid = 1000 + n, .name = "",
		  .path = "" },
	};
	const struct mt_mapping mapping = {
		.type = MT_MAP_MAP, .time = time, .process = n, .start = 0x400000, .end = 0x500000,
		.ino = 1, .path = "/bin/child",
	};
	int err = mt_writer_lifecycle(writer, rows, MT_ARRAY_SIZE(rows));

	return err ? err : mt_writer_mappings(writer, &mapping, 1);
}

static int write_stacks(struct mt_writer *writer)
{
	static uint8_t bytes[STACK_BYTES];
	struct mt_stack stack = { .time = START, .n_regs = 17, .bytes = bytes,
				  .n_bytes = sizeof(bytes) };
	uint32_t i;
	int err = 0;

	for (i = 0; i < STACKS && !err; i++) {
		stack.id = i + 1;
		stack.identity = stack.id;
		stack.regs[7] = 0x7ffd00000000;
		stack.regs[16] = 0x401000 + i % 5000;
		bytes[i % STACK_BYTES] ^= (uint8_t)next_random();
		err = mt_writer_stacks(writer, &stack, 1);
	}
	return err;
}

/* The pool: addresses [0, live) are in use. */
static void make_events(struct mt_event *events, uint32_t n, uint64_t *pool, uint32_t *live,
			uint64_t *time)
{
	uint64_t r, swap;
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		r = next_random();
		*time += 20 + r % 500;
		events[i] = (struct mt_event){ .time = *time, .begin = *time,
					       .thread = (uint32_t)(r >> 20 & 3),
					       .type = MT_EV_FREE };
		/* First the heap grows, then it stays about as it is. */
		if (*live < LIVE_MAX && (!*live || r >> 63 || (*live < LIVE_MAX / 2 && r >> 62))) {
			events[i].type = MT_EV_MALLOC;
			events[i].addr = pool[(*live)++];
			events[i].size = 16 << (r >> 32 & 7);
			events[i].stack = (uint32_t)(r >> 36) % STACKS + 1;
		} else {
			k = (uint32_t)(r >> 24) % *live;
			events[i].addr = swap = pool[k];
			pool[k] = pool[--*live];
			pool[*live] = swap;
		}
	}
}

static int write_events(struct mt_writer *writer, uint64_t n_events, uint64_t *time)
{
	struct mt_event *events = calloc(BLOCK, sizeof(*events));
	uint64_t *pool = calloc(LIVE_MAX, sizeof(*pool)), done;
	struct mt_checkpoint checkpoint = { 0 };
	uint32_t i, n, live = 0;
	int err = events && pool ? 0 : -ENOMEM;

	for (i = 0; !err && i < LIVE_MAX; i++)
		pool[i] = 0x55d000000000ull + (uint64_t)i * 64;
	for (done = 0; !err && done < n_events; done += n) {
		n = n_events - done < BLOCK ? (uint32_t)(n_events - done) : BLOCK;
		make_events(events, n, pool, &live, time);
		err = mt_writer_events(writer, events, n);
		checkpoint.time = *time;
		if (err || done % CHECKPOINT_EVENTS)
			continue;
		err = write_child(writer, 1 + (uint32_t)(done / CHECKPOINT_EVENTS), *time);
		if (!err)
			err = mt_writer_checkpoint(writer, &checkpoint);
	}
	free(events);
	free(pool);
	return err;
}

static int write_file(const char *path, uint64_t n_events)
{
	struct mt_trailer trailer = { .end_reason = "exited" };
	struct mt_writer *writer = NULL;
	uint64_t time = START;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666), err;

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	err = mt_writer_open(fd, &header, &writer);
	if (!err)
		err = write_process(writer);
	if (!err)
		err = write_stacks(writer);
	if (!err)
		err = write_events(writer, n_events, &time);
	trailer.end_time = time;
	if (!err)
		err = mt_writer_finish(writer, &trailer);
	mt_writer_free(writer);
	return err;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Everything about address spaces, and nothing else: rows by kind. */
static int read_spaces(const char *path, uint32_t rows[MT_BLOCK_KINDS])
{
	const struct mt_block *block;
	struct mt_reader *reader;
	int err = mt_reader_open(path, &reader);

	if (err)
		return err;
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_LIFECYCLE) |
				 MT_KIND_BIT(MT_BLOCK_MAPPINGS));
	while ((err = mt_reader_next(reader, &block)) == 1)
		rows[block->kind] += block->n;
	mt_reader_free(reader);
	return err;
}

/* Whoever reads it next waits for the disk, if it is on one. */
static void forget(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* The first time the file comes from the disk; later others use the machine. */
static int find_spaces(const char *path)
{
	uint32_t rows[MT_BLOCK_KINDS];
	double begin, took, first = 0, least = 1e9;
	int i, err = 0;

	forget(path);
	for (i = 0; i < 10 && !err; i++) {
		memset(rows, 0, sizeof(rows));
		begin = now();
		err = read_spaces(path, rows);
		took = (now() - begin) * 1e3;
		first = i ? first : took;
		least = took < least ? took : least;
	}
	printf("find %" PRIu32 " mappings and %" PRIu32 " forks, execs, exits: %.1f ms, from disk "
	       "%.1f ms, %s 50\n", rows[MT_BLOCK_MAPPINGS], rows[MT_BLOCK_LIFECYCLE], least, first,
	       least < 50 ? "under" : "NOT under");
	return err;
}

/* The program and its arguments, of which the last is NULL. */
static int measure(char *const *args)
{
	double begin = now();
	struct rusage usage;
	int status, null;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		null = open("/dev/null", O_WRONLY);
		if (null >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0)
			execv(args[0], args);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return -EIO;
	printf("%-10s %6.1f s, %6.1f s of processor time, at most %4ld MiB, %s 500\n", args[1],
	       now() - begin,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
	       usage.ru_maxrss / 1024, usage.ru_maxrss < 500 * 1024 ? "under" : "NOT under");
	return 0;
}

/* Each command; what they write goes to a folder that is removed. */
static int measure_all(char *program, char *path)
{
	char dir[] = "/tmp/bench_report.XXXXXX", command[64], out[64];
	char *const commands[][8] = {
		{ program, "check", path, NULL },
		{ program, "stat", "--no-cache", path, NULL },
		{ program, "top", "--no-cache", path, NULL },
		{ program, "folded", "--no-cache", path, NULL },
		{ program, "symbolize", "--no-cache", "-o", out, path, NULL },
		{ program, "pack", "--no-cache", "-o", out, path, NULL },
		{ program, "export", "--to", "memtrack", path, out, NULL },
		{ program, "dump", path, NULL },
	};
	size_t i;
	int err = 0;

	if (!mkdtemp(dir))
		return -errno;
	for (i = 0; i < MT_ARRAY_SIZE(commands) && !err; i++) {
		snprintf(out, sizeof(out), "%s/%zu", dir, i);
		err = measure(commands[i]);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? -EIO : err;
}

int main(int argc, char **argv)
{
	uint64_t n_events = argc > 3 ? strtoull(argv[3], NULL, 10) : 100000000;
	int err;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: bench_report MT_REPORT FILE [EVENTS]\n");
		return 64;
	}
	err = write_file(argv[2], n_events);
	if (!err)
		err = find_spaces(argv[2]);
	if (!err)
		err = measure_all(argv[1], argv[2]);
	if (err)
		fprintf(stderr, "bench_report: %s\n", mt_strerror(err));
	return err ? 2 : 0;
}
