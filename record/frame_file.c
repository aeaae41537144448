#include "record/frame_file.h"
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * An entry of the index: as much as it takes, little-endian. From the lowest bit: size, content,
 * and 1 + the place of its kinds, 0 if they are not known.
 */
#define ENTRY_SIZE 7
#define SIZE_BITS 25
#define CONTENT_BITS 25
_Static_assert(MT_FRAME_SIZE_MAX < 1u << SIZE_BITS, "any frame has room");
_Static_assert(MT_FRAME_CONTENT_MAX < 1u << CONTENT_BITS, "any content has room");
_Static_assert(MT_SEEK_FRAMES_MAX <= MT_TRAILER_FRAMES_MAX, "trailers have room for all");
_Static_assert(MT_FRAME_KINDS_MAX < 1u << (8 * ENTRY_SIZE - SIZE_BITS - CONTENT_BITS),
	       "any kinds have room");
#define INDEX_SIZE ((size_t)MT_SEEK_FRAMES_MAX * ENTRY_SIZE)
#define END_STEP 32768u	/* bytes of the seek table written at a time */

int mt_frame_file_init(struct mt_frame_file *file, int fd)
{
	off_t start = lseek(fd, 0, SEEK_CUR);

	memset(file, 0, sizeof(*file));
	file->fd = fd;
	file->seekable = start >= 0;
	file->start = start >= 0 ? (uint64_t)start : 0;
	file->index = mmap(NULL, INDEX_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (file->index == MAP_FAILED) {
		file->index = NULL;
		return -ENOMEM;
	}
	return 0;
}

void mt_frame_file_release(struct mt_frame_file *file)
{
	if (file->index)
		munmap(file->index, INDEX_SIZE);
	file->index = NULL;
}

/* What we write next would stand behind a hole where our frames have been. */
bool mt_frame_file_shortened(const struct mt_frame_file *file)
{
	struct stat st;

	return file->seekable && file->bytes && !fstat(file->fd, &st) && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size < file->start + file->bytes;
}

static int write_fully(const struct mt_frame_file *file, const uint8_t *bytes, size_t len)
{
	ssize_t n;

	if (mt_frame_file_shortened(file))
		return -MT_E_SHORTENED;
	while (len) {
		n = write(file->fd, bytes, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* If this fails, readers find a cut frame and say so. */
static void cut_back(struct mt_frame_file *file)
{
	if (file->seekable && !mt_frame_file_shortened(file) &&
	    ftruncate(file->fd, (off_t)(file->start + file->bytes)))
		return;
}

static int write_frame(struct mt_frame_file *file, const void *frame, size_t size)
{
	int err = write_fully(file, frame, size);

	if (err)
		cut_back(file);
	else
		file->bytes += size;
	return err;
}

static uint32_t place_of(struct mt_frame_file *file, uint32_t kinds)
{
	uint32_t i;

	for (i = 0; i < file->n_kinds; i++)
		if (file->kinds[i] == kinds)
			return i + 1;
	if (file->n_kinds == MT_FRAME_KINDS_MAX)
		return 0;
	file->kinds[file->n_kinds++] = kinds;
	return file->n_kinds;
}

/* Beyond what the index holds there is none: readers walk the frames then. */
static int index_add(struct mt_frame_file *file, size_t size, size_t content, uint32_t kinds)
{
	uint64_t entry = size | (uint64_t)content << SIZE_BITS;
	uint8_t *at;
	int i;

	if (file->n_frames == MT_FRAMES_MAX)
		return -MT_E_LIMIT;
	if (file->n_frames++ != file->n_index || file->n_index == MT_SEEK_FRAMES_MAX)
		return 0;
	entry |= (uint64_t)place_of(file, kinds) << (SIZE_BITS + CONTENT_BITS);
	at = file->index + (size_t)file->n_index++ * ENTRY_SIZE;
	for (i = 0; i < ENTRY_SIZE; i++)
		at[i] = (uint8_t)(entry >> 8 * i);
	return 0;
}

struct mt_frame_entry mt_frame_file_entry(const struct mt_frame_file *file, uint32_t i)
{
	const uint8_t *at = file->index + (size_t)i * ENTRY_SIZE;
	uint64_t entry = 0;
	uint32_t place;
	int k;

	for (k = ENTRY_SIZE; k-- > 0;)
		entry = entry << 8 | at[k];
	place = (uint32_t)(entry >> (SIZE_BITS + CONTENT_BITS));
	return (struct mt_frame_entry){
		.size = entry & ((1u << SIZE_BITS) - 1),
		.content = entry >> SIZE_BITS & ((1u << CONTENT_BITS) - 1),
		.kinds = place ? file->kinds[place - 1] : 0,
	};
}

bool mt_frame_file_indexed(const struct mt_frame_file *file)
{
	return file->n_frames == file->n_index;
}

int mt_frame_file_pack(struct mt_frame_file *file, struct mt_packer *packer,
		       const struct mt_buf *content, const size_t *cuts, uint32_t n_cuts,
		       uint32_t kinds)
{
	const uint8_t *frame;
	size_t size;
	int err;

	err = mt_packer_pack(packer, content->data, content->len, cuts, n_cuts, &frame, &size);
	if (err)
		return err;
	err = index_add(file, size, content->len, kinds);
	if (err)
		return err;
	return write_frame(file, frame, size);
}

int mt_frame_file_pack_single(struct mt_frame_file *file, int level, const struct mt_buf *content,
			      uint32_t kinds)
{
	struct mt_packer *packer = NULL;
	int err = content->len > MT_FRAME_CONTENT_MAX ? -MT_E_LIMIT : 0;

	if (!err)
		err = mt_packer_new(level, content->len, &packer);
	if (!err)
		err = mt_frame_file_pack(file, packer, content, NULL, 0, kinds);
	mt_packer_free(packer);
	return err;
}

/* In steps: all of it at once would take more memory than the index. */
int mt_frame_file_end(struct mt_frame_file *file)
{
	struct mt_frame_entry entry;
	uint64_t written = 0;
	struct mt_buf buf;
	uint32_t i;
	int err;

	mt_buf_init(&buf);
	err = mt_seek_table_begin(&buf, file->n_index);
	for (i = 0; i < file->n_index && !err; i++) {
		entry = mt_frame_file_entry(file, i);
		err = mt_seek_table_add(&buf, &entry);
		if (err || buf.len < END_STEP)
			continue;
		err = write_fully(file, buf.data, buf.len);
		written += buf.len;
		mt_buf_reset(&buf);
	}
	if (!err)
		err = mt_seek_table_end(&buf, file->n_index);
	if (!err)
		err = write_fully(file, buf.data, buf.len);
	written += buf.len;
	mt_buf_release(&buf);
	if (err)
		cut_back(file);
	else
		file->bytes += written;
	return err;
}
