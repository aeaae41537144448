#include "report/dwarf_lines.h"

#include "common/error.h"
#include "report/module.h"
#include "report/spans.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>

/* Ceilings against DWARF that nests or repeats without end. */
#define DEPTH_MAX 512
#define RANGES_MAX (1u << 20)	/* of one DIE */
#define ENTRIES_MAX (1u << 26)	/* units of a file, functions of a unit, calls in a function */

/* Growing array of ranges for mt_spans_build(). */
struct range_list {
	struct mt_range *ranges;
	size_t n;
	size_t cap;
};

/* A function, or a call inlined into one. */
struct call {
	Dwarf_Die die;
	uint32_t parent;	/* index of the call or function it is inlined into */
	bool named;
	const char *linkage;
	const char *name;
};

/* Calls of one function: calls[0] is the function itself. */
struct function {
	struct call *calls;
	size_t n;
	size_t cap;
	bool expanded;
	struct mt_spans spans;	/* value: index in calls */
};

/* A DIE that gives the DIEs in [start, end) a scope: namespace, class. By address in memory. */
struct scope {
	const char *start;
	const char *end;
	uint32_t parent;	/* index, MT_SPANS_NONE at the top */
	const char *name;	/* NULL: it adds nothing to a name */
};

/* A unit's files by index, each path made on first use. */
struct file_names {
	Dwarf_Files *files;
	size_t n;
	const char **paths;
};

struct unit {
	Dwarf_Die die;		/* has the functions */
	Dwarf_Die lines_die;	/* has the line table: of the skeleton if the unit is split */
	bool loaded;
	bool nested_done;
	struct function *functions;
	size_t n;
	size_t cap;
	struct mt_spans spans;	/* value: index in functions */
	struct mt_spans nested;	/* of functions inside functions */
	bool scopes_done;
	struct scope *scopes;	/* sorted by start */
	size_t n_scopes;
	size_t scopes_cap;
	struct file_names names[2];	/* of lines_die, of die */
};

/* Names made here, kept until the end. */
struct made_name {
	struct made_name *next;
	char text[];
};

struct mt_lines {
	struct mt_module *module;
	Dwarf *dwarf;
	struct unit *units;	/* sorted by address of die in memory */
	size_t n;
	size_t cap;
	struct mt_spans spans;	/* value: index in units */
	struct made_name *names;
};

/* Make room for one more of *array's elements, zeroed. */
static int grow(void *array, size_t *cap, size_t n, size_t size)
{
	void **pointer = array, *bigger;
	size_t want;

	if (n < *cap)
		return 0;
	if (n >= ENTRIES_MAX)
		return -MT_E_LIMIT;
	want = *cap ? *cap * 2 : 8;
	bigger = reallocarray(*pointer, want, size);
	if (!bigger)
		return -ENOMEM;
	memset((char *)bigger + *cap * size, 0, (want - *cap) * size);
	*pointer = bigger;
	*cap = want;
	return 0;
}

/* Is [start, end) code of the module? Discarded functions have addresses that are not. */
static bool is_code(struct mt_module *module, uint64_t start, uint64_t end)
{
	const struct mt_module_segment *segments;
	size_t n = mt_module_segments(module, &segments), i;

	if (!start || end <= start)
		return false;
	for (i = 0; i < n; i++) {
		if (start >= segments[i].vaddr && start - segments[i].vaddr < segments[i].memsz &&
		    end - segments[i].vaddr <= segments[i].memsz)
			return true;
	}
	return false;
}

/* Add the DIE's address ranges, if it has any. Sets *ret_any if it does. */
static int add_ranges(struct mt_module *module, struct range_list *list, Dwarf_Die *die,
		      uint32_t value, uint32_t order, bool *ret_any)
{
	Dwarf_Addr base, start, end;
	struct mt_range *range;
	ptrdiff_t offset = 0;
	unsigned int count;
	int err;

	for (count = 0; count < RANGES_MAX; count++) {
		offset = dwarf_ranges(die, offset, &base, &start, &end);
		if (offset <= 0)
			break;
		if (!is_code(module, start, end))
			continue;
		err = grow(&list->ranges, &list->cap, list->n, sizeof(*list->ranges));
		if (err)
			return err;
		range = &list->ranges[list->n++];
		range->start = start;
		range->end = end;
		range->value = value;
		range->order = order;
		*ret_any = true;
	}
	return 0;
}

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

static bool is_class(int tag)
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

static int add_function(struct mt_lines *lines, struct unit *unit, struct range_list *list,
			Dwarf_Die *die)
{
	struct function *function;
	bool any = false;
	int err;

	err = grow(&unit->functions, &unit->cap, unit->n, sizeof(*unit->functions));
	if (!err)
		err = add_ranges(lines->module, list, die, unit->n, unit->n, &any);
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

/* To the next sibling. A damaged DIE can name one before itself: that ends the list. */
static bool next_sibling(Dwarf_Die *die)
{
	const void *before = die->addr;

	return !dwarf_siblingof(die, die) && (const char *)die->addr > (const char *)before;
}

/*
 * Add the functions below parent, down to each function but not into it: what stands inside is
 * most of a unit, and seldom holds another function.
 */
static int collect_functions(struct mt_lines *lines, struct unit *unit, struct range_list *list,
			     Dwarf_Die *parent, unsigned int depth)
{
	bool skip_classes = classes_have_no_code(&unit->die);
	Dwarf_Die child;
	int tag, err = 0;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram)
			err = add_function(lines, unit, list, &child);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module ||
			 (is_class(tag) && !skip_classes))
			err = collect_functions(lines, unit, list, &child, depth + 1);
	} while (!err && next_sibling(&child));
	return err;
}

/* Add the functions that stand inside another function (GNU C, Fortran, Ada, closures). */
static int collect_nested(struct mt_lines *lines, struct unit *unit, struct range_list *list,
			  Dwarf_Die *parent, bool inside, unsigned int depth)
{
	Dwarf_Die child;
	int tag, err = 0;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram && inside)
			err = add_function(lines, unit, list, &child);
		if (err)
			break;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_namespace || tag == DW_TAG_module ||
		    is_class(tag) || is_block(tag))
			err = collect_nested(lines, unit, list, &child,
					     inside || tag == DW_TAG_subprogram, depth + 1);
	} while (!err && next_sibling(&child));
	return err;
}

static int load_unit(struct mt_lines *lines, struct unit *unit)
{
	struct range_list list = {};
	int err;

	unit->loaded = true;
	err = collect_functions(lines, unit, &list, &unit->die, 0);
	if (!err)
		err = mt_spans_build(&unit->spans, list.ranges, list.n);
	free(list.ranges);
	return err;
}

static int load_nested(struct mt_lines *lines, struct unit *unit)
{
	struct range_list list = {};
	int err;

	unit->nested_done = true;
	err = collect_nested(lines, unit, &list, &unit->die, false, 0);
	if (!err)
		err = mt_spans_build(&unit->nested, list.ranges, list.n);
	free(list.ranges);
	return err;
}

/* The function at svma, or NULL. */
static struct function *find_function(struct mt_lines *lines, struct unit *unit, uint64_t svma)
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
static int collect_calls(struct mt_lines *lines, struct function *function,
			 struct range_list *list, Dwarf_Die *parent, uint32_t into,
			 unsigned int depth)
{
	Dwarf_Die child;
	int tag, err = 0;
	uint32_t below;
	bool any;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		tag = dwarf_tag(&child);
		if (tag != DW_TAG_inlined_subroutine && !is_block(tag))
			continue;
		below = into;
		any = false;
		if (tag == DW_TAG_inlined_subroutine) {
			err = grow(&function->calls, &function->cap, function->n,
				   sizeof(*function->calls));
			if (!err)
				err = add_ranges(lines->module, list, &child, function->n,
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
	} while (!err && next_sibling(&child));
	return err;
}

static int expand_function(struct mt_lines *lines, struct function *function)
{
	struct range_list list = {};
	Dwarf_Die die = function->calls[0].die;
	int err;

	function->expanded = true;
	err = collect_calls(lines, function, &list, &die, 0, 0);
	if (!err)
		err = mt_spans_build(&function->spans, list.ranges, list.n);
	free(list.ranges);
	return err;
}

/* Add the namespaces and classes below parent; end is where parent's own DIEs end. */
static int collect_scopes(struct unit *unit, Dwarf_Die *parent, uint32_t parent_scope,
			  const char *end, unsigned int depth)
{
	struct scope *scope;
	uint32_t open = MT_SPANS_NONE;
	Dwarf_Die child;
	int tag, err = 0;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		/* The one before ends where this one begins. */
		if (open != MT_SPANS_NONE)
			unit->scopes[open].end = child.addr;
		open = MT_SPANS_NONE;
		tag = dwarf_tag(&child);
		if (tag != DW_TAG_namespace && tag != DW_TAG_module && !is_class(tag))
			continue;
		err = grow(&unit->scopes, &unit->scopes_cap, unit->n_scopes,
			   sizeof(*unit->scopes));
		if (err)
			break;
		open = unit->n_scopes++;
		scope = &unit->scopes[open];
		scope->start = child.addr;
		scope->end = end;
		scope->parent = parent_scope;
		scope->name = dwarf_diename(&child);
		if (!scope->name && tag == DW_TAG_namespace)
			scope->name = "(anonymous namespace)";
		err = collect_scopes(unit, &child, open, end, depth + 1);
	} while (!err && next_sibling(&child));
	return err;
}

/* The innermost scope that the DIE at addr stands in. */
static uint32_t find_scope(const struct unit *unit, const char *addr)
{
	size_t low = 0, high = unit->n_scopes, mid;
	uint32_t scope;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (unit->scopes[mid].start < addr)
			low = mid + 1;
		else
			high = mid;
	}
	scope = low ? low - 1 : MT_SPANS_NONE;
	while (scope != MT_SPANS_NONE && unit->scopes[scope].end <= addr)
		scope = unit->scopes[scope].parent;
	return scope;
}

static int by_die_addr(const void *va, const void *vb)
{
	const struct unit *a = va, *b = vb;

	return a->die.addr < b->die.addr ? -1 : a->die.addr > b->die.addr;
}

/* The unit a DIE stands in, which a reference can have led to; NULL if it is none of ours. */
static struct unit *unit_of(struct mt_lines *lines, Dwarf_Die *die)
{
	struct unit key;

	if (!lines->n || !dwarf_diecu(die, &key.die, NULL, NULL))
		return NULL;
	return bsearch(&key, lines->units, lines->n, sizeof(key), by_die_addr);
}

/* Where the function was declared: the DIE that its name and scope belong to. */
static Dwarf_Die declaration(const Dwarf_Die *die)
{
	static const unsigned int links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attr;
	int hops = 0;
	size_t i = 0;

	while (hops < 16 && i < MT_ARRAY_SIZE(links)) {
		if (dwarf_attr(&at, links[i], &attr) && dwarf_formref_die(&attr, &next)) {
			at = next;
			hops++;
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

/* Scopes and name joined by "::", kept with the lines; name itself if it has no scopes. */
static const char *qualify(struct mt_lines *lines, const Dwarf_Die *die, const char *name)
{
	Dwarf_Die where = declaration(die), unit_die;
	const char *parts[DEPTH_MAX + 1];
	struct made_name *made;
	struct unit *unit;
	size_t n = 0, size;
	uint32_t scope;
	char *at;

	unit = unit_of(lines, &where);
	if (!unit)
		return name;
	unit_die = unit->die;
	if (!unit->scopes_done) {
		unit->scopes_done = true;
		/* At the worst fewer scopes than there are. */
		collect_scopes(unit, &unit_die, MT_SPANS_NONE, (const char *)UINTPTR_MAX, 0);
	}
	size = strlen(name) + 1;
	for (scope = find_scope(unit, where.addr); scope != MT_SPANS_NONE && n < DEPTH_MAX;
	     scope = unit->scopes[scope].parent) {
		if (!unit->scopes[scope].name)
			continue;
		parts[n] = unit->scopes[scope].name;
		size += strlen(parts[n]) + 2;
		n++;
	}
	made = n ? malloc(sizeof(*made) + size) : NULL;
	if (!made)
		return name;
	at = made->text;
	while (n)
		at = stpcpy(stpcpy(at, parts[--n]), "::");
	stpcpy(at, name);
	made->next = lines->names;
	lines->names = made;
	return made->text;
}

static bool is_c(Dwarf_Die *unit)
{
	int language = dwarf_srclang(unit);

	return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

static void name_call(struct mt_lines *lines, struct unit *unit, struct call *call)
{
	bool plain = is_c(&unit->die);
	Dwarf_Attribute attr;

	call->named = true;
	/* In C it is only what an asm label says (__GI_ names of the C library). */
	if (!plain && (dwarf_attr_integrate(&call->die, DW_AT_linkage_name, &attr) ||
		       dwarf_attr_integrate(&call->die, DW_AT_MIPS_linkage_name, &attr)))
		call->linkage = dwarf_formstring(&attr);
	if (call->linkage)
		return;
	if (dwarf_attr_integrate(&call->die, DW_AT_name, &attr))
		call->name = dwarf_formstring(&attr);
	if (call->name && !plain)
		call->name = qualify(lines, &call->die, call->name);
}

/* Keep head, separator and tail as one string. NULL if out of memory. */
static const char *keep_joined(struct mt_lines *lines, const char *head, const char *separator,
			       const char *tail)
{
	size_t size = strlen(head) + strlen(separator) + strlen(tail) + 1;
	struct made_name *made = malloc(sizeof(*made) + size);

	if (!made)
		return NULL;
	stpcpy(stpcpy(stpcpy(made->text, head), separator), tail);
	made->next = lines->names;
	lines->names = made;
	return made->text;
}

/*
 * libdw joins a file to its own folder, but not to the folder the compiler ran in. Where that
 * one is relative too (distributions' packages), the two cannot be told apart: left as it is.
 */
static const char *full_path(struct mt_lines *lines, struct unit *unit, const char *path)
{
	Dwarf_Attribute attr;
	const char *folder = NULL;

	if (!path || path[0] == '/')
		return path;
	if (dwarf_attr(&unit->lines_die, DW_AT_comp_dir, &attr))
		folder = dwarf_formstring(&attr);
	if (!folder || folder[0] != '/')
		return path;
	return keep_joined(lines, folder, "/", path);
}

/* Path of a file of the unit's line table (its skeleton's, or the split unit's own). */
static const char *file_path(struct mt_lines *lines, struct unit *unit, bool split,
			     Dwarf_Files *files, size_t n, size_t index)
{
	struct file_names *names = &unit->names[split];

	if (index >= n)
		return NULL;
	if (names->files != files) {
		free(names->paths);
		names->paths = calloc(n, sizeof(*names->paths));
		names->n = names->paths ? n : 0;
		names->files = files;
	}
	if (index >= names->n)
		return NULL;
	if (!names->paths[index])
		names->paths[index] = full_path(lines, unit,
						dwarf_filesrc(files, index, NULL, NULL));
	return names->paths[index];
}

static void call_site(struct mt_lines *lines, struct unit *unit, struct call *call,
		      struct mt_line_frame *frame)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t n;

	if (!dwarf_formudata(dwarf_attr(&call->die, DW_AT_call_file, &attr), &value) &&
	    !dwarf_getsrcfiles(&unit->die, &files, &n))
		frame->file = file_path(lines, unit, true, files, n, value);
	if (!dwarf_formudata(dwarf_attr(&call->die, DW_AT_call_line, &attr), &value) &&
	    value <= UINT32_MAX)
		frame->line = value;
}

static uint64_t entry_of(Dwarf_Die *die)
{
	Dwarf_Addr entry, base, end;

	if (!dwarf_entrypc(die, &entry) || dwarf_ranges(die, 0, &base, &entry, &end) > 0)
		return entry;
	return 0;
}

/* svma's own file and line. */
static bool own_line(struct mt_lines *lines, struct unit *unit, uint64_t svma,
		     struct mt_line_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines_die, svma);
	Dwarf_Files *files;
	size_t index, n;
	int number = 0;

	if (!line || dwarf_line_file(line, &files, &index) ||
	    dwarf_getsrcfiles(&unit->lines_die, &files, &n))
		return false;
	frame->file = file_path(lines, unit, false, files, n, index);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = number;
	return frame->file != NULL;
}

size_t mt_lines_find(struct mt_lines *lines, uint64_t svma,
		     struct mt_line_frame frames[MT_LINE_FRAMES_MAX])
{
	uint32_t index = mt_spans_find(&lines->spans, svma);
	struct function *function;
	struct mt_line_frame *frame;
	struct unit *unit;
	struct call *call;
	bool has_line;
	size_t n = 0;

	if (index == MT_SPANS_NONE)
		return 0;
	unit = &lines->units[index];
	memset(frames, 0, sizeof(*frames));
	has_line = own_line(lines, unit, svma, frames);
	function = find_function(lines, unit, svma);
	if (!function)
		return has_line;

	index = 0;
	if (function->expanded || !expand_function(lines, function))
		index = mt_spans_find(&function->spans, svma);
	if (index == MT_SPANS_NONE)
		index = 0;
	for (;;) {
		call = &function->calls[index];
		frame = &frames[n++];
		if (!call->named)
			name_call(lines, unit, call);
		frame->linkage = call->linkage;
		frame->name = call->name;
		if (!index)
			break;
		if (n == MT_LINE_FRAMES_MAX)
			n--;
		memset(&frames[n], 0, sizeof(*frames));
		call_site(lines, unit, call, &frames[n]);
		index = call->parent;
	}
	frame->entry = entry_of(&function->calls[0].die);
	return n;
}

/* List the units of a file; those of a supplementary file are only there to be referred to. */
static int list_units(struct mt_lines *lines, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	struct unit *unit;
	uint8_t type;
	int err;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton && type != DW_UT_partial)
			continue;
		err = grow(&lines->units, &lines->cap, lines->n, sizeof(*lines->units));
		if (err)
			return err;
		unit = &lines->units[lines->n++];
		unit->lines_die = die;
		unit->die = type == DW_UT_skeleton && split.addr ? split : die;
	}
	return 0;
}

/*
 * A unit without DW_AT_ranges can still have code in several sections (DWARF 2), or say
 * nothing itself: .debug_aranges has it all.
 */
static int add_aranges(struct mt_lines *lines, struct range_list *list)
{
	Dwarf_Aranges *aranges;
	Dwarf_Addr start;
	Dwarf_Word length;
	struct unit *unit;
	struct mt_range *range;
	Dwarf_Off offset;
	size_t n, i;
	Dwarf_Die die;
	int err;

	if (dwarf_getaranges(lines->dwarf, &aranges, &n))
		return 0;
	for (i = 0; i < n; i++) {
		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) ||
		    length > UINT64_MAX - start || !is_code(lines->module, start, start + length) ||
		    !dwarf_offdie(lines->dwarf, offset, &die))
			continue;
		unit = unit_of(lines, &die);
		if (!unit || dwarf_hasattr(&unit->lines_die, DW_AT_ranges))
			continue;
		err = grow(&list->ranges, &list->cap, list->n, sizeof(*list->ranges));
		if (err)
			return err;
		range = &list->ranges[list->n++];
		range->start = start;
		range->end = start + length;
		range->value = unit - lines->units;
		range->order = range->value;
	}
	return 0;
}

static int index_units(struct mt_lines *lines)
{
	Dwarf *alt = dwarf_getalt(lines->dwarf);
	struct range_list list = {};
	bool any = false;
	int err;
	size_t i;

	err = list_units(lines, lines->dwarf);
	if (!err && alt)
		err = list_units(lines, alt);
	if (err)
		return err;
	if (lines->n)
		qsort(lines->units, lines->n, sizeof(*lines->units), by_die_addr);
	for (i = 0; i < lines->n && !err; i++)
		err = add_ranges(lines->module, &list, &lines->units[i].lines_die, i, i, &any);
	if (!err)
		err = add_aranges(lines, &list);
	if (!err)
		err = list.n ? mt_spans_build(&lines->spans, list.ranges, list.n) : -MT_E_NO_DATA;
	free(list.ranges);
	return err;
}

int mt_lines_load(struct mt_module *module, struct mt_lines **ret_lines)
{
	Dwarf *dwarf = mt_module_dwarf(module);
	struct mt_lines *lines;
	int err;

	if (!dwarf)
		return -MT_E_NO_DATA;
	lines = calloc(1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	lines->module = module;
	lines->dwarf = dwarf;
	err = index_units(lines);
	if (err) {
		mt_lines_free(lines);
		return err;
	}
	*ret_lines = lines;
	return 0;
}

static void unit_release(struct unit *unit)
{
	size_t i;

	for (i = 0; i < unit->cap; i++) {
		free(unit->functions[i].calls);
		mt_spans_release(&unit->functions[i].spans);
	}
	free(unit->functions);
	free(unit->scopes);
	free(unit->names[0].paths);
	free(unit->names[1].paths);
	mt_spans_release(&unit->spans);
	mt_spans_release(&unit->nested);
}

void mt_lines_free(struct mt_lines *lines)
{
	struct made_name *next;
	size_t i;

	if (!lines)
		return;
	for (i = 0; i < lines->n; i++)
		unit_release(&lines->units[i]);
	free(lines->units);
	mt_spans_release(&lines->spans);
	while (lines->names) {
		next = lines->names->next;
		free(lines->names);
		lines->names = next;
	}
	free(lines);
}
