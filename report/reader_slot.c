/* One frame of an artifact: read, decompressed, checked, decoded. Runs in any thread. */
#include "common/error.h"
#include "common/frame.h"
#include "report/reader_impl.h"

int mt_reader_slot_init(struct mt_reader_slot *slot, const struct mt_reader *reader)
{
	uint32_t i;

	memset(slot, 0, sizeof(*slot));
	slot->job.run = mt_reader_slot_run;
	slot->reader = reader;
	mt_buf_init(&slot->raw);
	mt_buf_init(&slot->content);
	for (i = 0; i < MT_READER_BLOCKS; i++) {
		mt_block_init(&slot->blocks[i]);
		mt_buf_init(&slot->results[i]);
	}
	return mt_unpacker_new(&slot->unpacker);
}

void mt_reader_slot_release(struct mt_reader_slot *slot)
{
	uint32_t i;

	mt_unpacker_free(slot->unpacker);
	mt_buf_release(&slot->raw);
	mt_buf_release(&slot->content);
	for (i = 0; i < MT_READER_BLOCKS; i++) {
		mt_block_release(&slot->blocks[i]);
		mt_buf_release(&slot->results[i]);
	}
}

void mt_reader_slot_set(struct mt_reader_slot *slot, uint32_t frame)
{
	slot->frame = frame;
	slot->span = slot->reader->frames[frame];
	slot->last = frame == slot->reader->n_frames - 1;
	slot->loaded = false;
	slot->continued = false;
	slot->pos = 0;
	slot->err = 0;
	slot->n = slot->next = 0;
	slot->seen = 0;
}

int mt_reader_slot_load(struct mt_reader_slot *slot)
{
	const struct mt_reader_frame *span = &slot->span;
	int err;

	if (span->size > MT_FRAME_SIZE_MAX || span->content > MT_FRAME_CONTENT_MAX)
		return -MT_E_LIMIT;
	mt_buf_reset(&slot->raw);
	err = mt_buf_reserve(&slot->raw, span->size);
	if (err)
		return err;
	err = mt_read_at(slot->reader->fd, span->offset, slot->raw.data, span->size);
	if (err)
		return err;
	return mt_unpacker_unpack(slot->unpacker, slot->raw.data, span->size, span->content,
				  &slot->content);
}

/* Header and trailer have their places; anywhere else two files were run together. */
static bool misplaced(const struct mt_reader_slot *slot, const struct mt_block *block)
{
	bool first = !slot->frame && !slot->pos;

	return (block->kind == MT_BLOCK_HEADER) != first ||
	       (block->kind == MT_BLOCK_TRAILER && !slot->last);
}

static int next_block(struct mt_reader_slot *slot, struct mt_block *block)
{
	size_t used;
	int err;

	err = mt_block_decode(block, slot->content.data + slot->pos, slot->content.len - slot->pos,
			      slot->reader->wanted, &used);
	if (err)
		return err;
	if (misplaced(slot, block))
		return -MT_E_CORRUPT;
	slot->pos += used;
	slot->seen |= MT_KIND_BIT(block->kind);
	slot->unknown_blocks += block->kind == MT_BLOCK_UNKNOWN;
	slot->unknown_columns += block->skipped;
	return 0;
}

void mt_reader_slot_run(struct mt_job *job, unsigned int worker)
{
	struct mt_reader_slot *slot = (struct mt_reader_slot *)job;
	const struct mt_reader *reader = slot->reader;
	struct mt_block *block;
	uint32_t rows = 0;

	slot->n = slot->next = 0;
	slot->unknown_blocks = slot->unknown_columns = 0;
	if (!slot->loaded) {
		slot->err = mt_reader_slot_load(slot);
		slot->loaded = true;
	}
	while (!slot->err && slot->pos < slot->content.len && slot->n < MT_READER_BLOCKS &&
	       rows < MT_READER_ROWS) {
		block = &slot->blocks[slot->n];
		slot->err = next_block(slot, block);
		if (slot->err || block->kind == MT_BLOCK_UNKNOWN ||
		    !(reader->wanted & MT_KIND_BIT(block->kind)))
			continue;
		mt_buf_reset(&slot->results[slot->n]);
		if (reader->work)
			slot->err = reader->work(reader->work_arg, worker, block,
						 &slot->results[slot->n]);
		rows += block->n + block->dropped;
		slot->n += !slot->err;
	}
}
