/*
 * report/pack_images.h - which ELF files a pack needs, each once.
 */
#ifndef MT_PACK_IMAGES_H
#define MT_PACK_IMAGES_H

#include "report/elf_extents.h"

#include "common/artifact.h"

struct mt_analysis;

struct mt_pack_image {
	const uint8_t *bytes;	/* of a module */
	size_t size;
	struct mt_extent *extents;
	size_t n_extents;
};

struct mt_pack_images {
	struct mt_packed *rows;	/* images first, then files, as the blocks have them */
	uint32_t n_rows;
	struct mt_pack_image *images;
	uint32_t n_images;
	uint32_t n_files;	/* that have an image */
	char **packages;	/* borrowed by rows; NULL where unknown */
	uint32_t n_packages;
};

/* Everything lives as long as the analysis. 0, -ENOMEM, -MT_E_LIMIT. */
int mt_pack_images_find(const struct mt_analysis *analysis, bool whole,
			struct mt_pack_images *ret_images);
void mt_pack_images_release(struct mt_pack_images *images);

#endif
