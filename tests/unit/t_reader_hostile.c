/* Files with valid checksums whose content lies. */
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"
#include "common/msgpack_write.h"
#include "common/seek_table.h"
#include "report/reader.h"
#include "tests/unit/artifact_fixture.h"

#include <unistd.h>

#define FRAMES_MAX 16

static char path[] = "/tmp/t_hostile.XXXXXX";
static int fd;
static struct mt_buf content;
static struct mt_packer *packer;
static struct mt_frame_entry entries[FRAMES_MAX];
static uint32_t n_entries;
static struct mt_reader *reader;
static struct mt_reader_end end;

static void put_bytes(const void *bytes, size_t len)
{
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
}

/* What has gathered in content becomes a frame. */
static void put_frame(void)
{
	const uint8_t *frame;
	size_t size;

	cr_assert_eq(mt_packer_pack(packer, content.data, content.len, NULL, 0, &frame, &size), 0);
	put_bytes(frame, size);
	entries[n_entries++] = (struct mt_frame_entry){ .size = (uint32_t)size,
							.content = (uint32_t)content.len };
	mt_buf_reset(&content);
}

static void setup(void)
{
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	mt_buf_init(&content);
	cr_assert_eq(mt_packer_new(3, 1 << 20, &packer), 0);
	mt_encode_header(&content, &fixture_header);
	put_frame();
}

static void teardown(void)
{
	mt_reader_free(reader);
	mt_packer_free(packer);
	mt_buf_release(&content);
	close(fd);
	unlink(path);
}

TestSuite(hostile, .init = setup, .fini = teardown);

static void put_events_frame(void)
{
	mt_encode_events(&content, fixture_events, 4);
	put_frame();
}

static void put_trailer(const struct mt_trailer *trailer)
{
	struct mt_trailer filled = *trailer;

	filled.end_reason = "exited";
	filled.max_lag = 1;
	mt_encode_trailer(&content, &filled);
	put_frame();
}

static void put_trailer_frame(uint64_t events, uint32_t n_frames, const uint32_t *kinds)
{
	put_trailer(&(struct mt_trailer){ .events = events, .n_frames = n_frames,
					  .frame_kinds = kinds });
}

/* Which vouches for the entries as they are now. */
static void put_vouching_trailer(uint64_t events)
{
	uint64_t digest = MT_SEEK_DIGEST_BASIS;
	uint32_t i;

	for (i = 0; i < n_entries; i++)
		digest = mt_seek_digest(digest, &entries[i]);
	put_trailer(&(struct mt_trailer){ .events = events, .seek_digest = digest });
}

static void put_seek_table(void)
{
	struct mt_buf table;

	mt_buf_init(&table);
	cr_assert_eq(mt_seek_table_encode(&table, entries, n_entries), 0);
	put_bytes(table.data, table.len);
	mt_buf_release(&table);
}

static uint64_t offset_of(uint32_t frame)
{
	uint64_t offset = 0;

	while (frame)
		offset += entries[--frame].size;
	return offset;
}

/* Open and read what is wanted; returns how many blocks came. */
static uint32_t read_wanted(uint32_t wanted)
{
	const struct mt_block *block;
	uint32_t n = 0;
	int err;

	if (!reader)
		cr_assert_eq(mt_reader_open(path, &reader), 0);
	mt_reader_rewind(reader, wanted);
	while ((err = mt_reader_next(reader, &block)) == 1)
		n++;
	cr_assert_eq(err, 0);
	cr_assert_eq(mt_reader_next(reader, &block), 0);
	mt_reader_end(reader, &end);
	return n;
}

Test(hostile, an_honest_file)
{
	put_events_frame();
	put_trailer_frame(4, 0, NULL);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 3);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
}

/* The trailer hides the events, but knows how many there are. */
Test(hostile, frame_kinds_hide_events)
{
	static const uint32_t kinds[] = { MT_KIND_BIT(MT_BLOCK_HEADER),
					  MT_KIND_BIT(MT_BLOCK_LOSS) };

	put_events_frame();
	put_trailer_frame(4, 2, kinds);
	put_seek_table();
	cr_assert_eq(read_wanted(MT_KIND_BIT(MT_BLOCK_EVENTS)), 0);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(2));
}

Test(hostile, trailer_with_wrong_sums)
{
	put_events_frame();
	put_trailer_frame(5, 0, NULL);
	put_seek_table();
	cr_assert_eq(read_wanted(MT_KIND_BIT(MT_BLOCK_MAPPINGS)), 0);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
	cr_assert_eq(read_wanted(~0u), 3);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
}

/* The number of frames differs: then the kinds are of another file. */
Test(hostile, frame_kinds_of_another_file)
{
	static const uint32_t kinds[] = { 2, 4, 4 };

	put_events_frame();
	put_trailer_frame(4, 3, kinds);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 3);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
}

Test(hostile, seek_table_that_only_adds_up)
{
	put_events_frame();
	put_events_frame();
	put_trailer_frame(8, 0, NULL);
	entries[1].size -= 10;
	entries[2].size += 10;
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 4);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
}

/* Where the frames begin is not looked at then, but what is read of them is no less checked. */
Test(hostile, seek_table_that_the_trailer_vouches_for)
{
	put_events_frame();
	put_events_frame();
	put_vouching_trailer(8);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 4);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
}

Test(hostile, seek_table_vouched_for_that_only_adds_up)
{
	put_events_frame();
	put_events_frame();
	entries[1].size -= 10;
	entries[2].size += 10;
	put_vouching_trailer(8);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 1);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(1));
}

Test(hostile, seek_table_vouched_for_that_joins_frames)
{
	put_events_frame();
	put_events_frame();
	entries[1].size += entries[2].size;
	n_entries = 2;
	put_vouching_trailer(8);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 1);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(1));
}

/* Left out as if it were skippable, whether a sum of the trailer would tell or not. */
Test(hostile, seek_table_vouched_for_that_leaves_a_frame_out)
{
	put_events_frame();
	mt_encode_loss(&content, fixture_loss, 1);
	put_frame();
	entries[2].content = 0;
	put_vouching_trailer(4);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 4);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
}

/* A trailer of another file, or a table that was damaged: the frames are walked. */
Test(hostile, seek_table_that_the_trailer_does_not_vouch_for)
{
	put_events_frame();
	put_events_frame();
	put_vouching_trailer(8);
	entries[1].size -= 10;
	entries[2].size += 10;
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 4);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
}

/* The walk ends before the trailer that the table has: it is none of this file's. */
Test(hostile, trailer_behind_what_cannot_be_walked)
{
	put_events_frame();
	put_events_frame();
	put_bytes("between frames", 14);
	entries[1].size -= 10;
	entries[2].size += 10 + 14;
	put_trailer_frame(8, 0, NULL);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 3);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_null(mt_reader_trailer(reader));
}

/* Two frames taken for one: the sizes add up, but zstd stops in the middle. */
Test(hostile, seek_table_joins_frames)
{
	put_events_frame();
	put_events_frame();
	put_trailer_frame(8, 0, NULL);
	entries[1].size += entries[2].size;
	entries[2] = entries[3];
	n_entries = 3;
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 1);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(1));
}

Test(hostile, bad_block_in_a_good_frame)
{
	put_events_frame();
	mt_encode_events(&content, fixture_events, 4);
	mt_buf_append(&content, "\x93\xa4loss", 6);	/* a block that ends too early */
	put_frame();
	put_events_frame();
	put_trailer_frame(12, 0, NULL);
	put_seek_table();
	read_wanted(~0u);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(2));
	/* It stays so, whatever is asked for next. */
	cr_assert_eq(read_wanted(MT_KIND_BIT(MT_BLOCK_TRAILER)), 0);
	cr_assert_eq(read_wanted(MT_KIND_BIT(MT_BLOCK_EVENTS)), 1);
	mt_reader_end(reader, &end);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.frames, 2);
}

Test(hostile, second_header_and_early_trailer)
{
	put_events_frame();
	mt_encode_header(&content, &fixture_header);
	put_frame();
	put_trailer_frame(4, 0, NULL);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 2);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(2));
}

Test(hostile, early_trailer)
{
	put_trailer_frame(0, 0, NULL);
	put_events_frame();
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 1);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(1));
}

Test(hostile, header_not_alone)
{
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	mt_encode_header(&content, &fixture_header);
	mt_encode_events(&content, fixture_events, 4);
	put_frame();
	cr_assert_eq(mt_reader_open(path, &reader), -MT_E_CORRUPT);
}

/* A frame that says it holds 4 GiB is not ours, and nothing is allocated for it. */
Test(hostile, huge_frame)
{
	static const uint8_t head[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0xa4, 0xff, 0xff, 0xff, 0xff, 0x03, 0x00, 0x00, 'x',
	};

	put_events_frame();
	put_bytes(head, sizeof(head));
	cr_assert_eq(read_wanted(~0u), 2);
	cr_assert_eq(end.kind, MT_END_DAMAGED);
	cr_assert_eq(end.offset, offset_of(2));
}

/* 100000 frames without content, a skippable one after each. */
Test(hostile, many_empty_frames)
{
	static const uint8_t skippable[] = { 0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3 };
	struct mt_buf many;
	const uint8_t *frame;
	size_t size;
	int i;

	mt_buf_init(&many);
	cr_assert_eq(mt_packer_pack(packer, "", 0, NULL, 0, &frame, &size), 0);
	for (i = 0; i < 100000; i++) {
		mt_buf_append(&many, frame, size);
		mt_buf_append(&many, skippable, sizeof(skippable));
	}
	put_bytes(many.data, many.len);
	mt_buf_release(&many);
	put_events_frame();
	cr_assert_eq(read_wanted(~0u), 2);
	cr_assert_eq(end.kind, MT_END_NO_TRAILER);
	cr_assert_eq(end.frames, 100002);
}

/* Kinds and columns of the future are passed over, and counted once, however often it is read. */
Test(hostile, unknown_things_are_counted)
{
	uint8_t bytes[64], *p = bytes;

	p = mt_mp_put_array(p, 3);
	p = mt_mp_put_str(p, "weather", 7);
	p = mt_mp_put_uint(p, 1);
	p = mt_mp_put_map(p, 0);
	p = mt_mp_put_array(p, 3);
	p = mt_mp_put_str(p, "loss", 4);
	p = mt_mp_put_uint(p, 1);
	p = mt_mp_put_map(p, 2);
	p = mt_mp_put_str(p, "n", 1);
	p = mt_mp_put_uint(p, 0);
	p = mt_mp_put_str(p, "colour", 6);
	p = mt_mp_put_array(p, 0);
	mt_buf_append(&content, bytes, (size_t)(p - bytes));
	put_frame();
	put_trailer_frame(0, 0, NULL);
	put_seek_table();
	cr_assert_eq(read_wanted(~0u), 3);
	cr_assert_eq(read_wanted(~0u), 3);
	cr_assert_eq(read_wanted(MT_KIND_BIT(MT_BLOCK_EVENTS)), 0);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
	cr_assert_eq(end.unknown_blocks, 1);
	cr_assert_eq(end.unknown_columns, 1);
}
