/*
 * record/elf_image.h - a 64-bit little-endian ELF file and checked access to its tables.
 *
 * A file is read where it is looked at, each part once: it may be cut or overwritten any moment,
 * and what has been checked stays as it was checked. What is cut off meanwhile reads as zeros.
 */
#ifndef MT_ELF_IMAGE_H
#define MT_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

struct mt_elf_image {
	const uint8_t *bytes;		/* by mt_elf_image_bytes() only */
	size_t size;
	struct mt_elf_file *file;	/* NULL: all of it is in memory */
	uint16_t machine;		/* e_machine */
	const Elf64_Phdr *phdrs;	/* NULL if there are none that lie in the file */
	size_t n_phdrs;
	const Elf64_Shdr *shdrs;
	size_t n_shdrs;
};

/* The same for an image in memory, which is borrowed. 0, -MT_E_NOT_ELF. */
int mt_elf_image_read(const void *bytes, size_t size, struct mt_elf_image *ret_image);

/* The most of one file that is in memory at once: what takes more is not found. */
#define MT_ELF_IMAGE_READ_MAX (48u << 20)

/*
 * The file at fd, which is borrowed until the image is closed. 0, -MT_E_NOT_ELF; -errno also where
 * its header cannot be read, so that nobody knows what it is.
 */
int mt_elf_image_open(int fd, struct mt_elf_image *ret_image);
void mt_elf_image_close(struct mt_elf_image *image);

/* Bytes [offset, offset + size) of the file, NULL unless all of them are in it and can be read. */
const uint8_t *mt_elf_image_bytes(const struct mt_elf_image *image, uint64_t offset,
				  uint64_t size);

/* The same, NULL also unless they are aligned to 8. */
const void *mt_elf_image_range(const struct mt_elf_image *image, uint64_t offset, uint64_t size);

/*
 * Copies up to n bytes at offset: how many, fewer where the file ends or cannot be read. They may
 * be others the next time.
 */
size_t mt_elf_image_copy(const struct mt_elf_image *image, uint64_t offset, void *ret_bytes,
			 size_t n);

/*
 * Why a part of the file that was asked for could not be read: -errno of the first time, -EFBIG for
 * more than is looked at, or 0. That the file was cut is no failure.
 */
int mt_elf_image_failed(const struct mt_elf_image *image);

/* Says so of a part that is not asked for. */
void mt_elf_image_fail(const struct mt_elf_image *image, int err);

/* The string at offset of a string table of the file, NULL unless it ends inside the table. */
const char *mt_elf_image_string(const struct mt_elf_image *image, uint64_t table, uint64_t size,
				uint64_t offset);

/* The first section of this name, NULL if there is none. */
const Elf64_Shdr *mt_elf_image_section(const struct mt_elf_image *image, const char *name);

/* File offset of a virtual address whose byte comes from the file, -1 if there is none. */
int64_t mt_elf_image_offset(const struct mt_elf_image *image, uint64_t vaddr, uint32_t flags);

/* Its build-id, from the notes it maps: the length, 0 if there is none. */
size_t mt_elf_image_build_id(const struct mt_elf_image *image, uint8_t ret_id[MT_BUILD_ID_MAX]);

#endif
