#include "report/pack_write.h"

#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"
#include "common/seek_table.h"
#include "report/analysis.h"
#include "report/new_file.h"
#include "report/pack_images.h"
#include "report/reader.h"

#include <errno.h>

#define LEVEL 6
#define ROWS_A_BLOCK 4096u
#define CONTENT_ENOUGH (4u << 20)	/* of a frame of images */
#define PACK_KINDS (MT_KIND_BIT(MT_BLOCK_PACKED) | MT_KIND_BIT(MT_BLOCK_IMAGE))

struct output {
	FILE *out;
	struct mt_packer *packer;
	struct mt_buf content;
	struct mt_frame_entry *index;
	uint32_t n_index, cap_index;
	uint64_t bytes;
};

static int put_bytes(struct output *o, const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, o->out) != size)
		return errno ? -errno : -EIO;
	o->bytes += size;
	return 0;
}

static int put_frame(struct output *o, const void *frame, size_t size, size_t content,
		     uint32_t kinds)
{
	struct mt_frame_entry *index = o->index;

	if (o->n_index == MT_FRAMES_MAX)
		return -MT_E_LIMIT;
	if (o->n_index == o->cap_index) {
		o->cap_index = o->cap_index ? 2 * o->cap_index : 1024;
		index = reallocarray(index, o->cap_index, sizeof(*index));
		if (!index)
			return -ENOMEM;
		o->index = index;
	}
	index[o->n_index++] = (struct mt_frame_entry){
		.size = (uint32_t)size, .content = (uint32_t)content, .kinds = kinds,
	};
	return put_bytes(o, frame, size);
}

/* What has gathered in content becomes a frame. */
static int flush(struct output *o, uint32_t kinds)
{
	const uint8_t *frame;
	size_t size;
	int err;

	if (!o->content.len)
		return 0;
	err = mt_packer_pack(o->packer, o->content.data, o->content.len, NULL, 0, &frame, &size);
	if (!err)
		err = put_frame(o, frame, size, o->content.len, kinds);
	mt_buf_reset(&o->content);
	return err;
}

/* The artifact's own frames, without those of a pack that it is already, and its trailer. */
static int put_artifact(struct output *o, struct mt_reader *reader)
{
	bool finished = mt_reader_trailer(reader) != NULL;
	struct mt_reader_end end;
	struct mt_raw_frame frame;
	uint32_t i, n;
	int err = 0;

	mt_reader_end(reader, &end);
	n = end.frames - finished;
	for (i = 0; i < n && !err; i++) {
		err = mt_reader_raw_frame(reader, i, &frame);
		if (err <= 0)
			return err;
		err = 0;
		if (!frame.kinds || frame.kinds & ~PACK_KINDS)
			err = put_frame(o, frame.bytes, frame.size, frame.content, frame.kinds);
	}
	return err;
}

static int put_rows(struct output *o, const struct mt_pack_images *images)
{
	uint32_t i, n;
	int err = 0;

	for (i = 0; i < images->n_rows && !err; i += n) {
		n = images->n_rows - i < ROWS_A_BLOCK ? images->n_rows - i : ROWS_A_BLOCK;
		err = mt_encode_packed(&o->content, images->rows + i, n);
		if (!err && o->content.len >= CONTENT_ENOUGH)
			err = flush(o, MT_KIND_BIT(MT_BLOCK_PACKED));
	}
	return err ? err : flush(o, MT_KIND_BIT(MT_BLOCK_PACKED));
}

static int put_extent(struct output *o, const struct mt_pack_image *image, uint32_t id,
		      const struct mt_extent *extent)
{
	struct mt_image_part part = { .image = id };
	uint64_t done;
	int err = 0;

	for (done = 0; done < extent->size && !err; done += part.n_bytes) {
		part.offset = extent->offset + done;
		part.bytes = image->bytes + part.offset;
		part.n_bytes = extent->size - done < MT_IMAGE_PART_MAX ?
			       (uint32_t)(extent->size - done) : MT_IMAGE_PART_MAX;
		err = mt_encode_images(&o->content, &part, 1);
		if (!err && o->content.len >= CONTENT_ENOUGH)
			err = flush(o, MT_KIND_BIT(MT_BLOCK_IMAGE));
	}
	return err;
}

static int put_images(struct output *o, const struct mt_pack_images *images, uint64_t *ret_bytes)
{
	const struct mt_pack_image *image;
	uint64_t bytes = 0;
	uint32_t i;
	size_t k;
	int err = 0;

	for (i = 0; i < images->n_images && !err; i++) {
		image = &images->images[i];
		for (k = 0; k < image->n_extents && !err; k++) {
			err = put_extent(o, image, i + 1, &image->extents[k]);
			bytes += image->extents[k].size;
		}
	}
	*ret_bytes = bytes;
	return err ? err : flush(o, MT_KIND_BIT(MT_BLOCK_IMAGE));
}

static int put_end(struct output *o, const struct mt_trailer *trailer)
{
	struct mt_trailer filled = *trailer;
	uint32_t *kinds = NULL, i;
	struct mt_buf table;
	int err = 0;

	mt_buf_init(&table);
	filled.seek_digest = MT_SEEK_DIGEST_BASIS;
	for (i = 0; i < o->n_index; i++)
		filled.seek_digest = mt_seek_digest(filled.seek_digest, &o->index[i]);
	filled.n_frames = 0;
	if (o->n_index <= MT_TRAILER_FRAMES_MAX) {
		kinds = calloc((size_t)o->n_index + 1, sizeof(*kinds));
		if (!kinds)
			return -ENOMEM;
		for (i = 0; i < o->n_index; i++)
			kinds[i] = o->index[i].kinds;
		filled.n_frames = o->n_index;
		filled.frame_kinds = kinds;
	}
	err = mt_encode_trailer(&o->content, &filled);
	if (!err)
		err = flush(o, MT_KIND_BIT(MT_BLOCK_TRAILER));
	if (!err)
		err = mt_seek_table_encode(&table, o->index, o->n_index);
	if (!err)
		err = put_bytes(o, table.data, table.len);
	mt_buf_release(&table);
	free(kinds);
	return err;
}

/* Every block, so that the kinds in each frame and the end of the file are known. */
static int read_all(struct mt_reader *reader)
{
	const struct mt_block *block;
	int err;

	mt_reader_rewind(reader, ~0u);
	do
		err = mt_reader_next(reader, &block);
	while (err > 0);
	return err;
}

static int write_pack(struct output *o, struct mt_analysis *a, const struct mt_pack_images *images,
		      struct mt_pack_summary *summary)
{
	const struct mt_trailer *trailer;
	int err = mt_packer_new(LEVEL, MT_FRAME_CONTENT_MAX, &o->packer);

	if (!err)
		err = read_all(a->reader);
	if (!err)
		err = put_artifact(o, a->reader);
	if (!err)
		err = put_rows(o, images);
	if (!err)
		err = put_images(o, images, &summary->image_bytes);
	trailer = mt_reader_trailer(a->reader);
	if (!err && trailer)
		err = put_end(o, trailer);
	summary->bytes = o->bytes;
	summary->files = images->n_files;
	summary->images = images->n_images;
	return err;
}

int mt_pack_write(const char *path, struct mt_analysis *analysis, bool whole,
		  struct mt_pack_summary *ret_summary)
{
	struct mt_pack_summary summary = { 0 };
	struct mt_pack_images images;
	struct output o = { 0 };
	struct mt_new_file file;
	int err = mt_pack_images_find(analysis, whole, &images);

	if (err)
		return err;
	err = mt_new_file_open_output(&file, path);
	if (err)
		goto out;
	o.out = file.out;
	errno = 0;
	err = mt_new_file_close(&file, write_pack(&o, analysis, &images, &summary));
	if (!err)
		*ret_summary = summary;
out:
	mt_packer_free(o.packer);
	mt_buf_release(&o.content);
	free(o.index);
	mt_pack_images_release(&images);
	return err;
}
