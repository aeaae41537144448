#include "record/writer.h"
#include "common/error.h"
#include "common/seek_table.h"
#include "report/reader.h"
#include "tests/unit/allocations.h"
#include "tests/unit/artifact_fixture.h"
#include "tests/unit/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/t_writer.XXXXXX";
static struct mt_writer *writer;
static struct mt_reader *reader;
static int fd;

static void setup(void)
{
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
}

static void teardown(void)
{
	mt_writer_free(writer);
	mt_reader_free(reader);
	unlink(path);
}

TestSuite(writer, .init = setup, .fini = teardown);

static const struct mt_trailer trailer = { .end_time = 99, .end_reason = "exited" };

static void put_all(void)
{
	mt_writer_lifecycle(writer, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	mt_writer_stacks(writer, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	mt_writer_events(writer, fixture_events, MT_ARRAY_SIZE(fixture_events));
	mt_writer_mappings(writer, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
	mt_writer_loss(writer, fixture_loss, MT_ARRAY_SIZE(fixture_loss));
}

static uint64_t file_size(void)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static struct mt_reader_end end_of_file(void)
{
	const struct mt_block *block;
	struct mt_reader_end end;

	mt_reader_free(reader);
	reader = NULL;
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	while (mt_reader_next(reader, &block) == 1)
		;
	mt_reader_end(reader, &end);
	return end;
}

/* Any zstd reads it, and what comes out is as long as the seek table says. */
Test(writer, zstd_reads_it)
{
	char command[256];

	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	put_all();
	mt_writer_checkpoint(writer, &fixture_checkpoint);
	put_all();
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	cr_assert_eq(mt_writer_bytes(writer), file_size());
	snprintf(command, sizeof(command), "zstd -tq %s && test $(zstd -dqc %s | wc -c) -gt 1000",
		 path, path);
	cr_assert_eq(system(command), 0);
}

/* The trailer vouches for the table of all frames before it. */
Test(writer, digest_of_the_seek_table)
{
	uint64_t digest = MT_SEEK_DIGEST_BASIS;
	struct mt_frame_entry *entries;
	uint32_t i, n;

	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	put_all();
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	cr_assert_eq(mt_seek_table_read(fd, file_size(), &entries, &n), 0);
	cr_assert_gt(n, 3);
	for (i = 0; i < n - 1; i++)
		digest = mt_seek_digest(digest, &entries[i]);
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	cr_assert_eq(mt_reader_trailer(reader)->seek_digest, digest);
	free(entries);
}

/* What was given first stands first, unless its kind comes later; nothing is left behind. */
Test(writer, order_of_frames)
{
	const struct mt_block *block;
	char kinds[32];
	size_t n = 0;

	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	put_all();
	/* A second round of everything, without a checkpoint between. */
	mt_writer_stacks(writer, fixture_stacks, 1);
	mt_writer_events(writer, fixture_events, 1);
	mt_writer_mappings(writer, fixture_mappings, 1);
	mt_writer_loss(writer, fixture_loss, 1);
	mt_writer_checkpoint(writer, &fixture_checkpoint);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	while (mt_reader_next(reader, &block) == 1)
		kinds[n++] = (char)('0' + block->kind);
	kinds[n] = '\0';
	cr_assert_str_eq(kinds, "123456345678");
}

Test(writer, counts_and_lag_are_filled_in)
{
	static const struct mt_event events[] = {
		/* A malloc's begin means nothing. */
		{ .type = MT_EV_MALLOC, .time = 1000, .begin = 0 },
		{ .type = MT_EV_REALLOC, .time = 1010, .begin = 970 },
		{ .type = MT_EV_FREE, .time = 990, .begin = 990 },
		{ .type = MT_EV_FREE, .time = 1005 },
	};
	const struct mt_block *block;

	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	mt_writer_events(writer, events, 3);
	mt_writer_checkpoint(writer, &fixture_checkpoint);
	mt_writer_events(writer, events + 3, 1);
	mt_writer_stacks(writer, fixture_stacks, 2);
	cr_assert_eq(mt_writer_event_count(writer), 4);
	cr_assert_eq(mt_writer_stack_count(writer), 2);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);

	cr_assert_eq(mt_reader_open(path, &reader), 0);
	cr_assert_eq(mt_reader_max_lag(reader), 30);
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_CHECKPOINT));
	cr_assert_eq(mt_reader_next(reader, &block), 1);
	cr_assert_eq(block->checkpoint->events, 3);
	cr_assert_eq(block->checkpoint->stacks, 0);
	cr_assert_eq(block->checkpoint->max_stamp, 1010);
	cr_assert_eq(block->checkpoint->max_lag, 30);
	cr_assert_eq(mt_reader_trailer(reader)->events, 4);
	cr_assert_eq(mt_reader_trailer(reader)->stacks, 2);
}

/* 300 MB of stacks and 100000 mappings go through streams of 2 MB and 256 KB. */
Test(writer, splits_what_is_large)
{
	enum { STACKS = 4500, MAPS = 100000 };
	static uint8_t bytes[MT_STACK_BYTES_MAX];
	struct mt_stack *stacks = calloc(STACKS, sizeof(*stacks));
	struct mt_mapping *maps = calloc(MAPS, sizeof(*maps));
	const struct mt_block *block;
	uint32_t i, n_stacks = 0, n_maps = 0;

	for (i = 0; i < STACKS; i++) {
		stacks[i] = (struct mt_stack){ .id = i + 1, .bytes = bytes,
					       .n_bytes = MT_STACK_BYTES_MAX, .n_regs = 17 };
	}
	for (i = 0; i < MAPS; i++) {
		maps[i] = (struct mt_mapping){ .type = MT_MAP_MAP, .time = i, .start = i,
					       .end = i + 1, .path = "/usr/lib/libx.so" };
	}
	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	cr_assert_eq(mt_writer_stacks(writer, stacks, STACKS), 0);
	cr_assert_eq(mt_writer_mappings(writer, maps, MAPS), 0);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	while (mt_reader_next(reader, &block) == 1) {
		if (block->kind == MT_BLOCK_STACKS) {
			cr_assert_eq(block->stacks[0].id, n_stacks + 1);
			n_stacks += block->n;
		}
		if (block->kind == MT_BLOCK_MAPPINGS) {
			cr_assert_eq(block->mappings[0].start, n_maps);
			n_maps += block->n;
		}
	}
	cr_assert_eq(n_stacks, STACKS);
	cr_assert_eq(n_maps, MAPS);
	free(stacks);
	free(maps);
}

/* No room for the next frame: what was whole stays, the error sticks. */
Test(writer, full_disk_leaves_whole_frames)
{
	struct rlimit limit = { 0, RLIM_INFINITY };
	struct mt_reader_end end;
	uint64_t before;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	put_all();
	cr_assert_eq(mt_writer_checkpoint(writer, &fixture_checkpoint), 0);
	before = file_size();
	cr_assert_eq(mt_writer_events_filed(writer), MT_ARRAY_SIZE(fixture_events));
	limit.rlim_cur = before + 20;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	put_all();
	cr_assert_eq(mt_writer_checkpoint(writer, &fixture_checkpoint), -EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(mt_writer_events(writer, fixture_events, 1), -EFBIG);
	cr_assert_eq(mt_writer_finish(writer, &trailer), -EFBIG);
	cr_assert_eq(file_size(), before);
	cr_assert_eq(mt_writer_events_filed(writer), MT_ARRAY_SIZE(fixture_events));
	cr_assert_gt(mt_writer_event_count(writer), MT_ARRAY_SIZE(fixture_events));

	end = end_of_file();
	cr_assert_eq(end.kind, MT_END_NO_TRAILER);
	cr_assert_eq(end.offset, before);
}

Test(writer, open_fails_without_taking_the_file)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_assert_geq(full, 0);
	cr_assert_eq(mt_writer_open(full, &fixture_header, &writer), -ENOSPC);
	cr_assert_null(writer);
	cr_assert_eq(close(full), 0);
}

Test(writer, into_a_pipe)
{
	int ends[2], status;
	pid_t pid;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	cr_assert_eq(mt_writer_open(ends[1], &fixture_header, &writer), 0);
	put_all();
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	mt_writer_free(writer);
	writer = NULL;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(end_of_file().kind, MT_END_COMPLETE);
}

Test(writer, over_large_rows_are_refused)
{
	struct mt_lifecycle row = fixture_lifecycle[3];
	char *name = calloc(1, MT_STRING_MAX + 2);

	memset(name, 'x', MT_STRING_MAX + 1);
	row.path = name;
	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	cr_assert_eq(mt_writer_lifecycle(writer, &row, 1), -MT_E_LIMIT);
	cr_assert_eq(mt_writer_checkpoint(writer, &fixture_checkpoint), -MT_E_LIMIT);
	free(name);
}

/* Frames of one checkpoint each. */
static int put_frames(uint32_t n)
{
	int err = 0;

	while (n-- && !err)
		err = mt_writer_checkpoint(writer, &fixture_checkpoint);
	return err;
}

/*
 * The index is all that grows with the file, and it ends: such a file is whole without one. It was
 * reserved at the start: to write allocates nothing.
 */
Test(writer, more_frames_than_are_indexed, .timeout = 120)
{
	struct mt_reader_end end;
	size_t start, most, at_end;
	unsigned long before;
	int err;

	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	put_all();
	start = held_bytes();
	before = allocations;
	cr_assert_gt(before, 0);
	/* Header, lifecycle, stacks and events have frames of their own. */
	err = put_frames(MT_SEEK_FRAMES_MAX);
	before = allocations - before;
	cr_assert_eq(err, 0);
	cr_assert_eq(before, 0, "%lu", before);
	most = held_bytes();
	cr_assert_eq(put_frames(200000), 0);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	at_end = held_bytes();
	cr_assert_leq(most, start + (18 << 20), "%zu, then %zu", start, most);
	cr_assert_leq(at_end, most + (1 << 20), "%zu, then %zu", most, at_end);

	end = end_of_file();
	cr_assert_eq(end.kind, MT_END_COMPLETE);
	cr_assert(!end.no_index);
	cr_assert_gt(end.frames, MT_SEEK_FRAMES_MAX + 200000);
}
