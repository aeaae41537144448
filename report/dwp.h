/*
 * report/dwp.h - one unit of a DWARF package (.dwp) as the .dwo file that it was made of.
 *
 * libdw reads .dwo files, but packages only since version 0.192. GNU's version 2 of the index and
 * DWARF 5's. Type units are left out: functions have names without them.
 */
#ifndef MT_DWP_H
#define MT_DWP_H

#include <stddef.h>
#include <stdint.h>

#include "report/module.h"

/* Sections of a package, as their numbers in the index of DWARF 5 say, from 0 on. */
enum mt_dwp_section {
	MT_DWP_INFO,
	MT_DWP_ABBREV,
	MT_DWP_LINE,
	MT_DWP_LISTS,		/* .debug_loclists */
	MT_DWP_STR_OFFSETS,
	MT_DWP_RNGLISTS,
	MT_DWP_STR,		/* not in the index: all of it is everybody's */
	MT_DWP_INDEX,
	MT_DWP_SECTIONS
};

struct mt_dwp {
	struct mt_section sections[MT_DWP_SECTIONS];
};

const char *mt_dwp_section_name(enum mt_dwp_section section);	/* ".debug_info.dwo" */

/*
 * Make the .dwo file of the unit with this id; its strings are only those it refers to. *ret_bytes
 * is the caller's to free. -MT_E_NO_DATA: there is no such unit; -EBADMSG: damaged; -ENOMEM.
 */
int mt_dwp_extract(const struct mt_dwp *dwp, uint64_t id, uint8_t **ret_bytes, size_t *ret_size);

#endif
