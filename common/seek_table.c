#include "common/seek_table.h"
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"

#include <errno.h>
#include <fcntl.h>

#define SKIPPABLE_MAGIC 0x184D2A5Eu
#define FOOTER_MAGIC 0x8F92EAB1u
#define HEAD_SIZE 8
#define FOOTER_SIZE 9
#define ENTRY_SIZE 8
#define WITH_CHECKSUMS 0x80	/* entries have 4 bytes more; we write none: frames have theirs */
#define RESERVED 0x7c

static uint8_t *put_le32(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
	p[2] = (uint8_t)(value >> 16);
	p[3] = (uint8_t)(value >> 24);
	return p + 4;
}

static uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int mt_seek_table_begin(struct mt_buf *buf, uint32_t n)
{
	uint8_t *p;
	int err = mt_buf_reserve(buf, HEAD_SIZE);

	if (err)
		return err;
	p = put_le32(buf->data + buf->len, SKIPPABLE_MAGIC);
	put_le32(p, n * ENTRY_SIZE + FOOTER_SIZE);
	buf->len += HEAD_SIZE;
	return 0;
}

int mt_seek_table_add(struct mt_buf *buf, const struct mt_frame_entry *entry)
{
	uint8_t *p;
	int err = mt_buf_reserve(buf, ENTRY_SIZE);

	if (err)
		return err;
	p = put_le32(buf->data + buf->len, entry->size);
	put_le32(p, entry->content);
	buf->len += ENTRY_SIZE;
	return 0;
}

int mt_seek_table_end(struct mt_buf *buf, uint32_t n)
{
	uint8_t *p;
	int err = mt_buf_reserve(buf, FOOTER_SIZE);

	if (err)
		return err;
	p = put_le32(buf->data + buf->len, n);
	*p++ = 0;
	put_le32(p, FOOTER_MAGIC);
	buf->len += FOOTER_SIZE;
	return 0;
}

int mt_seek_table_encode(struct mt_buf *buf, const struct mt_frame_entry *entries, uint32_t n)
{
	uint32_t i;
	int err;

	err = mt_buf_reserve(buf, HEAD_SIZE + (size_t)n * ENTRY_SIZE + FOOTER_SIZE);
	if (!err)
		err = mt_seek_table_begin(buf, n);
	for (i = 0; i < n && !err; i++)
		err = mt_seek_table_add(buf, &entries[i]);
	return err ? err : mt_seek_table_end(buf, n);
}

/* FNV-1a, a word at a time. */
uint64_t mt_seek_digest(uint64_t digest, const struct mt_frame_entry *entry)
{
	digest ^= entry->size | (uint64_t)entry->content << 32;
	digest *= 0x100000001b3u;
	return digest ? digest : 1;
}

static int read_footer(int fd, uint64_t file_size, uint8_t footer[FOOTER_SIZE])
{
	int err;

	if (file_size < HEAD_SIZE + FOOTER_SIZE)
		return -MT_E_NO_DATA;
	err = mt_read_at(fd, file_size - FOOTER_SIZE, footer, FOOTER_SIZE);
	if (err)
		return err;
	return get_le32(footer + 5) == FOOTER_MAGIC ? 0 : -MT_E_NO_DATA;
}

bool mt_seek_table_present(int fd, uint64_t file_size)
{
	uint8_t footer[FOOTER_SIZE];

	return !read_footer(fd, file_size, footer);
}

static int check_entry(int fd, uint64_t offset, uint64_t end, const struct mt_frame_entry *entry)
{
	struct mt_frame_span span;
	int err;

	err = mt_frame_peek(fd, offset, end, &span);
	if (err)
		return err <= -MT_E_FIRST ? -MT_E_NO_DATA : err;
	if (span.skippable ? span.size != entry->size || entry->content :
			     span.content != entry->content || span.size >= entry->size)
		return -MT_E_NO_DATA;
	return 0;
}

/*
 * Frames' heads lie far apart in the file: waiting for a disk once for each takes long. Those that
 * are not in memory are fetched at once, and no more of the file with them.
 */
static void fetch_heads(int fd, const struct mt_frame_entry *entries, uint32_t n)
{
	uint64_t offset = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		posix_fadvise(fd, (off_t)offset, MT_FRAME_HEAD_MAX, POSIX_FADV_WILLNEED);
		offset += entries[i].size;
	}
}

static bool add_up(const struct mt_frame_entry *entries, uint32_t n, uint64_t end)
{
	uint64_t offset = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (entries[i].size > end - offset)
			return false;
		offset += entries[i].size;
	}
	return offset == end;
}

int mt_seek_table_check(int fd, const struct mt_frame_entry *entries, uint32_t n)
{
	uint64_t offset = 0, end = 0;
	uint32_t i;
	int err;

	for (i = 0; i < n; i++)
		end += entries[i].size;
	fetch_heads(fd, entries, n);
	for (i = 0; i < n; i++) {
		err = check_entry(fd, offset, end, &entries[i]);
		if (err)
			return err;
		offset += entries[i].size;
	}
	return 0;
}

int mt_seek_table_read(int fd, uint64_t file_size, struct mt_frame_entry **ret_entries,
		       uint32_t *ret_n)
{
	struct mt_frame_entry *entries = NULL;
	uint8_t footer[FOOTER_SIZE], *table = NULL;
	uint64_t size, start;
	uint32_t i, n, stride;
	int err;

	err = read_footer(fd, file_size, footer);
	if (err)
		return err;
	n = get_le32(footer);
	stride = footer[4] & WITH_CHECKSUMS ? 12 : 8;
	size = HEAD_SIZE + (uint64_t)n * stride + FOOTER_SIZE;
	if (!n || n > MT_FRAMES_MAX || footer[4] & RESERVED || size > file_size)
		return -MT_E_NO_DATA;
	start = file_size - size;

	/* Both are in proportion to the file's own size. */
	table = malloc(size);
	entries = calloc(n, sizeof(*entries));
	err = table && entries ? mt_read_at(fd, start, table, size) : -ENOMEM;
	if (err)
		goto out;
	err = -MT_E_NO_DATA;
	if (get_le32(table) != SKIPPABLE_MAGIC || get_le32(table + 4) != size - HEAD_SIZE)
		goto out;
	for (i = 0; i < n; i++) {
		entries[i].size = get_le32(table + HEAD_SIZE + (size_t)i * stride);
		entries[i].content = get_le32(table + HEAD_SIZE + (size_t)i * stride + 4);
	}
	if (!add_up(entries, n, start))
		goto out;

	err = 0;
	*ret_entries = entries;
	*ret_n = n;
	entries = NULL;
out:
	free(table);
	free(entries);
	return err;
}
