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
 * The seek_digest of a trailer: begun with MT_SEEK_DIGEST_BASIS and continued with the entry of
 * each frame before the trailer's. Never 0.
 */
#define MT_SEEK_DIGEST_BASIS 0xcbf29ce484222325u
uint64_t mt_seek_digest(uint64_t digest, const struct mt_frame_entry *entry);

/*
 * The seek table of a file: its frames add up to the file. *ret_entries is malloc'ed, kinds all 0.
 * -MT_E_NO_DATA if there is none that does, -ENOMEM, -errno.
 */
int mt_seek_table_read(int fd, uint64_t file_size, struct mt_frame_entry **ret_entries,
		       uint32_t *ret_n);

/*
 * Of a table that nothing vouches for: is there, where each frame should be, a header of a frame of
 * ours with that content size? Reads of each frame. 0, -MT_E_NO_DATA if not, -errno.
 */
int mt_seek_table_check(int fd, const struct mt_frame_entry *entries, uint32_t n);

/* Does the file end as one with a seek table does, sound or not? */
bool mt_seek_table_present(int fd, uint64_t file_size);

#endif
