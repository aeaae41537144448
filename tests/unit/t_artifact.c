#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_write.h"
#include "tests/unit/artifact_fixture.h"

static struct mt_buf buf;
static struct mt_block block;

static void setup(void)
{
	mt_buf_init(&buf);
	mt_block_init(&block);
}

static void teardown(void)
{
	mt_buf_release(&buf);
	mt_block_release(&block);
}

TestSuite(artifact, .init = setup, .fini = teardown);

/* Decode an exact copy of buf, so that reading past its end is seen by a sanitizer. */
static uint8_t *copy;

static int decode(uint32_t wanted)
{
	size_t used = 0;
	int err;

	free(copy);
	copy = malloc(buf.len ? buf.len : 1);
	memcpy(copy, buf.data, buf.len);
	err = mt_block_decode(&block, copy, buf.len, wanted, &used);
	if (!err)
		cr_assert_eq(used, buf.len);
	return err;
}

static void decode_as(enum mt_block_kind kind, uint32_t n)
{
	cr_assert_eq(decode(~0u), 0);
	cr_assert_eq(block.kind, kind);
	cr_assert_eq(block.n, n);
	cr_assert_eq(block.dropped, 0);
	cr_assert_eq(block.skipped, 0);
}

Test(artifact, header_round_trip)
{
	cr_assert_eq(mt_encode_header(&buf, &fixture_header), 0);
	decode_as(MT_BLOCK_HEADER, 1);
	check_header(block.header, &fixture_header);
}

/* Only the header of a sampled recording has the key at all. */
Test(artifact, sampling_is_said_if_there_is_any)
{
	static const char key[] = "sample_bytes";
	struct mt_header header = fixture_header;

	header.sample_bytes = 0;
	cr_assert_eq(mt_encode_header(&buf, &header), 0);
	cr_assert_null(memmem(buf.data, buf.len, key, strlen(key)));
	decode_as(MT_BLOCK_HEADER, 1);
	cr_assert_eq(block.header->sample_bytes, 0);

	mt_buf_reset(&buf);
	header.sample_bytes = MT_SAMPLE_BYTES_MAX;
	cr_assert_eq(mt_encode_header(&buf, &header), 0);
	cr_assert_not_null(memmem(buf.data, buf.len, key, strlen(key)));
	decode_as(MT_BLOCK_HEADER, 1);
	cr_assert_eq(block.header->sample_bytes, MT_SAMPLE_BYTES_MAX);
	check_header(block.header, &header);
}

/* The same of one that was attached to a process. */
Test(artifact, attached_process_is_said_if_there_is_one)
{
	static const char key[] = "attached_pid";
	struct mt_header header = fixture_header;

	header.attached_pid = 0;
	cr_assert_eq(mt_encode_header(&buf, &header), 0);
	cr_assert_null(memmem(buf.data, buf.len, key, strlen(key)));
	decode_as(MT_BLOCK_HEADER, 1);
	cr_assert_eq(block.header->attached_pid, 0);

	mt_buf_reset(&buf);
	header.attached_pid = 4194303;
	cr_assert_eq(mt_encode_header(&buf, &header), 0);
	decode_as(MT_BLOCK_HEADER, 1);
	cr_assert_eq(block.header->attached_pid, 4194303);
	check_header(block.header, &header);
}

#define ROUND_TRIP(name, KIND, member, check) \
Test(artifact, name##_round_trip) \
{ \
	uint32_t i, n; \
	\
	for (n = 0; n <= MT_ARRAY_SIZE(fixture_##name); n++) { \
		mt_buf_reset(&buf); \
		cr_assert_eq(mt_encode_##name(&buf, fixture_##name, n), 0); \
		decode_as(MT_BLOCK_##KIND, n); \
		for (i = 0; i < n; i++) \
			check(&block.member[i], &fixture_##name[i]); \
	} \
}

ROUND_TRIP(lifecycle, LIFECYCLE, lifecycle, check_lifecycle)
ROUND_TRIP(stacks, STACKS, stacks, check_stack)
ROUND_TRIP(events, EVENTS, events, check_event)
ROUND_TRIP(mappings, MAPPINGS, mappings, check_mapping)
ROUND_TRIP(loss, LOSS, loss, check_loss)
ROUND_TRIP(files, FILES, files, check_file_note)
ROUND_TRIP(rewritten, REWRITTEN, files, check_file_note)
ROUND_TRIP(coverage, COVERAGE, coverage, check_coverage)
ROUND_TRIP(marks, MARKS, marks, check_mark)

Test(artifact, names_of_marks_have_a_ceiling)
{
	char name[MT_MARK_NAME_MAX + 2];
	struct mt_mark mark = { .type = MT_MARK_NAME, .name = name };

	memset(name, 'n', sizeof(name));
	name[MT_MARK_NAME_MAX] = '\0';
	mt_buf_reset(&buf);
	cr_assert_eq(mt_encode_marks(&buf, &mark, 1), 0);
	decode_as(MT_BLOCK_MARKS, 1);
	name[MT_MARK_NAME_MAX] = 'n';
	name[MT_MARK_NAME_MAX + 1] = '\0';
	cr_assert_eq(mt_encode_marks(&buf, &mark, 1), -MT_E_LIMIT);
}

Test(artifact, checkpoint_round_trip)
{
	cr_assert_eq(mt_encode_checkpoint(&buf, &fixture_checkpoint), 0);
	decode_as(MT_BLOCK_CHECKPOINT, 1);
	cr_assert_eq(memcmp(block.checkpoint, &fixture_checkpoint, sizeof(fixture_checkpoint)), 0);
}

Test(artifact, trailer_round_trip)
{
	const uint32_t kinds[] = { 2, UINT32_MAX, 0, 300 };
	struct mt_trailer trailer = {
		.end_time = UINT64_MAX, .events = 1, .stacks = 2, .lost = 3, .max_lag = 4,
		.seek_digest = UINT64_MAX - 5,
		.status_known = true, .status = -1, .end_reason = "exited",
		.n_frames = MT_ARRAY_SIZE(kinds), .frame_kinds = kinds,
	};

	cr_assert_eq(mt_encode_trailer(&buf, &trailer), 0);
	decode_as(MT_BLOCK_TRAILER, 1);
	cr_assert_eq(block.trailer->end_time, UINT64_MAX);
	cr_assert_eq(block.trailer->events, 1);
	cr_assert_eq(block.trailer->stacks, 2);
	cr_assert_eq(block.trailer->lost, 3);
	cr_assert_eq(block.trailer->max_lag, 4);
	cr_assert_eq(block.trailer->seek_digest, UINT64_MAX - 5);
	cr_assert(block.trailer->status_known);
	cr_assert_eq(block.trailer->status, -1);
	cr_assert_str_eq(block.trailer->end_reason, "exited");
	cr_assert_eq(block.trailer->n_frames, 4);
	cr_assert_eq(memcmp(block.trailer->frame_kinds, kinds, sizeof(kinds)), 0);

	trailer.status_known = false;
	trailer.seek_digest = 0;
	trailer.n_frames = 0;
	mt_buf_reset(&buf);
	cr_assert_eq(mt_encode_trailer(&buf, &trailer), 0);
	decode_as(MT_BLOCK_TRAILER, 1);
	cr_assert(!block.trailer->status_known);
	cr_assert_eq(block.trailer->status, 0);
	cr_assert_eq(block.trailer->n_frames, 0);
	cr_assert_eq(block.trailer->seek_digest, 0);
}

/* Every prefix of every kind is refused, and none is read past its end. */
Test(artifact, prefixes_are_corrupt)
{
	size_t len, used, whole;
	uint8_t *exact;

	mt_encode_header(&buf, &fixture_header);
	mt_encode_lifecycle(&buf, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	mt_encode_stacks(&buf, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	mt_encode_events(&buf, fixture_events, MT_ARRAY_SIZE(fixture_events));
	mt_encode_mappings(&buf, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
	mt_encode_loss(&buf, fixture_loss, MT_ARRAY_SIZE(fixture_loss));
	mt_encode_checkpoint(&buf, &fixture_checkpoint);
	while (buf.len) {
		cr_assert_eq(mt_block_decode(&block, buf.data, buf.len, ~0u, &whole), 0);
		for (len = 0; len < whole; len++) {
			exact = malloc(len ? len : 1);
			memcpy(exact, buf.data, len);
			cr_assert_eq(mt_block_decode(&block, exact, len, ~0u, &used),
				     -MT_E_CORRUPT);
			cr_assert_eq(block.kind, MT_BLOCK_UNKNOWN);
			cr_assert_eq(block.n, 0);
			free(exact);
		}
		buf.len -= whole;
		memmove(buf.data, buf.data + whole, buf.len);
	}
}

Test(artifact, unwanted_is_skipped)
{
	mt_encode_events(&buf, fixture_events, 3);
	cr_assert_eq(decode(MT_KIND_BIT(MT_BLOCK_STACKS)), 0);
	cr_assert_eq(block.kind, MT_BLOCK_EVENTS);
	cr_assert_eq(block.n, 0);
}
