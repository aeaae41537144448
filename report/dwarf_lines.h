/*
 * report/dwarf_lines.h - source functions, files and lines of an address, from DWARF.
 *
 * Compilation units are indexed by address at once; a unit's functions, a function's inlined calls
 * and a unit's line table on first use. What cannot be read is remembered as not there. DWARF 2 to
 * 5, split units that module_split.h finds, supplementary files. Of a profile folder, where there
 * is no DWARF, each function's own file and line stand for all of its addresses.
 */
#ifndef MT_DWARF_LINES_H
#define MT_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_module;
struct mt_lines;

#define MT_LINE_FRAMES_MAX 64	/* of more, the outermost and the innermost 63 are given */

/* Strings live as long as the module and the lines. */
struct mt_line_frame {
	const char *linkage;	/* mangled name, NULL if it has none (C, or static in C++) */
	const char *name;	/* without linkage name: with its scopes; NULL if unknown */
	const char *file;	/* as compiled, joined to its folder; NULL if unknown */
	uint32_t line;		/* 0 if unknown */
	uint64_t entry;		/* outermost function: its lowest address; else 0 */
};

/* -MT_E_NO_DATA: no DWARF with addresses in the module and its debug file; -ENOMEM. */
int mt_lines_load(struct mt_module *module, struct mt_lines **ret_lines);
void mt_lines_free(struct mt_lines *lines);

/*
 * Source functions at svma, innermost inlined first, the function that was compiled there last.
 * frames[0] has svma's own line, each other one the line of the call inlined into it. The number of
 * frames; 0 if DWARF knows nothing of svma. One without names if only its line is known.
 */
size_t mt_lines_find(struct mt_lines *lines, uint64_t svma,
		     struct mt_line_frame frames[MT_LINE_FRAMES_MAX]);

#endif
