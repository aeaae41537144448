/*
 * common/seek_table.h - zstd's seek table, in a skippable frame at the end of a .mt file.
 *
 * It is a hint: a reader that finds none, or one that does not fit the file, walks the
 * frames instead.
 */
#ifndef MT_SEEK_TABLE_H
#define MT_SEEK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct mt_buf;

struct mt_frame_entry {
	uint32_t size;		/* of the frame in the file */
	uint32_t content;	/* of what is in it */
	uint32_t kinds;		/* or of MT_KIND_BIT, 0 if unknown; not part of the seek table */
};

/* Append the seek table's frame: its parts, n times the one in the middle; or all. 0, -ENOMEM. */
int mt_seek_table_begin(struct mt_buf *buf, uint32_t n);
int mt_seek_table_add(struct mt_buf *buf, const struct mt_frame_entry *entry);
int mt_seek_table_end(struct mt_buf *buf, uint32_t n);
int mt_seek_table_encode(struct mt_buf *buf, const struct mt_frame_entry *entries, uint32_t n);

/*
 * The seek table of a file, checked: the frames add up to the file, and where each should
 * be there is a header of a frame of ours with that content size. *ret_entries is
 * malloc'ed, kinds all 0. -MT_E_NO_DATA if there is none that passes, -ENOMEM, -errno.
 */
int mt_seek_table_read(int fd, uint64_t file_size, struct mt_frame_entry **ret_entries,
		       uint32_t *ret_n);

/* Does the file end as one with a seek table does, sound or not? */
bool mt_seek_table_present(int fd, uint64_t file_size);

#endif
