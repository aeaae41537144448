/*
 * report/elf_extents.h - the parts of an ELF file that symbols, unwinding and lines need.
 *
 * Code, data and what only a linker reads are left out. The parts keep their places, so that the
 * file with zeros for the rest is read exactly as the whole one.
 */
#ifndef MT_ELF_EXTENTS_H
#define MT_ELF_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

struct mt_extent {
	uint64_t offset;
	uint64_t size;
};

/*
 * The parts of bytes[0..size), sorted, apart from each other; free() them. All of it where it is
 * not a 64-bit little-endian ELF file with section headers, or is damaged. 0 or -ENOMEM.
 */
int mt_elf_extents(const uint8_t *bytes, size_t size, struct mt_extent **ret_extents,
		   size_t *ret_n);

#endif
