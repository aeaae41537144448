#include "record/writer.h"
#include "common/artifact_events.h"
#include "common/artifact_schema.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"
#include "record/frame_file.h"

#include <errno.h>
#include <unistd.h>

/*
 * A frame's content. Events: a block of this many rows (about 400 KB) is a frame, small
 * enough to stay in a core's cache through encoding and compression, and decoded (2 MB)
 * through what readers do with it. Stacks: zstd finds repetition within a frame only, so
 * it is long.
 */
#define EVENTS_ROWS (1u << 15)
#define STACKS_MAX ((size_t)2 << 20)
#define SMALL_MAX ((size_t)256 << 10)
#define EVENTS_LEVEL 1
#define EVENTS_HASH_LOG 11
#define STACKS_LEVEL 3

enum way { SMALL, STACKS, EVENTS, WAYS };

struct stream {	/* blocks that wait for their frame */
	struct mt_buf content;
	enum way way;
	size_t max;
	uint32_t kinds;
};

struct mt_writer {
	struct mt_frame_file file;
	int err;		/* sticks */
	struct mt_packer *packer;
	struct stream small;	/* lifecycle; mappings, loss, checkpoint */
	struct stream stacks;	/* whose room events take for a moment, when it is empty */
	struct mt_event_encoder *encoder;	/* events that wait for their block */
	uint64_t event_count;
	uint64_t events_filed;
	uint64_t stack_count;
	uint64_t max_stamp;
	uint64_t max_lag;
};

static int pack(struct mt_writer *writer, enum way way, const struct mt_buf *content,
		const size_t *cuts, uint32_t n_cuts, uint32_t kinds)
{
	int err = mt_packer_use(writer->packer, way);

	return err ? err : mt_frame_file_pack(&writer->file, writer->packer, content, cuts, n_cuts,
					      kinds);
}

static int stream_flush(struct mt_writer *writer, struct stream *stream)
{
	int err;

	if (!stream->content.len)
		return 0;
	err = pack(writer, stream->way, &stream->content, NULL, 0, stream->kinds);
	mt_buf_reset(&stream->content);
	stream->kinds = 0;
	return err;
}

/* After flush_definitions(). */
static int write_events(struct mt_writer *writer)
{
	struct mt_buf *content = &writer->stacks.content;
	size_t cuts[MT_EVENT_CUTS_MAX];
	uint32_t n_cuts;
	int err;

	err = mt_event_encoder_finish(writer->encoder, content, cuts, &n_cuts);
	if (!err)
		err = pack(writer, EVENTS, content, cuts, n_cuts, MT_KIND_BIT(MT_BLOCK_EVENTS));
	mt_buf_reset(content);
	if (!err)
		writer->events_filed = writer->event_count;
	return err;
}

/* Definitions first: lifecycle, then stacks. */
static int flush_definitions(struct mt_writer *writer)
{
	int err = stream_flush(writer, &writer->small);

	return err ? err : stream_flush(writer, &writer->stacks);
}

static int flush_events(struct mt_writer *writer)
{
	int err;

	err = flush_definitions(writer);
	if (err || !mt_event_encoder_rows(writer->encoder))
		return err;
	return write_events(writer);
}

/*
 * Rows of any kind but events into a stream's content, as many at a time as fit.
 * flush empties the stream, and before it what must stand before it.
 */
static int put_rows(struct mt_writer *writer, struct stream *stream, enum mt_block_kind kind,
		    const void *rows, uint32_t n, int (*flush)(struct mt_writer *writer))
{
	const struct mt_table *table = mt_table(kind);
	const char *row = rows;
	size_t room, bound, next;
	uint32_t take;
	int err;

	while (n) {
		room = stream->max - stream->content.len;
		bound = mt_table_bound(table);
		for (take = 0; take < n && take < table->max_rows; take++) {
			next = mt_row_bound(table, row + (size_t)take * table->row_size);
			if (bound > room || next > room - bound)
				break;
			bound += next;
		}
		if (!take && !stream->content.len)
			return -MT_E_LIMIT;	/* a single row, larger than any frame */
		if (take) {
			err = mt_table_encode(&stream->content, table, row, take);
			if (err)
				return err;
			stream->kinds |= MT_KIND_BIT(kind);
		}
		row += (size_t)take * table->row_size;
		n -= take;
		err = n ? flush(writer) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int flush_small(struct mt_writer *writer)
{
	return stream_flush(writer, &writer->small);
}

static int stick(struct mt_writer *writer, int err)
{
	if (!writer->err)
		writer->err = err;
	return writer->err;
}

int mt_writer_lifecycle(struct mt_writer *writer, const struct mt_lifecycle *rows, uint32_t n)
{
	if (writer->err)
		return writer->err;
	return stick(writer, put_rows(writer, &writer->small, MT_BLOCK_LIFECYCLE, rows, n,
				      flush_small));
}

int mt_writer_stacks(struct mt_writer *writer, const struct mt_stack *stacks, uint32_t n)
{
	if (writer->err)
		return writer->err;
	writer->stack_count += n;
	return stick(writer, put_rows(writer, &writer->stacks, MT_BLOCK_STACKS, stacks, n,
				      flush_definitions));
}

/* Mappings and loss stand behind the events given before them. */
static int put_suffix(struct mt_writer *writer, enum mt_block_kind kind, const void *rows,
		      uint32_t n)
{
	int err;

	if (writer->err)
		return writer->err;
	/* One small frame holds them all, unless something must stand before it. */
	err = 0;
	if (mt_event_encoder_rows(writer->encoder) || writer->stacks.content.len ||
	    writer->small.kinds & MT_KIND_BIT(MT_BLOCK_LIFECYCLE))
		err = flush_events(writer);
	if (!err)
		err = put_rows(writer, &writer->small, kind, rows, n, flush_small);
	return stick(writer, err);
}

int mt_writer_mappings(struct mt_writer *writer, const struct mt_mapping *rows, uint32_t n)
{
	return put_suffix(writer, MT_BLOCK_MAPPINGS, rows, n);
}

int mt_writer_files(struct mt_writer *writer, const struct mt_file_note *rows, uint32_t n)
{
	return put_suffix(writer, MT_BLOCK_FILES, rows, n);
}

int mt_writer_rewritten(struct mt_writer *writer, const struct mt_file_note *rows, uint32_t n)
{
	return put_suffix(writer, MT_BLOCK_REWRITTEN, rows, n);
}

int mt_writer_coverage(struct mt_writer *writer, const struct mt_coverage_row *rows, uint32_t n)
{
	return put_suffix(writer, MT_BLOCK_COVERAGE, rows, n);
}

int mt_writer_marks(struct mt_writer *writer, const struct mt_mark *rows, uint32_t n)
{
	return put_suffix(writer, MT_BLOCK_MARKS, rows, n);
}

int mt_writer_loss(struct mt_writer *writer, const struct mt_loss *rows, uint32_t n)
{
	return put_suffix(writer, MT_BLOCK_LOSS, rows, n);
}

/* Types come at random: to look at both stamps of every row is faster than to guess a branch. */
static void note_stamps(struct mt_writer *writer, const struct mt_event *events, uint32_t n)
{
	uint64_t max_stamp = writer->max_stamp, max_lag = writer->max_lag;
	uint64_t has, begin, low, high, lag;
	const struct mt_event *e, *end = events + n;

	for (e = events; e < end; e++) {
		has = 0 - (uint64_t)(MT_HAS_OLD >> (e->type & 31) & 1);
		begin = e->time ^ ((e->time ^ e->begin) & has);
		low = begin < e->time ? begin : e->time;
		high = begin > e->time ? begin : e->time;
		lag = max_stamp > low ? max_stamp - low : 0;
		max_lag = lag > max_lag ? lag : max_lag;
		max_stamp = high > max_stamp ? high : max_stamp;
	}
	writer->max_stamp = max_stamp;
	writer->max_lag = max_lag;
}

int mt_writer_events(struct mt_writer *writer, const struct mt_event *events, uint32_t n)
{
	uint32_t take;
	int err = writer->err;

	while (n && !err) {
		take = EVENTS_ROWS - mt_event_encoder_rows(writer->encoder);
		take = take < n ? take : n;
		/* Both loops while the rows are in the nearest cache. */
		take = take < MT_EVENT_CHUNK ? take : MT_EVENT_CHUNK;
		note_stamps(writer, events, take);
		writer->event_count += take;
		err = mt_event_encoder_add(writer->encoder, events, take);
		if (!err && mt_event_encoder_rows(writer->encoder) == EVENTS_ROWS)
			err = flush_events(writer);
		events += take;
		n -= take;
	}
	return stick(writer, err);
}

int mt_writer_checkpoint(struct mt_writer *writer, const struct mt_checkpoint *checkpoint)
{
	struct mt_checkpoint filled = *checkpoint;
	int err;

	filled.events = writer->event_count;
	filled.stacks = writer->stack_count;
	filled.max_stamp = writer->max_stamp;
	filled.max_lag = writer->max_lag;
	err = put_suffix(writer, MT_BLOCK_CHECKPOINT, &filled, 1);
	if (err)
		return err;
	return stick(writer, flush_small(writer));
}

static int write_trailer(struct mt_writer *writer, const struct mt_trailer *trailer)
{
	struct mt_trailer filled = *trailer;
	struct mt_buf buf;
	uint32_t i, n = writer->file.n_index, *kinds = NULL;
	uint64_t digest = MT_SEEK_DIGEST_BASIS;
	struct mt_frame_entry entry;
	int err;

	mt_buf_init(&buf);
	filled.events = writer->event_count;
	filled.stacks = writer->stack_count;
	filled.max_lag = writer->max_lag;
	filled.n_frames = mt_frame_file_indexed(&writer->file) ? n : 0;
	if (filled.n_frames) {
		kinds = calloc(n, sizeof(*kinds));
		if (!kinds)
			return -ENOMEM;
		for (i = 0; i < n; i++) {
			entry = mt_frame_file_entry(&writer->file, i);
			kinds[i] = entry.kinds;
			digest = mt_seek_digest(digest, &entry);
		}
		filled.frame_kinds = kinds;
		filled.seek_digest = digest;
	}
	err = mt_encode_trailer(&buf, &filled);
	free(kinds);
	if (!err)
		err = mt_frame_file_pack_single(&writer->file, STACKS_LEVEL, &buf,
						MT_KIND_BIT(MT_BLOCK_TRAILER));
	mt_buf_release(&buf);
	return err;
}

/* What a trailer takes is in proportion to the file: what frames took makes room for it. */
static void release_streams(struct mt_writer *writer)
{
	mt_buf_release(&writer->small.content);
	mt_buf_release(&writer->stacks.content);
	mt_packer_free(writer->packer);
	mt_event_encoder_free(writer->encoder);
	writer->packer = NULL;
	writer->encoder = NULL;
}

int mt_writer_finish(struct mt_writer *writer, const struct mt_trailer *trailer)
{
	int err;

	if (writer->err)
		return writer->err;
	err = flush_events(writer);
	release_streams(writer);
	if (!err)
		err = write_trailer(writer, trailer);
	if (!err && mt_frame_file_indexed(&writer->file))
		err = mt_frame_file_end(&writer->file);
	if (!err && mt_frame_file_shortened(&writer->file))
		err = -MT_E_SHORTENED;
	writer->err = err ? err : -EBADF;
	return err;
}

static int write_header(struct mt_writer *writer, const struct mt_header *header)
{
	struct mt_buf buf;
	int err;

	mt_buf_init(&buf);
	err = mt_encode_header(&buf, header);
	if (!err)
		err = mt_frame_file_pack_single(&writer->file, STACKS_LEVEL, &buf,
						MT_KIND_BIT(MT_BLOCK_HEADER));
	mt_buf_release(&buf);
	return err;
}

static int init_streams(struct mt_writer *writer)
{
	const size_t events_max = mt_event_encoder_bound(EVENTS_ROWS);
	const struct mt_packing ways[WAYS] = {
		[SMALL] = { .level = STACKS_LEVEL, .max = SMALL_MAX },
		[STACKS] = { .level = STACKS_LEVEL, .max = STACKS_MAX },
		[EVENTS] = { .level = EVENTS_LEVEL, .hash_log = EVENTS_HASH_LOG,
			     .max = events_max, .in_parts = true },
	};
	int err;

	err = mt_event_encoder_new(EVENTS_ROWS, &writer->encoder);
	writer->small.max = SMALL_MAX;
	writer->stacks.max = STACKS_MAX;
	writer->stacks.way = STACKS;
	if (!err)
		err = mt_buf_reserve(&writer->small.content, SMALL_MAX);
	if (!err)
		err = mt_buf_reserve(&writer->stacks.content,
				     events_max > STACKS_MAX ? events_max : STACKS_MAX);
	return err ? err : mt_packer_new_for(ways, WAYS, &writer->packer);
}

int mt_writer_open(int fd, const struct mt_header *header, struct mt_writer **ret_writer)
{
	struct mt_writer *writer;
	int err;

	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return -ENOMEM;
	writer->file.fd = -1;
	err = init_streams(writer);
	if (!err)
		err = mt_frame_file_init(&writer->file, fd);
	if (!err)
		err = write_header(writer, header);
	if (err) {
		writer->file.fd = -1;	/* still the caller's */
		mt_writer_free(writer);
		return err;
	}
	*ret_writer = writer;
	return 0;
}

void mt_writer_free(struct mt_writer *writer)
{
	if (!writer)
		return;
	if (writer->file.fd >= 0)
		close(writer->file.fd);
	mt_frame_file_release(&writer->file);
	release_streams(writer);
	free(writer);
}

uint64_t mt_writer_bytes(const struct mt_writer *writer)
{
	return writer->file.bytes;
}

uint64_t mt_writer_event_count(const struct mt_writer *writer)
{
	return writer->event_count;
}

uint64_t mt_writer_events_filed(const struct mt_writer *writer)
{
	return writer->events_filed;
}

uint64_t mt_writer_stack_count(const struct mt_writer *writer)
{
	return writer->stack_count;
}
