/*
 * tests/bench/bench_report.c - time and memory that mt-report takes for a large recording.
 *
 *	bench_report MT_REPORT FILE [EVENTS]
 *
 * Writes FILE, if it is not there, with that many events (100 million): half of them allocations
 * of 4 threads, a million blocks live at the most, 200000 stacks. Then runs stat and top of
 * MT_REPORT on it; prints what each took and the most memory it had.
 */
#include "common/artifact.h"
#include "common/error.h"
#include "record/writer.h"

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
		if (*live < LIVE_MAX && (!*live || r >> 63)) {
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
		if (!err && done % CHECKPOINT_EVENTS == 0)
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

static int measure(const char *program, const char *command, const char *path)
{
	struct timespec begin, end;
	struct rusage usage;
	int status, null;
	pid_t child;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	child = fork();
	if (!child) {
		null = open("/dev/null", O_WRONLY);
		if (null >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0)
			execl(program, program, command, path, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		return -errno;
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return -EIO;
	printf("%s: %.1f s, at most %ld MiB\n", command,
	       (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9,
	       usage.ru_maxrss / 1024);
	return 0;
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
		err = measure(argv[1], "stat", argv[2]);
	if (!err)
		err = measure(argv[1], "top", argv[2]);
	if (err)
		fprintf(stderr, "bench_report: %s\n", mt_strerror(err));
	return err ? 2 : 0;
}
