#include "report/dwarf_impl.h"

#include "common/error.h"
#include "report/module.h"
#include "report/profile_read.h"

#include <dwarf.h>
#include <errno.h>

static void call_site(struct mt_lines *lines, struct mt_dwarf_unit *unit,
		      struct mt_dwarf_call *call, struct mt_line_frame *frame)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t n;

	if (!dwarf_formudata(dwarf_attr(&call->die, DW_AT_call_file, &attr), &value) &&
	    !dwarf_getsrcfiles(&unit->die, &files, &n))
		frame->file = mt_dwarf_file_path(lines, unit, true, files, n, value);
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
static bool own_line(struct mt_lines *lines, struct mt_dwarf_unit *unit, uint64_t svma,
		     struct mt_line_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines_die, svma);
	Dwarf_Files *files;
	size_t index, n;
	int number = 0;

	if (!line || dwarf_line_file(line, &files, &index) ||
	    dwarf_getsrcfiles(&unit->lines_die, &files, &n))
		return false;
	frame->file = mt_dwarf_file_path(lines, unit, false, files, n, index);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = number;
	return frame->file != NULL;
}

static size_t find_located(struct mt_lines *lines, uint64_t svma, struct mt_line_frame *frame)
{
	const struct mt_profile_located *located = mt_profile_locate(lines->located, svma);

	if (!located)
		return 0;
	*frame = (struct mt_line_frame){
		.file = located->file, .line = located->line, .entry = located->svma,
	};
	if (located->name && (!strncmp(located->name, "_Z", 2) || !strncmp(located->name, "_R", 2)))
		frame->linkage = located->name;
	else
		frame->name = located->name;
	return 1;
}

size_t mt_lines_find(struct mt_lines *lines, uint64_t svma,
		     struct mt_line_frame frames[MT_LINE_FRAMES_MAX])
{
	uint32_t index = mt_spans_find(&lines->spans, svma);
	struct mt_dwarf_function *function;
	struct mt_line_frame *frame;
	struct mt_dwarf_unit *unit;
	struct mt_dwarf_call *call;
	bool has_line;
	size_t n = 0;

	if (lines->located)
		return find_located(lines, svma, frames);
	if (index == MT_SPANS_NONE)
		return 0;
	unit = &lines->units[index];
	memset(frames, 0, sizeof(*frames));
	has_line = own_line(lines, unit, svma, frames);
	function = mt_dwarf_find_function(lines, unit, svma);
	if (!function)
		return has_line;

	index = 0;
	if (function->expanded || !mt_dwarf_expand_function(lines, function))
		index = mt_spans_find(&function->spans, svma);
	if (index == MT_SPANS_NONE)
		index = 0;
	for (;;) {
		call = &function->calls[index];
		frame = &frames[n++];
		if (!call->named)
			mt_dwarf_name_call(lines, unit, call);
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

int mt_lines_load(struct mt_module *module, struct mt_lines **ret_lines)
{
	Dwarf *dwarf = mt_module_dwarf(module);
	const struct mt_profile_module *located = mt_module_profile(module);
	struct mt_lines *lines;
	int err = 0;

	if (!dwarf && (!located || !located->n_located))
		return -MT_E_NO_DATA;
	lines = calloc(1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	lines->module = module;
	lines->dwarf = dwarf;
	if (dwarf)
		err = mt_dwarf_index_units(lines);
	else
		lines->located = located;
	if (err) {
		mt_lines_free(lines);
		return err;
	}
	*ret_lines = lines;
	return 0;
}

void mt_lines_free(struct mt_lines *lines)
{
	struct mt_dwarf_name *next;
	size_t i;

	if (!lines)
		return;
	for (i = 0; i < lines->n; i++)
		mt_dwarf_unit_release(&lines->units[i]);
	free(lines->units);
	mt_spans_release(&lines->spans);
	while (lines->names) {
		next = lines->names->next;
		free(lines->names);
		lines->names = next;
	}
	free(lines);
}
