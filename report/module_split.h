/*
 * report/module_split.h - split DWARF: units whose DIEs stand in .dwo files or a .dwp package; for
 * the module*.c and dwarf_*.c files.
 *
 * libdw would open whatever path a file names, knows no packages before version 0.192, and cannot
 * be given a unit of a pack of ours. So it is led to one that has been found and
 * proved here: by its name, which is /proc/self/fd/N while it looks.
 */
#ifndef MT_MODULE_SPLIT_H
#define MT_MODULE_SPLIT_H

#include "report/module.h"

#include <elfutils/libdw.h>
#include <libelf.h>

struct mt_module_split {
	Elf *elf;		/* what libdw reads; borrowed */
	uint8_t *strings[2];	/* .debug_str, .debug_line_str with room for a name behind */
	size_t slot[2];		/* where that room is; 0: there is none */
	uint8_t *offsets;	/* .debug_str_offsets */
	size_t offsets_size;
	bool package_tried;
	struct mt_split_unit {
		uint64_t id;
		const uint8_t *bytes;
		size_t size;
		bool mapped;
	} *units;		/* those found */
	size_t n_units, cap_units;
};

/* Before libdw gets to see elf, which has the debug information: 0 or -ENOMEM. */
int mt_module_split_prepare(struct mt_module *module, Elf *elf);
void mt_module_split_release(struct mt_module *module);

/* The DIE of the unit that skeleton stands for. false: it is not found. */
bool mt_module_split_find(struct mt_module *module, Dwarf_Die *skeleton, Dwarf_Die *ret_unit);

#endif
