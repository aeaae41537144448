/* Functions of a unit, and the calls inlined into each. */
#include "report/dwarf_impl.h"

#include "common/error.h"
#include "report/module.h"

#include <dwarf.h>
#include <errno.h>

/* A language whose classes hold no function bodies: those stand in the namespace or unit. */
static bool classes_have_no_code(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_ObjC:
	case DW_LANG_ObjC_plus_plus:
		return true;
	}
	return false;
}

bool mt_dwarf_is_class(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_interface_type ||
	       tag == DW_TAG_enumeration_type;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static int add_function(struct mt_lines *lines, struct mt_dwarf_unit *unit,
			struct mt_dwarf_ranges *list, Dwarf_Die *die)
{
	struct mt_dwarf_function *function;
	bool any = false;
	int err;

	err = mt_dwarf_grow(&unit->functions, &unit->cap, unit->n, sizeof(*unit->functions));
	if (!err)
		err = mt_dwarf_add_ranges(lines->module, list, die, unit->n, unit->n, &any);
	if (err || !any)
		return err;
	function = &unit->functions[unit->n];
	/* Room for itself: most are never asked for what is inlined into them. */
	function->calls = calloc(1, sizeof(*function->calls));
	if (!function->calls)
		return -ENOMEM;
	function->cap = 1;
	function->calls[0].die = *die;
	function->calls[0].parent = MT_SPANS_NONE;
	function->n = 1;
	unit->n++;
	return 0;
}

bool mt_dwarf_next_sibling(Dwarf_Die *die)
{
	const void *before = die->addr;

	return !dwarf_siblingof(die, die) && (const char *)die->addr > (const char *)before;
}

/*
 * Add the functions below parent, down to each function but not into it: what stands inside is
 * most of a unit, and seldom holds another function.
 */
static int collect_functions(struct mt_lines *lines, struct mt_dwarf_unit *unit,
			     struct mt_dwarf_ranges *list, Dwarf_Die *parent, unsigned int depth)
{
	bool skip_classes = classes_have_no_code(&unit->die);
	Dwarf_Die child;
	int tag, err = 0;

	if (depth > MT_DWARF_DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram)
			err = add_function(lines, unit, list, &child);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module ||
			 (mt_dwarf_is_class(tag) && !skip_classes))
			err = collect_functions(lines, unit, list, &child, depth + 1);
	} while (!err && mt_dwarf_next_sibling(&child));
	return err;
}

/* Add the functions that stand inside another function (GNU C, Fortran, Ada, closures). */
static int collect_nested(struct mt_lines *lines, struct mt_dwarf_unit *unit,
			  struct mt_dwarf_ranges *list, Dwarf_Die *parent, bool inside,
			  unsigned int depth)
{
	Dwarf_Die child;
	int tag, err = 0;

	if (depth > MT_DWARF_DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram && inside)
			err = add_function(lines, unit, list, &child);
		if (err)
			break;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_namespace || tag == DW_TAG_module ||
		    mt_dwarf_is_class(tag) || is_block(tag))
			err = collect_nested(lines, unit, list, &child,
					     inside || tag == DW_TAG_subprogram, depth + 1);
	} while (!err && mt_dwarf_next_sibling(&child));
	return err;
}

static int load_unit(struct mt_lines *lines, struct mt_dwarf_unit *unit)
{
	struct mt_dwarf_ranges list = {};
	int err;

	unit->loaded = true;
	err = collect_functions(lines, unit, &list, &unit->die, 0);
	if (!err)
		err = mt_spans_build(&unit->spans, list.ranges, list.n);
	free(list.ranges);
	return err;
}

static int load_nested(struct mt_lines *lines, struct mt_dwarf_unit *unit)
{
	struct mt_dwarf_ranges list = {};
	int err;

	unit->nested_done = true;
	err = collect_nested(lines, unit, &list, &unit->die, false, 0);
	if (!err)
		err = mt_spans_build(&unit->nested, list.ranges, list.n);
	free(list.ranges);
	return err;
}

struct mt_dwarf_function *mt_dwarf_find_function(struct mt_lines *lines, struct mt_dwarf_unit *unit,
						 uint64_t svma)
{
	uint32_t index;

	if (!unit->loaded && load_unit(lines, unit))
		return NULL;
	index = mt_spans_find(&unit->spans, svma);
	if (index == MT_SPANS_NONE) {
		if (!unit->nested_done && load_nested(lines, unit))
			return NULL;
		index = mt_spans_find(&unit->nested, svma);
	}
	return index == MT_SPANS_NONE ? NULL : &unit->functions[index];
}

/* Add the calls inlined into calls[into], whose DIE or a block of it is parent. */
static int collect_calls(struct mt_lines *lines, struct mt_dwarf_function *function,
			 struct mt_dwarf_ranges *list, Dwarf_Die *parent, uint32_t into,
			 unsigned int depth)
{
	Dwarf_Die child;
	int tag, err = 0;
	uint32_t below;
	bool any;

	if (depth > MT_DWARF_DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		tag = dwarf_tag(&child);
		if (tag != DW_TAG_inlined_subroutine && !is_block(tag))
			continue;
		below = into;
		any = false;
		if (tag == DW_TAG_inlined_subroutine) {
			err = mt_dwarf_grow(&function->calls, &function->cap, function->n,
				   sizeof(*function->calls));
			if (!err)
				err = mt_dwarf_add_ranges(lines->module, list, &child, function->n,
						 function->n, &any);
			if (err)
				break;
			/* Without code, what is inlined into it counts for its caller. */
			if (any) {
				below = function->n++;
				function->calls[below].die = child;
				function->calls[below].parent = into;
			}
		}
		err = collect_calls(lines, function, list, &child, below, depth + 1);
	} while (!err && mt_dwarf_next_sibling(&child));
	return err;
}

int mt_dwarf_expand_function(struct mt_lines *lines, struct mt_dwarf_function *function)
{
	struct mt_dwarf_ranges list = {};
	Dwarf_Die die = function->calls[0].die;
	int err;

	function->expanded = true;
	err = collect_calls(lines, function, &list, &die, 0, 0);
	if (!err)
		err = mt_spans_build(&function->spans, list.ranges, list.n);
	free(list.ranges);
	return err;
}
