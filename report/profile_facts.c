/* Facts of the modules in memtrack.metadata, for mt-report --profile. */
#include "report/profile_parts.h"

#include "report/json.h"
#include "report/module.h"
#include "report/session.h"
#include "report/symbolize.h"
#include "report/symbols.h"

static void put_segments(struct mt_json *json, const struct mt_module *module)
{
	const struct mt_module_segment *segments;
	size_t n = mt_module_segments(module, &segments), i;

	mt_json_key(json, "segments");
	mt_json_array_begin(json);
	for (i = 0; i < n; i++) {
		mt_json_object_begin(json);
		mt_json_member_u64(json, "offset", segments[i].offset);
		mt_json_member_u64(json, "filesz", segments[i].filesz);
		mt_json_member_u64(json, "vaddr", segments[i].vaddr);
		mt_json_member_u64(json, "memsz", segments[i].memsz);
		mt_json_member_u64(json, "flags", segments[i].flags);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_sections(struct mt_json *json, const struct mt_module *module)
{
	size_t n = mt_module_sections(module), i;
	struct mt_module_range range;

	mt_json_key(json, "sections");
	mt_json_array_begin(json);
	for (i = 0; i < n; i++) {
		if (!mt_module_memory_section(module, i, &range))
			continue;
		mt_json_object_begin(json);
		mt_json_member_string(json, "name", range.name);
		mt_json_member_u64(json, "addr", range.svma);
		mt_json_member_u64(json, "size", range.size);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static char letter_of(const struct mt_symbol *symbol)
{
	return (char)MT_PROFILE_LETTER(symbol->function ? MT_PROFILE_FUNCTION :
				       symbol->label ? MT_PROFILE_LABEL : MT_PROFILE_DATA,
				       symbol->weak ? MT_PROFILE_WEAK :
				       symbol->global ? MT_PROFILE_GLOBAL : MT_PROFILE_LOCAL);
}

static void put_kinds(struct mt_json *json, const struct mt_symbols *symbols)
{
	size_t count = mt_symbols_count(symbols), i, n = 0;
	char *kinds = malloc(count + 1);

	/* Without it the folder is whole for other readers, and of no use with --profile. */
	if (!kinds)
		return;
	for (i = 0; i < count; i++)
		if (mt_profile_has_symbol(mt_symbols_at(symbols, i)))
			kinds[n++] = letter_of(mt_symbols_at(symbols, i));
	kinds[n] = 0;
	mt_json_member_string(json, "symbol_kinds", kinds);
	free(kinds);
}

static void put_functions(struct mt_json *json, const struct mt_profile_part *part)
{
	size_t i;

	mt_json_key(json, "functions");
	mt_json_array_begin(json);
	for (i = 0; i < part->n_functions; i++) {
		mt_json_object_begin(json);
		mt_json_member_u64(json, "addr", part->functions[i].svma);
		mt_json_member_string(json, "name", part->functions[i].name);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_module(struct mt_json *json, const struct mt_profile_parts *parts,
		       const struct mt_profile_part *part, const uint8_t *id, size_t n)
{
	struct mt_module *module = mt_symbolizer_module(parts->symbolizer, part->file);

	mt_json_key(json, part->key);
	mt_json_object_begin(json);
	mt_json_key(json, "build_id");
	mt_json_bytes(json, id, n);
	mt_json_member_string(json, "path", mt_module_path(module));
	mt_json_member_u64(json, "machine", mt_module_machine(module));
	mt_json_member_u64(json, "entry", mt_module_entry(module));
	put_segments(json, module);
	put_sections(json, module);
	if (part->symbols)
		put_kinds(json, mt_symbolizer_symbols(parts->symbolizer, part->file));
	if (part->n_functions)
		put_functions(json, part);
	mt_json_object_end(json);
}

void mt_profile_put_facts(const struct mt_profile_parts *parts, struct mt_json *json)
{
	uint8_t id[MT_BUILD_ID_MAX];
	bool any = false;
	size_t i, n;

	for (i = 0; i < parts->n; i++) {
		n = mt_module_build_id(mt_symbolizer_module(parts->symbolizer,
							    parts->parts[i].file), id);
		if (!n)
			continue;
		if (!any) {
			mt_json_key(json, "modules");
			mt_json_object_begin(json);
			any = true;
		}
		put_module(json, parts, &parts->parts[i], id, n);
	}
	if (any)
		mt_json_object_end(json);
}
