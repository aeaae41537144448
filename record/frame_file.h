/*
 * record/frame_file.h - the artifact file while it is written: whole frames, and their index.
 *
 * After a failed write the file ends with the last whole frame, if it can be truncated and nobody
 * else has done so; that nothing is written then is up to the caller.
 */
#ifndef MT_FRAME_FILE_H
#define MT_FRAME_FILE_H

#include <stdbool.h>

#include "common/seek_table.h"

struct mt_buf;
struct mt_packer;

/* Different ones; frames of any others are of no known kinds. */
#define MT_FRAME_KINDS_MAX 63

struct mt_frame_file {
	int fd;			/* -1: none */
	bool seekable;
	uint64_t start;		/* of the artifact in the file */
	uint64_t bytes;		/* written since, whole frames */
	/*
	 * Of the first MT_SEEK_FRAMES_MAX: reserved at the start, 7 MiB if all of it is used. A
	 * recorder writes 2 to 8 frames a second, and one more for every 32768 events.
	 */
	uint8_t *index;
	uint32_t n_index;
	uint32_t n_frames;
	uint32_t kinds[MT_FRAME_KINDS_MAX];	/* that occur; the index has their places */
	uint32_t n_kinds;
};

/* From fd's position on; fd stays the caller's to close. 0, -ENOMEM. */
int mt_frame_file_init(struct mt_frame_file *file, int fd);
void mt_frame_file_release(struct mt_frame_file *file);

/* Does the index hold all frames? */
bool mt_frame_file_indexed(const struct mt_frame_file *file);

/* A frame in the index, i below n_index. */
struct mt_frame_entry mt_frame_file_entry(const struct mt_frame_file *file, uint32_t i);

/* Has somebody else taken away what was written? Asked before every write: -MT_E_SHORTENED. */
bool mt_frame_file_shortened(const struct mt_frame_file *file);

/* The seek table, the last frame of all. 0, -ENOMEM, -errno. */
int mt_frame_file_end(struct mt_frame_file *file);

/* Compress content, see mt_packer_pack(). 0, -errno, -ENOMEM, -MT_E_LIMIT. */
int mt_frame_file_pack(struct mt_frame_file *file, struct mt_packer *packer,
		       const struct mt_buf *content, const size_t *cuts, uint32_t n_cuts,
		       uint32_t kinds);

/* The same by a compressor for this one frame, of which there are few. */
int mt_frame_file_pack_single(struct mt_frame_file *file, int level, const struct mt_buf *content,
			      uint32_t kinds);

#endif
