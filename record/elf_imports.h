/*
 * record/elf_imports.h - what a slot of the global offset table will point to.
 *
 * Jumps to functions of other files, and to those that other files may replace, go through such
 * slots. Reads the dynamic relocations (gABI chapter 5); the file is hostile.
 */
#ifndef MT_ELF_IMPORTS_H
#define MT_ELF_IMPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/elf_names.h"

struct mt_elf_image;

struct mt_elf_import {
	char name[MT_ELF_NAME_MAX];	/* "" if the slot has none, or one that has no room */
	uint64_t vaddr;		/* of the function, if this file defines it; else 0 */
};

/* What the slot at a virtual address is for. False: no relocation says. */
bool mt_elf_import_find(const struct mt_elf_image *image, uint64_t slot,
			struct mt_elf_import *ret_import);

#endif
