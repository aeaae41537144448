#include "report/reader.h"
#include "common/error.h"
#include "common/frame.h"
#include "report/reader_impl.h"

#include <errno.h>

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

int mt_reader_use(struct mt_reader *reader, struct mt_workers *workers)
{
	uint32_t n = mt_workers_count(workers) + 1, i;
	struct mt_reader_slot *slots;
	int err = 0;

	if (n > MT_READER_SLOTS_MAX)
		n = MT_READER_SLOTS_MAX;
	/* Alone, nothing is gained by reading ahead. */
	if (n == 2)
		n = 1;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; i < n && !err; i++)
		err = mt_reader_slot_init(&slots[i], reader);
	if (err) {
		while (i-- > 0)
			mt_reader_slot_release(&slots[i]);
		free(slots);
		return err;
	}
	mt_reader_drop(reader);
	for (i = 0; i < reader->n_slots; i++)
		mt_reader_slot_release(&reader->slots[i]);
	free(reader->slots);
	reader->slots = slots;
	reader->n_slots = n;
	reader->workers = workers;
	mt_reader_rewind(reader, ~0u);
	return 0;
}

static void put(struct mt_reader *reader, struct mt_reader_slot *slot)
{
	if (reader->workers)
		mt_workers_put(reader->workers, &slot->job);
}

static void wait_for(struct mt_reader *reader, struct mt_reader_slot *slot)
{
	if (reader->workers)
		mt_workers_wait(reader->workers, &slot->job);
	else
		slot->job.run(&slot->job, 0);
}

void mt_reader_drop(struct mt_reader *reader)
{
	if (reader->collected) {
		reader->first = (reader->first + 1) % reader->n_slots;
		reader->n_queued--;
		reader->collected = false;
	}
	for (; reader->n_queued; reader->n_queued--) {
		if (reader->workers)
			mt_workers_wait(reader->workers, &reader->slots[reader->first].job);
		reader->first = (reader->first + 1) % reader->n_slots;
	}
	reader->first = 0;
}

void mt_reader_rewind_for(struct mt_reader *reader, uint32_t wanted, mt_reader_work_fn work,
			  void *arg)
{
	mt_reader_drop(reader);
	reader->most_unknown_blocks = max32(reader->most_unknown_blocks, reader->unknown_blocks);
	reader->most_unknown_columns = max32(reader->most_unknown_columns,
					     reader->unknown_columns);
	reader->unknown_blocks = 0;
	reader->unknown_columns = 0;
	reader->events = 0;
	reader->stacks = 0;
	reader->wanted = wanted;
	reader->work = work;
	reader->work_arg = arg;
	reader->at = 0;
	reader->ended = false;
}

void mt_reader_rewind(struct mt_reader *reader, uint32_t wanted)
{
	mt_reader_rewind_for(reader, wanted, NULL, NULL);
}

void mt_reader_tell(struct mt_reader *reader, mt_reader_told_fn told, void *arg)
{
	reader->told = told;
	reader->told_arg = arg;
}

/* Begin with the next frames that may hold something wanted, as far as there are slots. */
static void queue_frames(struct mt_reader *reader)
{
	const struct mt_reader_frame *frame;
	struct mt_reader_slot *slot;

	for (; reader->at < reader->n_frames && reader->n_queued < reader->n_slots; reader->at++) {
		frame = &reader->frames[reader->at];
		if (frame->kinds && !(frame->kinds & reader->wanted))
			continue;
		slot = &reader->slots[(reader->first + reader->n_queued++) % reader->n_slots];
		mt_reader_slot_set(slot, reader->at);
		put(reader, slot);
	}
}

/* Have the blocks of the first slot: false if there is none, because all was read. */
static bool collect(struct mt_reader *reader)
{
	struct mt_reader_slot *slot;

	queue_frames(reader);
	if (!reader->n_queued)
		return false;
	slot = &reader->slots[reader->first];
	if (reader->told && !slot->continued)
		reader->told(reader->told_arg, slot->frame, reader->n_frames);
	wait_for(reader, slot);
	reader->collected = true;
	reader->unknown_blocks += slot->unknown_blocks;
	reader->unknown_columns += slot->unknown_columns;
	return true;
}

static const struct mt_block *deliver(struct mt_reader *reader, struct mt_reader_slot *slot)
{
	const struct mt_block *block = &slot->blocks[slot->next];

	reader->result = &slot->results[slot->next++];
	if (block->kind == MT_BLOCK_EVENTS)
		reader->events += (uint64_t)block->n + block->dropped;
	if (block->kind == MT_BLOCK_STACKS)
		reader->stacks += (uint64_t)block->n + block->dropped;
	return block;
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

/* 1 and a wanted block; 0: the end; or an error. */
static int advance(struct mt_reader *reader, const struct mt_block **ret_block)
{
	struct mt_reader_slot *slot;

	for (;;) {
		if (!reader->collected && !collect(reader))
			return 0;
		slot = &reader->slots[reader->first];
		if (slot->next < slot->n) {
			*ret_block = deliver(reader, slot);
			return 1;
		}
		if (slot->err)
			return slot->err;
		reader->collected = false;
		if (slot->pos < slot->content.len) {
			slot->continued = true;
			put(reader, slot);
			continue;
		}
		reader->frames[slot->frame].kinds = slot->seen ? slot->seen :
							MT_KIND_BIT(MT_BLOCK_UNKNOWN);
		reader->first = (reader->first + 1) % reader->n_slots;
		reader->n_queued--;
	}
}

int mt_reader_next(struct mt_reader *reader, const struct mt_block **ret_block)
{
	int err;

	if (reader->ended)
		return 0;
	err = advance(reader, ret_block);
	if (err > 0)
		return err;
	if (!err) {
		reader->ended = true;
		check_totals(reader);
		return 0;
	}
	if (!mt_reader_is_damage(err))
		return err;
	mt_reader_damage(reader, reader->slots[reader->first].frame);
	mt_reader_drop(reader);
	reader->ended = true;
	return 0;
}

const struct mt_buf *mt_reader_result(const struct mt_reader *reader)
{
	return reader->result;
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
