#include "common/buf.h"
#include "common/error.h"
#include "record/writer.h"
#include "report/reader.h"
#include "tests/unit/artifact_fixture.h"

#include <fcntl.h>
#include <unistd.h>

static char path[] = "/tmp/t_reader.XXXXXX";
static struct mt_writer *writer;
static struct mt_reader *reader;

static void setup(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
}

static void teardown(void)
{
	mt_writer_free(writer);
	mt_reader_free(reader);
	unlink(path);
}

TestSuite(reader, .init = setup, .fini = teardown);

static void put_all(void)
{
	const struct mt_checkpoint checkpoint = { .time = 50, .lost = 1 };

	mt_writer_lifecycle(writer, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	mt_writer_stacks(writer, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	mt_writer_events(writer, fixture_events, MT_ARRAY_SIZE(fixture_events));
	mt_writer_mappings(writer, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
	mt_writer_loss(writer, fixture_loss, MT_ARRAY_SIZE(fixture_loss));
	cr_assert_eq(mt_writer_checkpoint(writer, &checkpoint), 0);
}

static void finish(void)
{
	const struct mt_trailer trailer = { .end_time = 99, .end_reason = "exited" };

	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
}

/* Kinds of the blocks that a pass delivers, in their order, as digits. */
static const char *order(uint32_t wanted)
{
	static char digits[64];
	const struct mt_block *block;
	size_t n = 0;

	mt_reader_rewind(reader, wanted);
	while (mt_reader_next(reader, &block) == 1 && n + 1 < sizeof(digits))
		digits[n++] = (char)('0' + block->kind);
	digits[n] = '\0';
	return digits;
}

Test(reader, complete_file)
{
	struct mt_reader_end end;

	put_all();
	finish();
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	check_header(mt_reader_header(reader), &fixture_header);
	cr_assert_str_eq(order(~0u), "12345678" + 0);
	cr_assert_str_eq(order(MT_KIND_BIT(MT_BLOCK_LOSS) | MT_KIND_BIT(MT_BLOCK_STACKS)), "36");
	cr_assert_str_eq(order(~0u), "12345678");
	mt_reader_end(reader, &end);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
	cr_assert_eq(end.offset, end.file_size);
	cr_assert_eq(end.frames, 6);
	cr_assert_eq(end.unknown_blocks, 0);
	cr_assert_eq(end.unknown_columns, 0);
	cr_assert_eq(mt_reader_trailer(reader)->events, MT_ARRAY_SIZE(fixture_events));
	cr_assert_eq(mt_reader_trailer(reader)->stacks, MT_ARRAY_SIZE(fixture_stacks));
}

static uint32_t told[2], times_told;

static void tell(void *arg, uint32_t frame, uint32_t frames)
{
	cr_expect_eq(arg, told);
	cr_expect_lt(frame, frames);
	cr_expect(!times_told || frame > told[0]);
	told[0] = frame;
	told[1] = frames;
	times_told++;
}

Test(reader, tells_how_far_it_is)
{
	const struct mt_block *block;
	struct mt_reader_end end;

	put_all();
	put_all();
	finish();
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	mt_reader_tell(reader, tell, told);
	mt_reader_rewind(reader, ~0u);
	while (mt_reader_next(reader, &block) == 1)
		;
	mt_reader_end(reader, &end);
	cr_expect_eq(times_told, end.frames);
	cr_expect_eq(told[1], end.frames);
	/* Not of frames that are passed over. */
	times_told = 0;
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_STACKS));
	while (mt_reader_next(reader, &block) == 1)
		;
	cr_expect_lt(times_told, end.frames);
	mt_reader_tell(reader, NULL, NULL);
	mt_reader_rewind(reader, ~0u);
	cr_expect_eq(mt_reader_next(reader, &block), 1);
}

Test(reader, no_trailer_but_exact_lag)
{
	static const struct mt_event late = { .time = 7, .begin = 7, .type = MT_EV_FREE };
	struct mt_reader_end end;

	put_all();
	mt_writer_events(writer, &late, 1);
	mt_writer_checkpoint(writer, &fixture_checkpoint);
	mt_writer_free(writer);
	writer = NULL;
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	cr_assert_str_eq(order(~0u), "12345674" "7");
	mt_reader_end(reader, &end);
	cr_assert_eq(end.kind, MT_END_NO_TRAILER);
	cr_assert_eq(end.offset, end.file_size);
	cr_assert_null(mt_reader_trailer(reader));
	cr_assert_eq(mt_reader_max_lag(reader), UINT64_MAX);
}

Test(reader, events_of_many_frames)
{
	enum { N = 200000 };
	struct mt_event *events = calloc(N, sizeof(*events));
	const struct mt_block *block;
	uint32_t i, k = 0;

	for (i = 0; i < N; i++) {
		events[i].type = MT_EV_MALLOC + i % MT_EV_FREE;
		events[i].time = events[i].begin = 1000 * (uint64_t)i;
		events[i].addr = (i * 2654435761u) & ~15u;
		events[i].thread = i % 4;
		if (events[i].type != MT_EV_FREE) {
			events[i].size = i % 1000;
			events[i].stack = i % 70000;
		}
		if (events[i].type == MT_EV_REALLOC) {
			events[i].begin -= 100;
			events[i].old_addr = i % 3 ? events[i].addr : 0;
		}
	}
	for (i = 0; i < N; i += k) {	/* in portions of all sizes */
		k = i % 50000 + 1 < N - i ? i % 50000 + 1 : N - i;
		cr_assert_eq(mt_writer_events(writer, events + i, k), 0);
	}
	finish();
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_EVENTS));
	for (i = 0; mt_reader_next(reader, &block) == 1; i += block->n) {
		for (k = 0; k < block->n; k++)
			check_event(&block->events[k], &events[i + k]);
	}
	cr_assert_eq(i, N);
	cr_assert_eq(mt_reader_max_lag(reader), 0);
	free(events);
}
