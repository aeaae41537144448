/*
 * report/dwarf_impl.h - units, functions and names of a module's DWARF; private to the dwarf_*.c
 * files.
 */
#ifndef MT_DWARF_IMPL_H
#define MT_DWARF_IMPL_H

#include "report/dwarf_lines.h"
#include "report/spans.h"

#include <elfutils/libdw.h>

/* Ceilings against DWARF that nests or repeats without end. */
#define MT_DWARF_DEPTH_MAX 512
#define MT_DWARF_ENTRIES_MAX (1u << 26)	/* units of a file, functions of a unit, calls */

/* Growing array of ranges for mt_spans_build(). */
struct mt_dwarf_ranges {
	struct mt_range *ranges;
	size_t n;
	size_t cap;
};

/* A function, or a call inlined into one. */
struct mt_dwarf_call {
	Dwarf_Die die;
	uint32_t parent;	/* index of the call or function it is inlined into */
	bool named;
	const char *linkage;
	const char *name;
};

/* Calls of one function: calls[0] is the function itself. */
struct mt_dwarf_function {
	struct mt_dwarf_call *calls;
	size_t n;
	size_t cap;
	bool expanded;
	struct mt_spans spans;	/* value: index in calls */
};

/* A DIE that gives the DIEs in [start, end) a scope: namespace, class. By address in memory. */
struct mt_dwarf_scope {
	const char *start;
	const char *end;
	uint32_t parent;	/* index, MT_SPANS_NONE at the top */
	const char *name;	/* NULL: it adds nothing to a name */
};

/* A unit's files by index, each path made on first use. */
struct mt_dwarf_files {
	Dwarf_Files *files;
	size_t n;
	const char **paths;
};

struct mt_dwarf_unit {
	Dwarf_Die die;		/* has the functions */
	Dwarf_Die lines_die;	/* has the line table: of the skeleton if the unit is split */
	bool loaded;
	bool nested_done;
	struct mt_dwarf_function *functions;
	size_t n;
	size_t cap;
	struct mt_spans spans;	/* value: index in functions */
	struct mt_spans nested;	/* of functions inside functions */
	bool scopes_done;
	struct mt_dwarf_scope *scopes;	/* sorted by start */
	size_t n_scopes;
	size_t scopes_cap;
	struct mt_dwarf_files names[2];	/* of lines_die, of die */
};

/* Names made here, kept until the end. */
struct mt_dwarf_name {
	struct mt_dwarf_name *next;
	char text[];
};

struct mt_lines {
	struct mt_module *module;
	Dwarf *dwarf;
	struct mt_dwarf_unit *units;	/* sorted by address of die in memory */
	size_t n;
	size_t cap;
	struct mt_spans spans;	/* value: index in units */
	struct mt_dwarf_name *names;
	const struct mt_profile_module *located;	/* all that is known instead of DWARF */
};

/* Make room for one more of *array's elements, zeroed: 0, -MT_E_LIMIT, -ENOMEM. */
int mt_dwarf_grow(void *array, size_t *cap, size_t n, size_t size);
/* Is [start, end) code of the module? Discarded functions have addresses that are not. */
bool mt_dwarf_is_code(struct mt_module *module, uint64_t start, uint64_t end);
/* Add the DIE's address ranges, if it has any. Sets *ret_any if it does. */
int mt_dwarf_add_ranges(struct mt_module *module, struct mt_dwarf_ranges *list, Dwarf_Die *die,
		      uint32_t value, uint32_t order, bool *ret_any);
bool mt_dwarf_is_class(int tag);
/* To the next sibling. A damaged DIE can name one before itself: that ends the list. */
bool mt_dwarf_next_sibling(Dwarf_Die *die);

/* List the units and what code each has. 0, -ENOMEM, -MT_E_LIMIT, -MT_E_NO_DATA: none. */
int mt_dwarf_index_units(struct mt_lines *lines);
void mt_dwarf_unit_release(struct mt_dwarf_unit *unit);
/* The unit a DIE stands in, which a reference can have led to; NULL if it is none of ours. */
struct mt_dwarf_unit *mt_dwarf_unit_of(struct mt_lines *lines, Dwarf_Die *die);
/* The function at svma, or NULL. */
struct mt_dwarf_function *mt_dwarf_find_function(struct mt_lines *lines, struct mt_dwarf_unit *unit,
						 uint64_t svma);
/* Find what is inlined into it. */
int mt_dwarf_expand_function(struct mt_lines *lines, struct mt_dwarf_function *function);

void mt_dwarf_name_call(struct mt_lines *lines, struct mt_dwarf_unit *unit,
			struct mt_dwarf_call *call);
/* Path of a file of the unit's line table (its skeleton's, or the split unit's own). */
const char *mt_dwarf_file_path(struct mt_lines *lines, struct mt_dwarf_unit *unit, bool split,
			     Dwarf_Files *files, size_t n, size_t index);

#endif
