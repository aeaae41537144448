#include "report/pack.h"

#include "common/error.h"
#include "common/grow.h"
#include "report/intern.h"
#include "report/number_order.h"
#include "report/reader.h"
#include "report/session.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_MAX (1u << 20)
#define IMAGE_ALIGN 65536ull	/* as large as pages get */

struct image {
	uint64_t offset;	/* in the pack's memory, whole pages */
	uint64_t size;
};

struct mt_pack {
	struct image *images;	/* by id - 1 */
	uint32_t n_images, images_cap;
	struct mt_packed *files;
	uint32_t n_files, files_cap;
	int memory;		/* memfd: what no part touches costs nothing */
	uint64_t end;		/* of the images in it */
	uint64_t loaded;	/* bytes of parts */
	struct mt_intern *strings;
};

static int add_image(struct mt_pack *pack, const struct mt_packed *row)
{
	int err;

	/* Numbered in the order in which they come; anything else is not a pack of ours. */
	if (row->id != pack->n_images + 1 || row->size > MT_IMAGE_MAX)
		return 0;
	err = mt_grow(&pack->images, pack->n_images, &pack->images_cap, sizeof(*pack->images),
		      MT_IMAGES_MAX);
	if (err)
		return err;
	pack->images[pack->n_images++] = (struct image){ pack->end, row->size };
	pack->end += (row->size + IMAGE_ALIGN - 1) & ~(IMAGE_ALIGN - 1);
	return 0;
}

static int add_file(struct mt_pack *pack, const struct mt_packed *row)
{
	const char **texts[5];
	struct mt_packed copy = *row;
	size_t i;
	int err = mt_grow(&pack->files, pack->n_files, &pack->files_cap, sizeof(*pack->files),
			  FILES_MAX);

	if (err)
		return err;
	texts[0] = &copy.path;
	texts[1] = &copy.status;
	texts[2] = &copy.reason;
	texts[3] = &copy.debug_path;
	texts[4] = &copy.package;
	for (i = 0; i < MT_ARRAY_SIZE(texts); i++) {
		*texts[i] = mt_intern_text(pack->strings, *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	pack->files[pack->n_files++] = copy;
	return 0;
}

static int add_part(struct mt_pack *pack, const struct mt_image_part *part)
{
	const struct image *image;
	uint32_t done;
	ssize_t n;

	if (!part->image || part->image > pack->n_images)
		return 0;
	image = &pack->images[part->image - 1];
	if (part->offset > image->size || part->n_bytes > image->size - part->offset)
		return 0;
	if (part->n_bytes > MT_PACK_BYTES_MAX - pack->loaded)
		return -MT_E_LIMIT;
	for (done = 0; done < part->n_bytes; done += (uint32_t)n) {
		n = pwrite(pack->memory, part->bytes + done, part->n_bytes - done,
			   (off_t)(image->offset + part->offset + done));
		if (n <= 0)
			return n ? -errno : -EIO;
	}
	pack->loaded += part->n_bytes;
	return 0;
}

static int add_block(struct mt_pack *pack, const struct mt_block *block)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < block->n && !err; i++) {
		if (block->kind == MT_BLOCK_IMAGE)
			err = add_part(pack, &block->images[i]);
		else if (block->packed[i].type == MT_PACKED_IMAGE)
			err = add_image(pack, &block->packed[i]);
		else
			err = add_file(pack, &block->packed[i]);
	}
	return err;
}

static int by_identity(const void *a, const void *b)
{
	const struct mt_packed *x = a, *y = b;
	int order = mt_compare(x->ino, y->ino);

	if (!order)
		order = mt_compare(x->dev_major, y->dev_major);
	if (!order)
		order = mt_compare(x->dev_minor, y->dev_minor);
	if (!order)
		order = mt_compare(x->generation, y->generation);
	return order ? order : strcmp(x->path, y->path);
}

int mt_pack_load(struct mt_reader *reader, struct mt_pack **ret_pack)
{
	struct mt_pack *pack = calloc(1, sizeof(*pack));
	const struct mt_block *block;
	int err;

	if (!pack)
		return -ENOMEM;
	pack->memory = memfd_create("mt-report modules", MFD_CLOEXEC);
	err = pack->memory < 0 ? -errno : mt_intern_new(&pack->strings);
	if (err)
		goto out_free;
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_PACKED) | MT_KIND_BIT(MT_BLOCK_IMAGE));
	while ((err = mt_reader_next(reader, &block)) > 0) {
		err = add_block(pack, block);
		if (err)
			break;
	}
	/* A mapping must not reach behind its end, whatever parts there were. */
	if (!err && ftruncate(pack->memory, (off_t)pack->end) < 0)
		err = -errno;
	if (err || !pack->n_files)
		goto out_free;
	qsort(pack->files, pack->n_files, sizeof(*pack->files), by_identity);
	*ret_pack = pack;
	return 0;

out_free:
	mt_pack_free(pack);
	if (!err)
		*ret_pack = NULL;
	return err;
}

void mt_pack_free(struct mt_pack *pack)
{
	if (!pack)
		return;
	if (pack->memory >= 0)
		close(pack->memory);
	free(pack->images);
	free(pack->files);
	mt_intern_free(pack->strings);
	free(pack);
}

const struct mt_packed *mt_pack_find(const struct mt_pack *pack, const struct mt_file *file)
{
	struct mt_packed want = {
		.ino = file->ino, .dev_major = file->dev_major, .dev_minor = file->dev_minor,
		.generation = mt_pack_generation(file), .path = file->path,
	};

	if (!pack)
		return NULL;
	return bsearch(&want, pack->files, pack->n_files, sizeof(want), by_identity);
}

uint8_t *mt_pack_map_image(const struct mt_pack *pack, uint32_t id, size_t *ret_size)
{
	const struct image *image;
	void *bytes;

	if (!id || id > pack->n_images)
		return NULL;
	image = &pack->images[id - 1];
	if (!image->size)
		return NULL;
	bytes = mmap(NULL, image->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		     pack->memory, (off_t)image->offset);
	if (bytes == MAP_FAILED)
		return NULL;
	*ret_size = image->size;
	return bytes;
}
