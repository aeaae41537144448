/* The units of a module's DWARF and the code each has. */
#include "report/dwarf_impl.h"

#include "common/error.h"
#include "report/module_split.h"

#include <dwarf.h>
#include <errno.h>

#define RANGES_MAX (1u << 20)	/* of one DIE */

int mt_dwarf_grow(void *array, size_t *cap, size_t n, size_t size)
{
	void **pointer = array, *bigger;
	size_t want;

	if (n < *cap)
		return 0;
	if (n >= MT_DWARF_ENTRIES_MAX)
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

bool mt_dwarf_is_code(struct mt_module *module, uint64_t start, uint64_t end)
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

int mt_dwarf_add_ranges(struct mt_module *module, struct mt_dwarf_ranges *list, Dwarf_Die *die,
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
		if (!mt_dwarf_is_code(module, start, end))
			continue;
		err = mt_dwarf_grow(&list->ranges, &list->cap, list->n, sizeof(*list->ranges));
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

static int by_die_addr(const void *va, const void *vb)
{
	const struct mt_dwarf_unit *a = va, *b = vb;

	return a->die.addr < b->die.addr ? -1 : a->die.addr > b->die.addr;
}

struct mt_dwarf_unit *mt_dwarf_unit_of(struct mt_lines *lines, Dwarf_Die *die)
{
	struct mt_dwarf_unit key;

	if (!lines->n || !dwarf_diecu(die, &key.die, NULL, NULL))
		return NULL;
	return bsearch(&key, lines->units, lines->n, sizeof(key), by_die_addr);
}

/* List the units of a file; those of a supplementary file are only there to be referred to. */
static int list_units(struct mt_lines *lines, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	struct mt_dwarf_unit *unit;
	uint8_t type;
	int err;

	/* Not the split units: libdw would open whatever the file says. */
	while (!dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton && type != DW_UT_partial)
			continue;
		err = mt_dwarf_grow(&lines->units, &lines->cap, lines->n, sizeof(*lines->units));
		if (err)
			return err;
		unit = &lines->units[lines->n++];
		unit->lines_die = die;
		unit->die = die;
		if (type == DW_UT_skeleton && mt_module_split_find(lines->module, &die, &split))
			unit->die = split;
	}
	return 0;
}

/*
 * A unit without DW_AT_ranges can still have code in several sections (DWARF 2), or say
 * nothing itself: .debug_aranges has it all.
 */
static int add_aranges(struct mt_lines *lines, struct mt_dwarf_ranges *list)
{
	Dwarf_Aranges *aranges;
	Dwarf_Addr start;
	Dwarf_Word length;
	struct mt_dwarf_unit *unit;
	struct mt_range *range;
	Dwarf_Off offset;
	size_t n, i;
	Dwarf_Die die;
	int err;

	if (dwarf_getaranges(lines->dwarf, &aranges, &n))
		return 0;
	for (i = 0; i < n; i++) {
		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) ||
		    length > UINT64_MAX - start ||
		    !mt_dwarf_is_code(lines->module, start, start + length) ||
		    !dwarf_offdie(lines->dwarf, offset, &die))
			continue;
		unit = mt_dwarf_unit_of(lines, &die);
		if (!unit || dwarf_hasattr(&unit->lines_die, DW_AT_ranges))
			continue;
		err = mt_dwarf_grow(&list->ranges, &list->cap, list->n, sizeof(*list->ranges));
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

int mt_dwarf_index_units(struct mt_lines *lines)
{
	Dwarf *alt = dwarf_getalt(lines->dwarf);
	struct mt_dwarf_ranges list = {};
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
		err = mt_dwarf_add_ranges(lines->module, &list, &lines->units[i].lines_die, i, i,
					  &any);
	if (!err)
		err = add_aranges(lines, &list);
	if (!err)
		err = list.n ? mt_spans_build(&lines->spans, list.ranges, list.n) : -MT_E_NO_DATA;
	free(list.ranges);
	return err;
}

void mt_dwarf_unit_release(struct mt_dwarf_unit *unit)
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
