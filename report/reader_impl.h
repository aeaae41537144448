/* report/reader_impl.h - for reader.c (blocks) and reader_open.c (file, index, trailer) only. */
#ifndef MT_READER_IMPL_H
#define MT_READER_IMPL_H

#include "common/buf.h"
#include "report/reader.h"

struct mt_unpacker;

struct mt_reader_frame {
	uint64_t offset;
	uint32_t size;
	uint32_t content;
	uint32_t kinds;		/* or of MT_KIND_BIT; 0: unknown */
};

struct mt_reader {
	int fd;
	uint64_t file_size;
	struct mt_unpacker *unpacker;
	struct mt_buf frame;		/* as in the file */
	struct mt_buf content;		/* of the frame being read */
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

	/* The pass being made. */
	uint32_t wanted;
	uint32_t at;			/* frame being read, if loaded, or else to be read next */
	bool loaded;
	size_t pos;			/* in content */
	uint32_t seen;			/* kinds in this frame so far */
	struct mt_block block;
	uint64_t events;
	uint64_t stacks;
	uint32_t unknown_blocks;
	uint32_t unknown_columns;
	uint32_t most_unknown_blocks;	/* of earlier passes */
	uint32_t most_unknown_columns;
};

/* Content of a readable frame into reader->content. -MT_E_CORRUPT, -MT_E_LIMIT: it is damaged. */
int mt_reader_load(struct mt_reader *reader, uint32_t frame);

/* The readable part ends before this frame. */
void mt_reader_damage(struct mt_reader *reader, uint32_t frame);

/* Does this error speak of the file's content, and not of the machine? */
bool mt_reader_is_damage(int err);

#endif
