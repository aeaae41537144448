#include "report/pack_images.h"

#include "common/error.h"
#include "report/analysis.h"
#include "report/jit.h"
#include "report/packages.h"
#include "report/symbolize.h"

#include <errno.h>

static bool same_image(const struct mt_pack_image *image, const uint8_t *bytes, size_t size)
{
	return image->size == size &&
	       (image->bytes == bytes || !memcmp(image->bytes, bytes, size));
}

/* The id of these bytes, a new one if they are not there yet. */
static int add_image(struct mt_pack_images *images, const uint8_t *bytes, size_t size, bool whole,
		     uint32_t *ret_id)
{
	struct mt_pack_image *image;
	uint32_t i;
	int err;

	if (size > MT_IMAGE_MAX)
		return -MT_E_LIMIT;
	for (i = 0; i < images->n_images; i++) {
		if (same_image(&images->images[i], bytes, size)) {
			*ret_id = i + 1;
			return 0;
		}
	}
	image = &images->images[images->n_images];
	image->bytes = bytes;
	image->size = size;
	if (whole) {
		image->extents = malloc(sizeof(*image->extents));
		if (!image->extents)
			return -ENOMEM;
		image->extents[0] = (struct mt_extent){ 0, size };
		image->n_extents = 1;
	} else {
		err = mt_elf_extents(bytes, size, &image->extents, &image->n_extents);
		if (err)
			return err;
	}
	*ret_id = ++images->n_images;
	return 0;
}

static int add_file(struct mt_pack_images *images, const struct mt_analysis *a, uint32_t index,
		    bool whole, struct mt_packed *row)
{
	const struct mt_file *file = mt_session_file(a->session, index);
	struct mt_module *module = mt_symbolizer_module(a->symbolizer, index);
	struct mt_jit *jit = mt_symbolizer_jit(a->symbolizer);
	struct mt_jit_file dump;
	uint32_t *ids[MT_IMAGES];
	const uint8_t *bytes;
	size_t size;
	int which, err = 0;

	if (!module)
		return -ENOMEM;
	*row = (struct mt_packed){
		.type = MT_PACKED_FILE, .dev_major = file->dev_major,
		.dev_minor = file->dev_minor, .ino = file->ino,
		.generation = mt_pack_generation(file),
		.path = file->path, .status = mt_module_status_name(mt_module_status(module)),
		.reason = mt_module_reason(module), .debug_path = mt_module_debug_path(module),
		.package = "",
	};
	ids[MT_IMAGE_OWN] = &row->own;
	ids[MT_IMAGE_DEBUG] = &row->debug;
	ids[MT_IMAGE_ALT] = &row->alt;
	if (mt_jit_dump(jit, index, &dump) && dump.bytes)
		return add_image(images, dump.bytes, dump.size, true, &row->own);
	for (which = 0; which < MT_IMAGES && !err; which++)
		if (mt_module_image(module, which, &bytes, &size))
			err = add_image(images, bytes, size, whole, ids[which]);
	images->n_files += row->own != 0;
	return err;
}

/* How many units have their debug information outside of the files, where it was found. */
static uint32_t count_splits(const struct mt_analysis *a)
{
	uint32_t i, n = 0;
	const uint8_t *bytes;
	size_t k, size;
	uint64_t id;

	for (i = 0; i < mt_session_files(a->session); i++) {
		if (!mt_symbolizer_lines(a->symbolizer, i))
			continue;
		for (k = 0; mt_module_split_image(mt_symbolizer_module(a->symbolizer, i), k, &id,
						  &bytes, &size); k++)
			n++;
	}
	return n;
}

/* A row for each of those of a file, found by its id. *n counts rows. */
static int add_splits(struct mt_pack_images *images, const struct mt_analysis *a, uint32_t index,
		      struct mt_packed *rows, uint32_t *n)
{
	struct mt_module *module = mt_symbolizer_module(a->symbolizer, index);
	const uint8_t *bytes;
	size_t i, size;
	uint64_t id;
	int err = 0;

	for (i = 0; !err && mt_module_split_image(module, i, &id, &bytes, &size); i++) {
		rows[*n] = (struct mt_packed){
			.type = MT_PACKED_FILE, .generation = id, .path = MT_SPLIT_PATH,
			.status = mt_module_status_name(MT_MODULE_VERIFIED), .reason = "",
			.debug_path = "", .package = "",
		};
		err = add_image(images, bytes, size, true, &rows[(*n)++].own);
	}
	return err;
}

/* The map of code that a process compiled: 1 if it has one. */
static int add_map(struct mt_pack_images *images, const struct mt_analysis *a, uint32_t process,
		   struct mt_packed *row)
{
	struct mt_jit *jit = mt_symbolizer_jit(a->symbolizer);
	char path[MT_JIT_PATH_MAX];
	struct mt_jit_file map;
	struct mt_file key;
	int err = 0;

	if (!mt_jit_map(jit, process, &map))
		return 0;
	mt_jit_map_key(jit, process, path, &key);
	*row = (struct mt_packed){
		.type = MT_PACKED_FILE, .generation = key.generation, .path = map.path,
		.status = mt_module_status_name(map.status), .reason = map.reason,
		.debug_path = "", .package = "",
	};
	if (map.bytes && map.size)
		err = add_image(images, map.bytes, map.size, true, &row->own);
	return err ? err : 1;
}

/* A pack of a pack knows them from where they were installed. */
static int find_packages(struct mt_pack_images *images, const struct mt_analysis *a,
			 struct mt_packed *rows, uint32_t n)
{
	const char **paths = calloc((size_t)n + 1, sizeof(*paths)), *known;
	uint32_t i;
	int err = -ENOMEM;

	images->packages = calloc((size_t)n + 1, sizeof(*images->packages));
	if (!paths || !images->packages)
		goto out;
	images->n_packages = n;
	for (i = 0; i < n; i++)
		paths[i] = rows[i].path;
	err = mt_packages_find(MT_PACKAGES_DIR, paths, n, images->packages);
	for (i = 0; i < n && !err; i++) {
		known = mt_module_package(mt_symbolizer_module(a->symbolizer, i));
		if (known)
			rows[i].package = known;
		else if (images->packages[i])
			rows[i].package = images->packages[i];
	}
out:
	free(paths);
	return err;
}

int mt_pack_images_find(const struct mt_analysis *a, bool whole,
			struct mt_pack_images *ret_images)
{
	uint32_t n = mt_session_files(a->session), i;
	uint32_t processes = mt_session_processes(a->session), all = n;
	size_t more = (size_t)processes + count_splits(a);
	struct mt_packed *files = calloc(n + more + 1, sizeof(*files));
	struct mt_pack_images images = { 0 };
	int err = -ENOMEM;

	images.images = calloc((size_t)n * MT_IMAGES + more + 1, sizeof(*images.images));
	images.rows = calloc((size_t)n * (MT_IMAGES + 1) + 2 * more + 1, sizeof(*images.rows));
	if (!files || !images.images || !images.rows)
		goto out;
	for (i = 0; i < n; i++) {
		err = add_file(&images, a, i, whole, &files[i]);
		if (err)
			goto out;
	}
	for (i = 0; i < processes; i++) {
		err = add_map(&images, a, i, &files[all]);
		if (err < 0)
			goto out;
		all += (uint32_t)err;
	}
	for (i = 0; i < n; i++) {
		err = add_splits(&images, a, i, files, &all);
		if (err)
			goto out;
	}
	for (i = 0; i < images.n_images; i++)
		images.rows[i] = (struct mt_packed){
			.type = MT_PACKED_IMAGE, .id = i + 1, .size = images.images[i].size,
			.path = "", .status = "", .reason = "", .debug_path = "", .package = "",
		};
	err = find_packages(&images, a, files, n);
	if (err)
		goto out;
	memcpy(images.rows + images.n_images, files, all * sizeof(*files));
	images.n_rows = images.n_images + all;
	*ret_images = images;
out:
	if (err)
		mt_pack_images_release(&images);
	free(files);
	return err;
}

void mt_pack_images_release(struct mt_pack_images *images)
{
	uint32_t i;

	for (i = 0; i < images->n_images; i++)
		free(images->images[i].extents);
	for (i = 0; images->packages && i < images->n_packages; i++)
		free(images->packages[i]);
	free(images->packages);
	free(images->images);
	free(images->rows);
	memset(images, 0, sizeof(*images));
}
