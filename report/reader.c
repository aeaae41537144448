#include "report/reader.h"
#include "common/error.h"
#include "common/frame.h"
#include "report/reader_impl.h"

bool mt_reader_is_damage(int err)
{
	return err == -MT_E_CORRUPT || err == -MT_E_LIMIT || err == -MT_E_CUT;
}

void mt_reader_damage(struct mt_reader *reader, uint32_t frame)
{
	reader->end = MT_END_DAMAGED;
	reader->end_offset = reader->frames[frame].offset;
	reader->n_frames = frame;
}

int mt_reader_load(struct mt_reader *reader, uint32_t frame)
{
	const struct mt_reader_frame *f = &reader->frames[frame];
	int err;

	if (f->size > MT_FRAME_SIZE_MAX || f->content > MT_FRAME_CONTENT_MAX)
		return -MT_E_LIMIT;
	mt_buf_reset(&reader->frame);
	err = mt_buf_reserve(&reader->frame, f->size);
	if (err)
		return err;
	err = mt_read_at(reader->fd, f->offset, reader->frame.data, f->size);
	if (err)
		return err;
	return mt_unpacker_unpack(reader->unpacker, reader->frame.data, f->size, f->content,
				  &reader->content);
}

const struct mt_header *mt_reader_header(const struct mt_reader *reader)
{
	return reader->header.header;
}

uint64_t mt_reader_max_lag(const struct mt_reader *reader)
{
	return reader->max_lag;
}

const struct mt_trailer *mt_reader_trailer(const struct mt_reader *reader)
{
	return reader->trailer.kind == MT_BLOCK_TRAILER ? reader->trailer.trailer : NULL;
}

static uint32_t max32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void mt_reader_rewind(struct mt_reader *reader, uint32_t wanted)
{
	reader->most_unknown_blocks = max32(reader->most_unknown_blocks, reader->unknown_blocks);
	reader->most_unknown_columns = max32(reader->most_unknown_columns,
					     reader->unknown_columns);
	reader->unknown_blocks = 0;
	reader->unknown_columns = 0;
	reader->events = 0;
	reader->stacks = 0;
	reader->wanted = wanted;
	reader->at = 0;
	reader->loaded = false;
}

void mt_reader_tell(struct mt_reader *reader, mt_reader_told_fn told, void *arg)
{
	reader->told = told;
	reader->told_arg = arg;
}

/* Load the next frame that may hold something wanted: 1, 0 at the end, or an error. */
static int next_frame(struct mt_reader *reader)
{
	const struct mt_reader_frame *frame;
	int err;

	for (; reader->at < reader->n_frames; reader->at++) {
		frame = &reader->frames[reader->at];
		if (frame->kinds && !(frame->kinds & reader->wanted))
			continue;
		if (reader->told)
			reader->told(reader->told_arg, reader->at, reader->n_frames);
		err = mt_reader_load(reader, reader->at);
		if (err)
			return err;
		reader->loaded = true;
		reader->pos = 0;
		reader->seen = 0;
		return 1;
	}
	return 0;
}

/* Header and trailer have their places; anywhere else two files were run together. */
static bool misplaced(const struct mt_reader *reader)
{
	bool first = !reader->at && !reader->pos;

	return (reader->block.kind == MT_BLOCK_HEADER) != first ||
	       (reader->block.kind == MT_BLOCK_TRAILER && reader->at != reader->n_frames - 1);
}

static int next_block(struct mt_reader *reader)
{
	size_t used;
	int err;

	err = mt_block_decode(&reader->block, reader->content.data + reader->pos,
			      reader->content.len - reader->pos, reader->wanted, &used);
	if (err)
		return err;
	if (misplaced(reader))
		return -MT_E_CORRUPT;
	reader->pos += used;
	reader->seen |= MT_KIND_BIT(reader->block.kind);
	reader->unknown_blocks += reader->block.kind == MT_BLOCK_UNKNOWN;
	reader->unknown_columns += reader->block.skipped;
	if (reader->block.kind == MT_BLOCK_EVENTS)
		reader->events += (uint64_t)reader->block.n + reader->block.dropped;
	if (reader->block.kind == MT_BLOCK_STACKS)
		reader->stacks += (uint64_t)reader->block.n + reader->block.dropped;
	return 0;
}

/* What was read of whole kinds must be what the trailer says was written. */
static void check_totals(struct mt_reader *reader)
{
	const struct mt_trailer *trailer = mt_reader_trailer(reader);

	if (!trailer || reader->end == MT_END_DAMAGED || reader->unknown_blocks)
		return;
	if ((reader->wanted & MT_KIND_BIT(MT_BLOCK_EVENTS) && reader->events != trailer->events) ||
	    (reader->wanted & MT_KIND_BIT(MT_BLOCK_STACKS) && reader->stacks != trailer->stacks))
		mt_reader_damage(reader, reader->n_frames - 1);
}

/* 1: reader->block is a wanted one; 0: the end; or an error. */
static int advance(struct mt_reader *reader)
{
	int err;

	for (;;) {
		if (!reader->loaded) {
			err = next_frame(reader);
			if (err <= 0)
				return err;
		}
		while (reader->pos < reader->content.len) {
			err = next_block(reader);
			if (err)
				return err;
			if (reader->block.kind != MT_BLOCK_UNKNOWN &&
			    reader->wanted & MT_KIND_BIT(reader->block.kind))
				return 1;
		}
		reader->frames[reader->at].kinds = reader->seen ? reader->seen :
							MT_KIND_BIT(MT_BLOCK_UNKNOWN);
		reader->loaded = false;
		reader->at++;
	}
}

int mt_reader_next(struct mt_reader *reader, const struct mt_block **ret_block)
{
	int err;

	if (!reader->loaded && reader->at >= reader->n_frames)
		return 0;
	err = advance(reader);
	if (err > 0) {
		*ret_block = &reader->block;
		return 1;
	}
	if (!err) {
		check_totals(reader);
		return 0;
	}
	if (!mt_reader_is_damage(err))
		return err;
	mt_reader_damage(reader, reader->at);
	reader->loaded = false;
	return 0;
}

void mt_reader_end(const struct mt_reader *reader, struct mt_reader_end *ret_end)
{
	ret_end->kind = reader->end;
	ret_end->offset = reader->end_offset;
	ret_end->file_size = reader->file_size;
	ret_end->frames = reader->n_frames;
	ret_end->no_index = reader->no_index;
	ret_end->unknown_blocks = max32(reader->unknown_blocks, reader->most_unknown_blocks);
	ret_end->unknown_columns = max32(reader->unknown_columns, reader->most_unknown_columns);
}

int mt_reader_raw_frame(struct mt_reader *reader, uint32_t index, struct mt_raw_frame *ret_frame)
{
	const struct mt_reader_frame *f = &reader->frames[index];
	int err;

	if (index >= reader->n_frames)
		return 0;
	mt_buf_reset(&reader->frame);
	err = mt_buf_reserve(&reader->frame, f->size);
	if (!err)
		err = mt_read_at(reader->fd, f->offset, reader->frame.data, f->size);
	if (err)
		return err;
	*ret_frame = (struct mt_raw_frame){ reader->frame.data, f->size, f->content, f->kinds };
	return 1;
}
