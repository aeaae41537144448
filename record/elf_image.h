/*
 * record/elf_image.h - a 64-bit little-endian ELF file and checked access to its parts.
 *
 * Of a file of any size, few parts are in memory at a time: whatever is asked for is copied, and
 * what has been checked is the copy. The file may be cut or overwritten any moment, and say another
 * thing when it is asked again. What is cut off meanwhile reads as zeros.
 */
#ifndef MT_ELF_IMAGE_H
#define MT_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

/* As many as Linux accepts of a program: 64 KiB. Of a file with more, none is looked at. */
#define MT_ELF_PHDRS_MAX (65536u / sizeof(Elf64_Phdr))

struct mt_elf_image {
	const uint8_t *bytes;		/* NULL: in the file */
	size_t size;
	struct mt_elf_file *file;	/* NULL: all of it is in memory */
	Elf64_Ehdr ehdr;
	const Elf64_Phdr *phdrs;	/* NULL if there are none that lie in the file */
	size_t n_phdrs;
	size_t n_shdrs;			/* 0 if they do not lie in the file */
};

/* An image in memory, which is borrowed and aligned to 8. 0, -MT_E_NOT_ELF. */
int mt_elf_image_read(const void *bytes, size_t size, struct mt_elf_image *ret_image);

/* An open file takes no more memory than this, and none that has not been used. */
#define MT_ELF_IMAGE_HELD_MAX (640u << 10)

/* What is read of one in all, parts that are read anew included; then nothing is any more. */
#define MT_ELF_IMAGE_READ_MAX (4ull << 30)

/*
 * The file at fd, which is borrowed until the image is closed. 0, -MT_E_NOT_ELF; -errno also where
 * its header cannot be read, so that nobody knows what it is.
 */
int mt_elf_image_open(int fd, struct mt_elf_image *ret_image);
void mt_elf_image_close(struct mt_elf_image *image);

/* Copies bytes [offset, offset + n); false unless all of them are in the file and can be read. */
bool mt_elf_image_get(const struct mt_elf_image *image, uint64_t offset, void *ret_bytes, size_t n);

/*
 * For what is read once, from its start to its end, in pieces that are worth a system call: copies
 * up to n bytes at offset. How many, fewer where the file ends or cannot be read.
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

/*
 * The string at offset of a string table of the file: its length. -EINVAL unless it ends inside
 * the table and can be read; -E2BIG if it is longer than n - 1 bytes.
 */
int mt_elf_image_string(const struct mt_elf_image *image, uint64_t table, uint64_t size,
			uint64_t offset, char *ret_text, size_t n);

/* Section header i, below n_shdrs. */
bool mt_elf_image_section_at(const struct mt_elf_image *image, size_t i, Elf64_Shdr *ret_shdr);

/* The first section of this name; false if there is none. */
bool mt_elf_image_section(const struct mt_elf_image *image, const char *name, Elf64_Shdr *ret_shdr);

/* The first program header of this type; NULL: there is none. */
const Elf64_Phdr *mt_elf_image_segment(const struct mt_elf_image *image, uint32_t type);

/* File offset of a virtual address whose byte comes from the file, -1 if there is none. */
int64_t mt_elf_image_offset(const struct mt_elf_image *image, uint64_t vaddr, uint32_t flags);

/* Its build-id, from the notes it maps: the length, 0 if there is none. */
size_t mt_elf_image_build_id(const struct mt_elf_image *image, uint8_t ret_id[MT_BUILD_ID_MAX]);

#endif
