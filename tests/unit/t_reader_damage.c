/* A small artifact, cut at every byte and with every bit flipped. */
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"
#include "record/writer.h"
#include "report/reader.h"
#include "report/workers.h"
#include "tests/unit/artifact_fixture.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCKS_MAX 64
#define FRAMES_MAX 32

static char path[] = "/tmp/t_damage.XXXXXX";
static int fd;

/* The artifact as written, and what is in it. */
static uint8_t *file;
static size_t file_size;
static size_t frame_ends[FRAMES_MAX];	/* of data frames */
static uint32_t n_frames;
static uint64_t blocks[BLOCKS_MAX];	/* digests */
static uint32_t block_ends[FRAMES_MAX];	/* blocks up to the end of each frame */

static void setup(void)
{
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
}

static void teardown(void)
{
	close(fd);
	unlink(path);
	free(file);
}

TestSuite(damage, .init = setup, .fini = teardown, .timeout = 200);

static void encode_again(struct mt_buf *buf, const struct mt_block *block)
{
	switch (block->kind) {
	case MT_BLOCK_HEADER:
		mt_encode_header(buf, block->header);
		break;
	case MT_BLOCK_LIFECYCLE:
		mt_encode_lifecycle(buf, block->lifecycle, block->n);
		break;
	case MT_BLOCK_STACKS:
		mt_encode_stacks(buf, block->stacks, block->n);
		break;
	case MT_BLOCK_EVENTS:
		mt_encode_events(buf, block->events, block->n);
		break;
	case MT_BLOCK_MAPPINGS:
		mt_encode_mappings(buf, block->mappings, block->n);
		break;
	case MT_BLOCK_LOSS:
		mt_encode_loss(buf, block->loss, block->n);
		break;
	case MT_BLOCK_CHECKPOINT:
		mt_encode_checkpoint(buf, block->checkpoint);
		break;
	case MT_BLOCK_FILES:
		mt_encode_files(buf, block->files, block->n);
		break;
	case MT_BLOCK_TRAILER:
		mt_encode_trailer(buf, block->trailer);
		break;
	default:
		break;
	}
}

static uint64_t digest(const struct mt_block *block)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	struct mt_buf buf;
	size_t i;

	mt_buf_init(&buf);
	encode_again(&buf, block);
	cr_assert_gt(buf.len, 0);
	for (i = 0; i < buf.len; i++)
		hash = (hash ^ buf.data[i]) * 0x100000001b3ull;
	mt_buf_release(&buf);
	return hash;
}

/* Take the file apart without the reader. */
static void index_file(void)
{
	struct mt_unpacker *unpacker;
	struct mt_frame_span span;
	struct mt_block block;
	struct mt_buf content;
	size_t offset, pos, used;
	uint32_t n = 0;

	mt_buf_init(&content);
	mt_block_init(&block);
	cr_assert_eq(mt_unpacker_new(&unpacker), 0);
	for (offset = 0; offset < file_size; offset += span.size) {
		cr_assert_eq(mt_frame_walk(fd, offset, file_size, &span), 0);
		if (span.skippable)
			continue;
		cr_assert_eq(mt_unpacker_unpack(unpacker, file + offset, span.size, span.content,
						&content), 0);
		for (pos = 0; pos < content.len; pos += used) {
			cr_assert_eq(mt_block_decode(&block, content.data + pos, content.len - pos,
						     ~0u, &used), 0);
			cr_assert_lt(n, BLOCKS_MAX);
			blocks[n++] = digest(&block);
		}
		cr_assert_lt(n_frames, FRAMES_MAX);
		frame_ends[n_frames] = offset + span.size;
		block_ends[n_frames++] = n;
	}
	mt_unpacker_free(unpacker);
	mt_block_release(&block);
	mt_buf_release(&content);
}

static void put_round(struct mt_writer *writer, uint32_t first)
{
	mt_writer_lifecycle(writer, fixture_lifecycle + first, 3);
	mt_writer_stacks(writer, fixture_stacks, first + 1);
	mt_writer_events(writer, fixture_events + first, 5);
	mt_writer_mappings(writer, fixture_mappings + first, 2);
	mt_writer_loss(writer, fixture_loss, first);
	cr_assert_eq(mt_writer_checkpoint(writer, &fixture_checkpoint), 0);
}

static void make(bool finished)
{
	static const struct mt_trailer trailer = { .end_time = 99, .end_reason = "exited" };
	struct mt_writer *writer;
	struct stat st;

	cr_assert_eq(mt_writer_open(dup(fd), &fixture_header, &writer), 0);
	put_round(writer, 0);
	put_round(writer, 2);
	if (finished)
		cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	mt_writer_free(writer);
	cr_assert_eq(fstat(fd, &st), 0);
	file_size = (size_t)st.st_size;
	file = malloc(file_size);
	cr_assert_eq(mt_read_at(fd, 0, file, file_size), 0);
	index_file();
}

struct result {
	int err;		/* of opening */
	uint32_t n;		/* blocks delivered, each the expected one */
	struct mt_reader_end end;
};

/*
 * Open and read all, with so many threads (0: no pool); no block may be delivered that is not the
 * one that was written there.
 */
static struct result read_with(unsigned int threads)
{
	struct mt_workers *workers = NULL;
	const struct mt_block *block;
	struct mt_reader *reader;
	struct result result = { 0 };
	int err;

	result.err = mt_reader_open(path, &reader);
	if (result.err)
		return result;
	if (threads) {
		cr_assert_eq(mt_workers_new(threads, &workers), 0);
		cr_assert_eq(mt_reader_use(reader, workers), 0);
	}
	while ((err = mt_reader_next(reader, &block)) == 1) {
		cr_assert_lt(result.n, BLOCKS_MAX);
		cr_assert_eq(digest(block), blocks[result.n], "block %u has changed", result.n);
		result.n++;
	}
	cr_assert_eq(err, 0);
	mt_reader_end(reader, &result.end);
	mt_reader_free(reader);
	mt_workers_free(workers);
	return result;
}

static bool same(const struct result *a, const struct result *b)
{
	return a->err == b->err && a->n == b->n && a->end.kind == b->end.kind &&
	       a->end.offset == b->end.offset && a->end.frames == b->end.frames &&
	       a->end.unknown_blocks == b->end.unknown_blocks &&
	       a->end.unknown_columns == b->end.unknown_columns;
}

/* Whoever reads it, it is the same. Threads now and then: there are many ways to damage a file. */
static struct result read_all(void)
{
	static unsigned int times;
	struct result result = read_with(0), other = read_with(1);

	cr_assert(same(&result, &other));
	if (times++ % 16 == 0) {
		other = read_with(3);
		cr_assert(same(&result, &other));
	}
	return result;
}

/* Whole frames in the first len bytes. */
static uint32_t frames_within(size_t len)
{
	uint32_t n = 0;

	while (n < n_frames && frame_ends[n] <= len)
		n++;
	return n;
}

Test(damage, cut_at_every_byte)
{
	struct result result;
	uint32_t whole;
	size_t len;

	make(true);
	result = read_all();
	cr_assert_eq(result.end.kind, MT_END_COMPLETE);
	cr_assert_eq(result.end.offset, file_size);
	cr_assert_eq(result.end.frames, n_frames);
	for (len = file_size; len-- > 0; ) {
		cr_assert_eq(ftruncate(fd, (off_t)len), 0);
		result = read_all();
		whole = frames_within(len);
		if (!whole) {
			cr_assert_eq(result.err, len ? -MT_E_CUT : -MT_E_EMPTY, "at %zu", len);
			continue;
		}
		cr_assert_eq(result.err, 0, "at %zu", len);
		cr_assert_eq(result.n, block_ends[whole - 1], "at %zu", len);
		cr_assert_eq(result.end.frames, whole);
		cr_assert_eq(result.end.file_size, len);
		cr_assert_eq(result.end.offset, frame_ends[whole - 1], "at %zu", len);
		if (len > frame_ends[whole - 1])
			cr_assert_eq(result.end.kind, MT_END_CUT, "at %zu", len);
		else if (whole < n_frames)
			cr_assert_eq(result.end.kind, MT_END_NO_TRAILER, "at %zu", len);
		else
			cr_assert_eq(result.end.kind, MT_END_COMPLETE, "at %zu", len);
	}
}

static void flip_every_bit(bool finished)
{
	enum mt_reader_end_kind good = finished ? MT_END_COMPLETE : MT_END_NO_TRAILER;
	uint32_t frame, before, harmless = 0, noticed = 0;
	struct result result;
	size_t at;
	uint8_t bit, byte;

	make(finished);
	for (at = 0; at < file_size; at++) {
		frame = frames_within(at);
		before = frame ? block_ends[frame - 1] : 0;
		for (bit = 1; bit; bit <<= 1) {
			byte = file[at] ^ bit;
			cr_assert_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
			result = read_all();
			/* Same content: the seek table, or a bit that zstd does not look at. */
			if (!result.err && result.n == block_ends[n_frames - 1] &&
			    result.end.kind == good) {
				harmless += frame < n_frames;
				continue;
			}
			noticed += frame < n_frames;
			if (!frame) {
				cr_assert(result.err == -MT_E_NOT_ARTIFACT ||
					  result.err == -MT_E_CORRUPT ||
					  (result.err == -MT_E_CUT && !finished),
					  "byte %zu bit %u: %d", at, bit, result.err);
				continue;
			}
			cr_assert_eq(result.err, 0, "byte %zu bit %u", at, bit);
			cr_assert_eq(result.n, before, "byte %zu bit %u", at, bit);
			cr_assert(result.end.kind == MT_END_DAMAGED ||
				  (result.end.kind == MT_END_CUT && !finished),
				  "byte %zu bit %u: %d", at, bit, result.end.kind);
			/* A wrong length of the seek table moves the end into it. */
			cr_assert(result.end.offset == frame_ends[frame - 1] ||
				  (frame == n_frames && result.end.offset > frame_ends[frame - 1]),
				  "byte %zu bit %u: %zu", at, bit, (size_t)result.end.offset);
			cr_assert_eq(result.end.frames, frame);
		}
		cr_assert_eq(pwrite(fd, &file[at], 1, (off_t)at), 1);
	}
	/* The frames' unused bit and window, and reserved bits of zstd's blocks. */
	cr_assert_gt(noticed, 100 * harmless, "%u noticed, %u not", noticed, harmless);
}

Test(damage, every_bit_of_a_finished_file)
{
	flip_every_bit(true);
}

Test(damage, every_bit_of_a_file_without_trailer)
{
	flip_every_bit(false);
}

static int open_bytes(const void *bytes, size_t len)
{
	struct mt_reader *reader = NULL;
	int err;

	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(pwrite(fd, bytes, len, 0), (ssize_t)len);
	err = mt_reader_open(path, &reader);
	mt_reader_free(reader);
	return err;
}

Test(damage, files_of_others)
{
	/* What zstd makes of "hello\n", with and without the size in it. */
	static const uint8_t hello[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x06, 0x31, 0x00, 0x00, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
		0x0a, 0xe7, 0xf6, 0x1a, 0x3d,
	};
	struct mt_reader *reader;
	char command[256];
	int err;

	cr_assert_eq(open_bytes("", 0), -MT_E_EMPTY);
	cr_assert_eq(open_bytes("just text, longer than a header\n", 32), -MT_E_NOT_ARTIFACT);
	cr_assert_eq(open_bytes("x", 1), -MT_E_NOT_ARTIFACT);
	cr_assert_eq(open_bytes("\x28\xb5", 2), -MT_E_CUT);
	err = open_bytes(hello, sizeof(hello));
	cr_assert(err == -MT_E_NOT_ARTIFACT || err == -MT_E_CORRUPT);
	snprintf(command, sizeof(command), "echo hello | zstd -qf -o %s", path);
	cr_assert_eq(system(command), 0);
	cr_assert_eq(mt_reader_open(path, &reader), -MT_E_NOT_ARTIFACT);
	snprintf(command, sizeof(command), "echo hello >%s.in && zstd -qf %s.in -o %s; rm %s.in",
		 path, path, path, path);
	cr_assert_eq(system(command), 0);
	cr_assert_eq(mt_reader_open(path, &reader), -MT_E_NOT_ARTIFACT);
	cr_assert_eq(mt_reader_open("/", &reader), -EISDIR);
	cr_assert_eq(mt_reader_open("/nonexistent/x.mt", &reader), -ENOENT);
}

static int open_with(uint32_t version, uint32_t min_reader)
{
	struct mt_header header = fixture_header;
	struct mt_writer *writer;
	struct mt_reader *reader = NULL;
	int err;

	header.format_version = version;
	header.min_reader_version = min_reader;
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(mt_writer_open(dup(fd), &header, &writer), 0);
	mt_writer_free(writer);
	err = mt_reader_open(path, &reader);
	mt_reader_free(reader);
	return err;
}

Test(damage, newer_formats)
{
	cr_assert_eq(open_with(MT_FORMAT_VERSION + 7, 1), 0);
	cr_assert_eq(open_with(MT_READER_VERSION + 1, MT_READER_VERSION + 1), -MT_E_NEWER_FORMAT);
	cr_assert_eq(open_with(MT_READER_VERSION, MT_READER_VERSION), 0);
}

/* Two artifacts run together are not one. */
Test(damage, concatenated)
{
	struct result result;

	make(true);
	cr_assert_eq(pwrite(fd, file, file_size, (off_t)file_size), (ssize_t)file_size);
	result = read_all();
	cr_assert_eq(result.err, 0);
	cr_assert_eq(result.end.kind, MT_END_DAMAGED);
	cr_assert_leq(result.n, block_ends[n_frames - 1]);
}

Test(damage, trailing_garbage)
{
	struct result result;

	make(true);
	cr_assert_eq(pwrite(fd, "garbage", 7, (off_t)file_size), 7);
	result = read_all();
	cr_assert_eq(result.n, block_ends[n_frames - 1]);
	cr_assert_eq(result.end.kind, MT_END_DAMAGED);
	cr_assert_eq(result.end.offset, file_size);
}

/* Standard input is not a file that can be read at will. */
Test(damage, standard_input)
{
	struct mt_reader *reader;
	int saved = dup(STDIN_FILENO), ends[2];

	make(true);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], file, file_size), (ssize_t)file_size);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	cr_assert_eq(mt_reader_open("-", &reader), 0);
	check_header(mt_reader_header(reader), &fixture_header);
	mt_reader_free(reader);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(ends[0]);
}
