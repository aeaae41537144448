/*
 * record/elf_frames.h - where functions of an ELF file begin and end, by their unwind tables.
 *
 * .eh_frame is in every file of these architectures, stripped ones and hidden functions included;
 * its table of contents, .eh_frame_hdr, in all but what gcc -static links.
 * Only the tables' usual encodings are read (LSB 5.0, 10.6); the file is hostile.
 */
#ifndef MT_ELF_FRAMES_H
#define MT_ELF_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

struct mt_elf_image;

/* The range [*ret_start, *ret_end) of virtual addresses whose entry covers vaddr. False: none. */
bool mt_elf_frame_range(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_end);

#endif
