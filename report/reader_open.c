/* Opening an artifact: the file itself, its header, its frames, its trailer. */
#include "common/error.h"
#include "common/frame.h"
#include "common/msgpack_read.h"
#include "common/seek_table.h"
#include "report/reader.h"
#include "report/reader_impl.h"
#include "report/reader_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAMES_STEP 4096u

static int open_file(struct mt_reader *reader, const char *path)
{
	bool standard = !strcmp(path, "-");
	struct stat st;
	int fd, copy, err = 0;

	fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	/* Standard input may stand anywhere in its file, so it is copied even if it is one. */
	if (!err && (standard || !S_ISREG(st.st_mode))) {
		copy = mt_reader_spool(fd);
		close(fd);
		fd = copy;
		err = copy < 0 ? copy : 0;
		if (!err && fstat(fd, &st))
			err = -errno;
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	reader->fd = fd;
	reader->file_size = (uint64_t)st.st_size;
	return 0;
}

static int add_frame(struct mt_reader *reader, uint64_t offset, uint32_t size, uint32_t content)
{
	struct mt_reader_frame *frames = reader->frames;
	uint32_t n = reader->n_frames;

	if (n == MT_FRAMES_MAX)
		return -MT_E_LIMIT;
	/* At FRAMES_STEP times a power of two it is full. */
	if (!n || (n >= FRAMES_STEP && !(n & (n - 1)))) {
		frames = reallocarray(frames, n ? 2 * (size_t)n : FRAMES_STEP, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		reader->frames = frames;
	}
	frames[n] = (struct mt_reader_frame){ .offset = offset, .size = size, .content = content };
	reader->n_frames = n + 1;
	return 0;
}

static int walk(struct mt_reader *reader)
{
	struct mt_frame_span span;
	uint64_t offset = 0;
	int err = 0;

	reader->n_frames = 0;
	while (offset < reader->file_size && !err) {
		err = mt_frame_walk(reader->fd, offset, reader->file_size, &span);
		if (!err && !span.skippable)
			err = add_frame(reader, offset, (uint32_t)span.size, span.content);
		if (!err)
			offset += span.size;
	}
	if (err && !mt_reader_is_damage(err))
		return err;
	/* A finished file was not cut: then a length on the way is wrong. */
	reader->end = err == 0 ? MT_END_NO_TRAILER :
		      err == -MT_E_CUT && !mt_seek_table_present(reader->fd, reader->file_size) ?
				 MT_END_CUT : MT_END_DAMAGED;
	reader->end_offset = offset;
	return 0;
}

/* Content of a frame, borrowed until the next one is loaded. */
static int load(struct mt_reader *reader, uint32_t frame, const struct mt_buf **ret_content)
{
	struct mt_reader_slot *slot = &reader->slots[0];

	mt_reader_slot_set(slot, frame);
	*ret_content = &slot->content;
	return mt_reader_slot_load(slot);
}

/* The last frame, if it is one. */
static int load_trailer(struct mt_reader *reader)
{
	const struct mt_buf *content;
	size_t used;
	int err = load(reader, reader->n_frames - 1, &content);

	return err ? err : mt_block_decode(&reader->trailer, content->data, content->len,
					   MT_KIND_BIT(MT_BLOCK_TRAILER), &used);
}

/* Is the last frame a trailer whose digest is that of the others? Then they need no look each. */
static bool trailer_vouches(struct mt_reader *reader, const struct mt_frame_entry *entries,
			    uint32_t n)
{
	uint64_t digest = MT_SEEK_DIGEST_BASIS;
	uint32_t i;

	/* That a frame is skippable is looked at: it could hide what no sum tells of. */
	for (i = 0; i < n; i++)
		if (!entries[i].content)
			return false;
	if (load_trailer(reader) || !mt_reader_trailer(reader))
		return false;
	for (i = 0; i < n - 1; i++)
		digest = mt_seek_digest(digest, &entries[i]);
	return mt_reader_trailer(reader)->seek_digest == digest;
}

/* -MT_E_NO_DATA: there is no table, or not one of this file. */
static int find_by_table(struct mt_reader *reader)
{
	struct mt_frame_entry *entries;
	uint64_t offset = 0;
	uint32_t i, n;
	int err;

	err = mt_seek_table_read(reader->fd, reader->file_size, &entries, &n);
	if (err)
		return err;
	for (i = 0; i < n && !err; i++) {
		if (entries[i].content)
			err = add_frame(reader, offset, entries[i].size, entries[i].content);
		offset += entries[i].size;
	}
	if (!err && !trailer_vouches(reader, entries, n))
		err = mt_seek_table_check(reader->fd, entries, n);
	free(entries);
	return err;
}

static int find_frames(struct mt_reader *reader)
{
	int err = find_by_table(reader);

	if (err == -MT_E_NO_DATA) {
		mt_block_release(&reader->trailer);	/* of where the table has it */
		err = walk(reader);
		reader->no_index = reader->n_frames <= MT_SEEK_FRAMES_MAX;
		return err;
	}
	reader->end = MT_END_NO_TRAILER;
	reader->end_offset = reader->file_size;
	return err;
}

/* Why the first block is not a header we can read. */
static int header_error(const struct mt_buf *content, int err)
{
	struct mt_mp_cursor cur = { content->data, content->data + content->len };
	const uint8_t *name;
	uint32_t n, len;
	uint64_t version;

	if (err == -ENOMEM)
		return err;
	if (mt_mp_read_array(&cur, &n) || n != 3 || mt_mp_read_bytes(&cur, &name, &len) ||
	    len != 6 || memcmp(name, "header", 6) || mt_mp_read_uint(&cur, &version))
		return -MT_E_NOT_ARTIFACT;
	return err ? -MT_E_CORRUPT : -MT_E_NEWER_FORMAT;
}

static int read_header(struct mt_reader *reader)
{
	const struct mt_buf *content;
	struct mt_frame_span span;
	size_t used;
	int err;

	err = mt_frame_walk(reader->fd, 0, reader->file_size, &span);
	if (err == -MT_E_CUT)
		return mt_seek_table_present(reader->fd, reader->file_size) ? -MT_E_CORRUPT : err;
	if (err)
		return mt_reader_is_damage(err) ? -MT_E_NOT_ARTIFACT : err;
	if (span.skippable)
		return -MT_E_NOT_ARTIFACT;

	err = add_frame(reader, 0, (uint32_t)span.size, span.content);
	if (!err)
		err = load(reader, 0, &content);
	if (err)
		return mt_reader_is_damage(err) ? -MT_E_CORRUPT : err;
	err = mt_block_decode(&reader->header, content->data, content->len,
			      MT_KIND_BIT(MT_BLOCK_HEADER), &used);
	if (err || reader->header.kind != MT_BLOCK_HEADER)
		return header_error(content, err);
	if (reader->header.header->min_reader_version > MT_READER_VERSION)
		return -MT_E_NEWER_FORMAT;
	if (reader->header.header->sample_bytes > MT_SAMPLE_BYTES_MAX)
		return -MT_E_LIMIT;
	return used == content->len ? 0 : -MT_E_CORRUPT;
}

/* The trailer, if the last frame is one; with it the file is complete. */
static int read_trailer(struct mt_reader *reader)
{
	uint32_t i, last = reader->n_frames - 1;
	const struct mt_trailer *trailer;
	/* It may have vouched for the others. */
	int err = mt_reader_trailer(reader) ? 0 : load_trailer(reader);

	if (err && mt_reader_is_damage(err)) {
		mt_reader_damage(reader, last);
		return 0;
	}
	trailer = mt_reader_trailer(reader);
	if (err || !trailer)
		return err;

	reader->max_lag = trailer->max_lag;
	if (reader->end == MT_END_NO_TRAILER)
		reader->end = MT_END_COMPLETE;
	if (trailer->n_frames != last)
		return 0;
	for (i = 0; i < last; i++)
		reader->frames[i].kinds = trailer->frame_kinds[i];
	return 0;
}

/* Stamps before the last checkpoint, and the largest lag so far. */
struct lag {
	uint64_t max_stamp;
	uint64_t max_lag;
};

static void add_lag(struct lag *lag, const struct mt_block *block)
{
	const struct mt_event *e, *end = block->events + block->n;
	uint64_t low, high;

	for (e = block->events; e < end; e++) {
		low = e->begin < e->time ? e->begin : e->time;
		high = e->begin < e->time ? e->time : e->begin;
		if (low < lag->max_stamp && lag->max_stamp - low > lag->max_lag)
			lag->max_lag = lag->max_stamp - low;
		lag->max_stamp = high > lag->max_stamp ? high : lag->max_stamp;
	}
}

/* Go through a frame's checkpoints and events. *ret_found: there was a checkpoint. */
static int lag_of_frame(struct mt_reader *reader, uint32_t frame, uint32_t wanted,
			struct lag *lag, bool *ret_found)
{
	struct mt_block *block = &reader->slots[0].blocks[0];
	const struct mt_checkpoint *checkpoint;
	const struct mt_buf *content;
	size_t used, pos = 0;
	bool found = false;
	int err;

	err = load(reader, frame, &content);
	while (!err && pos < content->len) {
		err = mt_block_decode(block, content->data + pos, content->len - pos, wanted,
				      &used);
		if (err)
			break;
		pos += used;
		if (!block->n)
			continue;
		if (block->kind == MT_BLOCK_EVENTS)
			add_lag(lag, block);
		if (block->kind == MT_BLOCK_CHECKPOINT) {
			checkpoint = block->checkpoint;
			lag->max_stamp = checkpoint->max_stamp;
			lag->max_lag = checkpoint->max_lag;
			found = true;
		}
	}
	if (!err && found)
		*ret_found = true;
	return err;
}

/* Without a trailer: from the last checkpoint, and the events that follow it. */
static int find_lag(struct mt_reader *reader)
{
	struct lag lag = { 0, 0 };
	bool found = false;
	uint32_t i;
	int err;

	for (i = reader->n_frames - 1; i > 0 && !found; i--) {
		err = lag_of_frame(reader, i, MT_KIND_BIT(MT_BLOCK_CHECKPOINT), &lag, &found);
		if (err && !mt_reader_is_damage(err))
			return err;
		if (err)
			mt_reader_damage(reader, i);
	}
	for (i = i + found + 1; i < reader->n_frames; i++) {
		err = lag_of_frame(reader, i, MT_KIND_BIT(MT_BLOCK_EVENTS), &lag, &found);
		if (err && !mt_reader_is_damage(err))
			return err;
		if (err)
			mt_reader_damage(reader, i);
	}
	reader->max_lag = lag.max_lag;
	return 0;
}

static int make_slot(struct mt_reader *reader)
{
	int err;

	reader->slots = calloc(1, sizeof(*reader->slots));
	if (!reader->slots)
		return -ENOMEM;
	err = mt_reader_slot_init(&reader->slots[0], reader);
	reader->n_slots = !err;
	return err;
}

int mt_reader_open(const char *path, struct mt_reader **ret_reader)
{
	struct mt_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->fd = -1;
	err = open_file(reader, path);
	if (!err && !reader->file_size)
		err = -MT_E_EMPTY;
	if (!err)
		err = make_slot(reader);
	if (!err)
		err = read_header(reader);
	if (err)
		goto out;
	reader->n_frames = 0;
	err = find_frames(reader);
	if (!err && !reader->n_frames)
		err = -MT_E_CORRUPT;
	if (!err)
		err = read_trailer(reader);
	if (!err && !mt_reader_trailer(reader))
		err = find_lag(reader);
	if (err)
		goto out;

	mt_reader_rewind(reader, ~0u);
	*ret_reader = reader;
	return 0;
out:
	mt_reader_free(reader);
	return err;
}

void mt_reader_free(struct mt_reader *reader)
{
	uint32_t i;

	if (!reader)
		return;
	mt_reader_drop(reader);
	if (reader->fd >= 0)
		close(reader->fd);
	for (i = 0; i < reader->n_slots; i++)
		mt_reader_slot_release(&reader->slots[i]);
	free(reader->slots);
	mt_buf_release(&reader->frame);
	mt_block_release(&reader->header);
	mt_block_release(&reader->trailer);
	free(reader->frames);
	free(reader);
}
