#include "record/frame_file.h"
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define INDEX_SIZE (MT_SEEK_FRAMES_MAX * sizeof(struct mt_frame_entry))

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

static int write_fully(int fd, const uint8_t *bytes, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, bytes, len);
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

int mt_frame_file_write(struct mt_frame_file *file, const void *frame, size_t size)
{
	int err = write_fully(file->fd, frame, size);

	if (!err) {
		file->bytes += size;
		return 0;
	}
	/* If this fails too, readers find a cut frame and say so. */
	if (file->seekable && ftruncate(file->fd, (off_t)(file->start + file->bytes)))
		return err;
	return err;
}

/* Beyond what the index holds there is none: readers walk the frames then. */
static int index_add(struct mt_frame_file *file, size_t size, size_t content, uint32_t kinds)
{
	if (file->n_frames == MT_FRAMES_MAX)
		return -MT_E_LIMIT;
	if (file->n_frames++ != file->n_index || file->n_index == MT_SEEK_FRAMES_MAX)
		return 0;
	file->index[file->n_index++] = (struct mt_frame_entry){
		.size = (uint32_t)size, .content = (uint32_t)content, .kinds = kinds,
	};
	return 0;
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
	return mt_frame_file_write(file, frame, size);
}
