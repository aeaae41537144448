/*
 * report/module_impl.h - what a module is made of; private to the module*.c files.
 */
#ifndef MT_MODULE_IMPL_H
#define MT_MODULE_IMPL_H

#include "report/module_image.h"
#include "report/module_split.h"

#include <elfutils/libdw.h>

struct mt_module {
	char *path;
	char *found_path;	/* below the sysroot */
	char *debug_dir;
	const struct mt_pack *pack;
	struct mt_debuginfod *debuginfod;
	const struct mt_packed *packed;	/* NULL: not from the pack */
	const struct mt_profile_module *profile;	/* NULL: not from a profile folder */
	enum mt_module_status status;
	char reason[MT_REASON_MAX];
	struct mt_image own;
	struct mt_module_segment *segments;
	size_t n_segments;
	uint16_t machine;
	uint8_t build_id[MT_BUILD_ID_MAX];
	size_t build_id_len;
	bool debug_tried;
	char *debug_path;
	struct mt_image debug;
	bool mini_tried;
	struct mt_image mini;	/* what .gnu_debugdata holds */
	struct mt_module_split split;
	struct mt_image package;	/* .dwp */
	bool dwarf_tried;
	Dwarf *dwarf;
	struct mt_image alt;	/* supplementary file of dwarf */
	Dwarf *alt_dwarf;
};

#endif
