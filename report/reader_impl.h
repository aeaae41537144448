/*
 * report/reader_impl.h - for reader.c (blocks in order), reader_slot.c (one frame's blocks) and
 * reader_open.c (file, index, trailer) only.
 */
#ifndef MT_READER_IMPL_H
#define MT_READER_IMPL_H

#include "common/buf.h"
#include "report/reader.h"
#include "report/workers.h"

struct mt_unpacker;

/* Decoded of a frame at once, before they are asked for: so many, or blocks with so many rows. */
#define MT_READER_BLOCKS 8u
#define MT_READER_ROWS (1u << 16)
#define MT_READER_SLOTS_MAX 16u		/* frames read at once */

struct mt_reader_frame {
	uint64_t offset;
	uint32_t size;
	uint32_t content;
	uint32_t kinds;		/* or of MT_KIND_BIT; 0: unknown */
};

/*
 * A frame on its way. The job reads it and decodes its first blocks; once they are delivered, the
 * same job decodes more.
 */
struct mt_reader_slot {
	struct mt_job job;		/* the first member */
	const struct mt_reader *reader;	/* of which nothing changes that the job reads */
	struct mt_unpacker *unpacker;
	struct mt_buf raw;		/* as in the file */
	struct mt_buf content;
	uint32_t frame;
	struct mt_reader_frame span;
	bool last;			/* of the readable frames */
	bool loaded;
	bool continued;			/* it has delivered blocks of this frame */
	size_t pos;			/* in content */
	int err;			/* behind the blocks */
	uint32_t n, next;		/* blocks decoded, and of those to be delivered next */
	struct mt_block blocks[MT_READER_BLOCKS];
	struct mt_buf results[MT_READER_BLOCKS];
	/* Of what was decoded now, with blocks that were passed over; and kinds of the frame. */
	uint32_t unknown_blocks, unknown_columns;
	uint32_t seen;
};

struct mt_reader {
	int fd;
	uint64_t file_size;
	struct mt_buf frame;		/* of mt_reader_raw_frame() */
	struct mt_block header;
	struct mt_block trailer;	/* kind MT_BLOCK_TRAILER if there is one */
	uint64_t max_lag;

	struct mt_reader_frame *frames;
	uint32_t n_frames;		/* readable ones */
	enum mt_reader_end_kind end;
	uint64_t end_offset;
	bool no_index;			/* frames were found by walking */

	mt_reader_told_fn told;		/* may be NULL */
	void *told_arg;
	struct mt_workers *workers;	/* NULL: this thread does it all */

	/* The pass being made. */
	uint32_t wanted;
	mt_reader_work_fn work;		/* may be NULL */
	void *work_arg;
	struct mt_reader_slot *slots;	/* a ring; the first is for opening the file, too */
	uint32_t n_slots;
	uint32_t first, n_queued;
	bool collected;			/* the first one's job is done, and counted */
	uint32_t at;			/* frame to be queued next */
	bool ended;
	const struct mt_buf *result;
	uint64_t events;
	uint64_t stacks;
	uint32_t unknown_blocks;
	uint32_t unknown_columns;
	uint32_t most_unknown_blocks;	/* of earlier passes */
	uint32_t most_unknown_columns;
};

int mt_reader_slot_init(struct mt_reader_slot *slot, const struct mt_reader *reader);
void mt_reader_slot_release(struct mt_reader_slot *slot);
/* Make it that frame's, of which nothing is loaded. */
void mt_reader_slot_set(struct mt_reader_slot *slot, uint32_t frame);
/* mt_job_fn: some blocks more, as far as there are. */
void mt_reader_slot_run(struct mt_job *job, unsigned int worker);

/* Content of a readable frame into the slot. -MT_E_CORRUPT, -MT_E_LIMIT: it is damaged. */
int mt_reader_slot_load(struct mt_reader_slot *slot);

/* Forget what is on its way; what was begun is waited for. */
void mt_reader_drop(struct mt_reader *reader);

/* The readable part ends before this frame. */
void mt_reader_damage(struct mt_reader *reader, uint32_t frame);

/* Does this error speak of the file's content, and not of the machine? */
bool mt_reader_is_damage(int err);

#endif
