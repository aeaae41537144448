/*
 * tests/bench/bench_codec.c - events through encode and zstd and back, on one core.
 *
 *	bench_codec [EVENTS]
 *
 * The mix: 48 % allocations of 8 common sizes, 10 % reallocs, frees; 4 threads; stamps 50 to
 * 2000 ns apart; addresses of freed blocks used again at random. Prints millions of events a
 * second of processor time, and bytes an event.
 */
#include "common/artifact_events.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"
#include "record/writer.h"
#include "report/aggregate.h"
#include "report/reader.h"
#include "report/session.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 32768u
#define LIVE_MAX 200000u
#define STACKS 3000u
#define CHECKPOINT 1000000u
#define NEAR 2048u

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * The next rows as the recorder has them, just decoded and in a core's cache: what they
 * cost to bring there is not measured. Returns the time at which they are.
 */
static double bring(struct mt_event *near, const struct mt_event *events, uint32_t n)
{
	memcpy(near, events, n * sizeof(*near));
	return seconds();
}

/* A pool of addresses: [0, live) are in use, the rest can be given out. */
static uint64_t pool[LIVE_MAX];

static void make_events(struct mt_event *events, uint32_t n)
{
	static const uint32_t sizes[8] = { 16, 24, 32, 48, 64, 100, 256, 1024 };
	uint64_t time = 1000000000000ull, swap, r;
	uint32_t i, k, live = LIVE_MAX / 4;

	for (i = 0; i < LIVE_MAX; i++)
		pool[i] = 0x55d000000000ull + (uint64_t)i * 64 + (i % 3) * 16;
	for (i = LIVE_MAX - 1; i > 0; i--) {
		k = (uint32_t)(next_random() % (i + 1));
		swap = pool[i];
		pool[i] = pool[k];
		pool[k] = swap;
	}
	memset(events, 0, (size_t)n * sizeof(*events));
	for (i = 0; i < n; i++) {
		r = next_random();
		time += 50 + r % 1951;
		events[i].time = events[i].begin = time;
		events[i].thread = (uint32_t)(r >> 20 & 3);
		k = (uint32_t)(r >> 24) % live;
		if ((r >> 56) * 100 < 48 * 256 && live < LIVE_MAX) {
			events[i].type = MT_EV_MALLOC;
			swap = live + (uint32_t)(r >> 24) % (LIVE_MAX - live);
			events[i].addr = pool[swap];
			pool[swap] = pool[live];
			pool[live++] = events[i].addr;
		} else if ((r >> 56) * 100 < 58 * 256 && live < LIVE_MAX) {
			events[i].type = MT_EV_REALLOC;
			events[i].old_addr = pool[k];
			events[i].begin = time - 40 - (r >> 8) % 200;
			events[i].addr = r >> 40 & 1 ? pool[live] : pool[k];
			pool[live] = r >> 40 & 1 ? pool[k] : pool[live];
			pool[k] = events[i].addr;
		} else {
			events[i].type = MT_EV_FREE;
			events[i].addr = pool[k];
			pool[k] = pool[--live];
			pool[live] = events[i].addr;
			live = live < 16 ? 16 : live;
		}
		if (events[i].type != MT_EV_FREE) {
			events[i].size = sizes[r >> 44 & 7];
			/* A few stacks do most of it. */
			events[i].stack = 1 + (uint32_t)((r >> 47 & 0x1ff) * (r >> 36 & 0x1ff) %
							 STACKS);
		}
	}
}

static void report(const char *what, uint32_t n, double took, uint64_t bytes)
{
	printf("%-28s %6.1f M/s", what, n / took / 1e6);
	if (bytes)
		printf("  %5.2f bytes an event", (double)bytes / n);
	putchar('\n');
}

static int bench_encode(const struct mt_event *events, uint32_t n)
{
	static struct mt_event near[NEAR];
	struct mt_event_encoder *encoder;
	size_t cuts[MT_EVENT_CUTS_MAX];
	double start, took = 0;
	uint64_t bytes = 0;
	struct mt_buf buf;
	uint32_t i, take, n_cuts;
	int err;

	mt_buf_init(&buf);
	err = mt_event_encoder_new(BLOCK, &encoder);
	for (i = 0; i < n && !err; i += take) {
		take = n - i < NEAR ? n - i : NEAR;
		start = bring(near, events + i, take);
		err = mt_event_encoder_add(encoder, near, take);
		if (!err && (mt_event_encoder_rows(encoder) == BLOCK || i + take == n)) {
			mt_buf_reset(&buf);
			err = mt_event_encoder_finish(encoder, &buf, cuts, &n_cuts);
			bytes += buf.len;
		}
		took += seconds() - start;
	}
	report("encode", n, took, bytes);
	mt_event_encoder_free(encoder);
	mt_buf_release(&buf);
	return err;
}

/* As often as a busy second ends. */
static int put_mappings(struct mt_writer *writer)
{
	static const struct mt_mapping row = {
		.type = MT_MAP_MAP, .start = 0x7f0000000000, .end = 0x7f0000100000, .ino = 1,
		.path = "/usr/lib/x86_64-linux-gnu/libc.so.6",
	};
	static const struct mt_checkpoint checkpoint;
	int err = mt_writer_mappings(writer, &row, 1);

	return err ? err : mt_writer_checkpoint(writer, &checkpoint);
}

static int put_threads(struct mt_writer *writer)
{
	struct mt_lifecycle row = { .type = MT_LC_START, .pid = 1, .name = "", .path = "" };
	int err = mt_writer_lifecycle(writer, &row, 1);
	uint32_t i;

	for (i = 0; i < 4 && !err; i++) {
		row = (struct mt_lifecycle){ .type = MT_LC_THREAD, .thread = i, .tid = 1 + i,
					     .name = "", .path = "" };
		err = mt_writer_lifecycle(writer, &row, 1);
	}
	return err;
}

static int bench_write(int fd, const struct mt_event *events, uint32_t n)
{
	static const struct mt_header header = {
		.format_version = MT_FORMAT_VERSION, .min_reader_version = 1, .producer = "",
		.arch = "x86_64", .byte_order = "little", .kernel = "", .hostname = "",
		.clock = "monotonic", .watch = "", .attach = "", .mapping_source = "", .cwd = "",
	};
	static const struct mt_trailer trailer = { .end_reason = "exited" };
	static struct mt_event near[NEAR];
	struct mt_writer *writer;
	double start, took = 0;
	uint32_t i, take;
	int err;

	err = mt_writer_open(fd, &header, &writer);
	if (err)
		return err;
	err = put_threads(writer);
	for (i = 0; i < n && !err; i += take) {
		take = n - i < NEAR ? n - i : NEAR;
		start = bring(near, events + i, take);
		err = mt_writer_events(writer, near, take);
		if (!err && i % CHECKPOINT < NEAR)
			err = put_mappings(writer);
		took += seconds() - start;
	}
	start = seconds();
	if (!err)
		err = mt_writer_finish(writer, &trailer);
	took += seconds() - start;
	report("encode, compress, write", n, took, mt_writer_bytes(writer));
	mt_writer_free(writer);
	return err;
}

static int bench_read(const char *path, uint32_t n)
{
	const struct mt_block *block;
	struct mt_reader *reader;
	double start = seconds();
	uint64_t sum = 0, got = 0;
	uint32_t i;
	int err;

	err = mt_reader_open(path, &reader);
	if (err)
		return err;
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_EVENTS));
	while ((err = mt_reader_next(reader, &block)) == 1) {
		for (i = 0; i < block->n; i++)
			sum += block->events[i].size;
		got += block->n;
	}
	mt_reader_free(reader);
	report("read, decompress, decode", n, seconds() - start, 0);
	return err ? err : got == n && sum ? 0 : -MT_E_CORRUPT;
}

/* What mt-report stat and top do with them. */
static int bench_profile(const char *path, uint32_t n)
{
	struct mt_session *session = NULL;
	struct mt_profile *profile = NULL;
	struct mt_reader *reader;
	double start = seconds();
	int err;

	err = mt_reader_open(path, &reader);
	if (err)
		return err;
	err = mt_session_load(reader, &session);
	if (!err)
		err = mt_profile_build(reader, session, NULL, &profile);
	report("read, decode, aggregate", n, seconds() - start, 0);
	if (!err && mt_profile_totals(profile)->events_read < n)
		err = -MT_E_CORRUPT;
	mt_profile_free(profile);
	mt_session_free(session);
	mt_reader_free(reader);
	return err;
}

/* The mappings alone: nothing else should be decompressed. */
static int bench_find(const char *path)
{
	const struct mt_block *block;
	struct mt_reader *reader;
	double start = seconds();
	uint32_t got = 0;
	int err;

	err = mt_reader_open(path, &reader);
	if (err)
		return err;
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_MAPPINGS));
	while ((err = mt_reader_next(reader, &block)) == 1)
		got += block->n;
	mt_reader_free(reader);
	printf("%-28s %6.2f ms\n", "find the mappings", (seconds() - start) * 1e3);
	return err ? err : got ? 0 : -MT_E_CORRUPT;
}

static int bench_decode(const struct mt_event *events, uint32_t n)
{
	struct mt_block block;
	struct mt_buf buf;
	size_t used, pos = 0;
	double start;
	uint32_t i;
	int err = 0;

	mt_buf_init(&buf);
	mt_block_init(&block);
	for (i = 0; i < n && !err; i += BLOCK)
		err = mt_encode_events(&buf, events + i, n - i < BLOCK ? n - i : BLOCK);
	start = seconds();
	while (pos < buf.len && !err) {
		err = mt_block_decode(&block, buf.data + pos, buf.len - pos, ~0u, &used);
		pos += used;
	}
	report("decode", n, seconds() - start, 0);
	mt_block_release(&block);
	mt_buf_release(&buf);
	return err;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4000000;
	char path[] = "/tmp/bench_codec.XXXXXX";
	struct mt_event *events = calloc(n, sizeof(*events));
	int fd = mkstemp(path), err = -ENOMEM;

	if (events && fd >= 0) {
		make_events(events, n);
		err = bench_encode(events, n);
		if (!err)
			err = bench_write(fd, events, n);
		if (!err)
			err = bench_decode(events, n);
		if (!err)
			err = bench_read(path, n);
		if (!err)
			err = bench_profile(path, n);
		if (!err)
			err = bench_find(path);
	}
	if (err)
		fprintf(stderr, "bench_codec: %s\n", mt_strerror(err));
	unlink(path);
	free(events);
	return err != 0;
}
