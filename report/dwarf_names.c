/* Names with their scopes, and paths of source files. */
#include "report/dwarf_impl.h"

#include "common/error.h"
#include "report/module.h"

#include <dwarf.h>
#include <errno.h>

/* Add the namespaces and classes below parent; end is where parent's own DIEs end. */
static int collect_scopes(struct mt_dwarf_unit *unit, Dwarf_Die *parent, uint32_t parent_scope,
			  const char *end, unsigned int depth)
{
	struct mt_dwarf_scope *scope;
	uint32_t open = MT_SPANS_NONE;
	Dwarf_Die child;
	int tag, err = 0;

	if (depth > MT_DWARF_DEPTH_MAX || dwarf_child(parent, &child))
		return 0;
	do {
		/* The one before ends where this one begins. */
		if (open != MT_SPANS_NONE)
			unit->scopes[open].end = child.addr;
		open = MT_SPANS_NONE;
		tag = dwarf_tag(&child);
		if (tag != DW_TAG_namespace && tag != DW_TAG_module && !mt_dwarf_is_class(tag))
			continue;
		err = mt_dwarf_grow(&unit->scopes, &unit->scopes_cap, unit->n_scopes,
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
	} while (!err && mt_dwarf_next_sibling(&child));
	return err;
}

/* The innermost scope that the DIE at addr stands in. */
static uint32_t find_scope(const struct mt_dwarf_unit *unit, const char *addr)
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
	const char *parts[MT_DWARF_DEPTH_MAX + 1];
	struct mt_dwarf_name *made;
	struct mt_dwarf_unit *unit;
	size_t n = 0, size;
	uint32_t scope;
	char *at;

	unit = mt_dwarf_unit_of(lines, &where);
	if (!unit)
		return name;
	unit_die = unit->die;
	if (!unit->scopes_done) {
		unit->scopes_done = true;
		/* At the worst fewer scopes than there are. */
		collect_scopes(unit, &unit_die, MT_SPANS_NONE, (const char *)UINTPTR_MAX, 0);
	}
	size = strlen(name) + 1;
	for (scope = find_scope(unit, where.addr); scope != MT_SPANS_NONE && n < MT_DWARF_DEPTH_MAX;
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

void mt_dwarf_name_call(struct mt_lines *lines, struct mt_dwarf_unit *unit,
			struct mt_dwarf_call *call)
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
	struct mt_dwarf_name *made = malloc(sizeof(*made) + size);

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
static const char *full_path(struct mt_lines *lines, struct mt_dwarf_unit *unit, const char *path)
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

const char *mt_dwarf_file_path(struct mt_lines *lines, struct mt_dwarf_unit *unit, bool split,
			     Dwarf_Files *files, size_t n, size_t index)
{
	struct mt_dwarf_files *names = &unit->names[split];

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
