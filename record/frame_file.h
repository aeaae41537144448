/*
 * record/frame_file.h - the artifact file while it is written: whole frames, and their index.
 *
 * After a failed write the file ends with the last whole frame, if it can be truncated; that
 * nothing is written then is up to the caller.
 */
#ifndef MT_FRAME_FILE_H
#define MT_FRAME_FILE_H

#include <stdbool.h>

#include "common/seek_table.h"

struct mt_buf;
struct mt_packer;

struct mt_frame_file {
	int fd;			/* -1: none */
	bool seekable;
	uint64_t start;		/* of the artifact in the file */
	uint64_t bytes;		/* written since, whole frames */
	/*
	 * Of the first MT_SEEK_FRAMES_MAX: reserved at the start, 12 MB if all of it is used. A
	 * recorder writes 2 to 8 frames a second, and one more for every 32768 events.
	 */
	struct mt_frame_entry *index;
	uint32_t n_index;
	uint32_t n_frames;
};

/* From fd's position on; fd stays the caller's to close. 0, -ENOMEM. */
int mt_frame_file_init(struct mt_frame_file *file, int fd);
void mt_frame_file_release(struct mt_frame_file *file);

/* Does the index hold all frames? */
bool mt_frame_file_indexed(const struct mt_frame_file *file);

/* Bytes that are a frame, without an entry in the index. 0, -errno. */
int mt_frame_file_write(struct mt_frame_file *file, const void *frame, size_t size);

/* Compress content, see mt_packer_pack(). 0, -errno, -ENOMEM, -MT_E_LIMIT. */
int mt_frame_file_pack(struct mt_frame_file *file, struct mt_packer *packer,
		       const struct mt_buf *content, const size_t *cuts, uint32_t n_cuts,
		       uint32_t kinds);

#endif
