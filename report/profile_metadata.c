/*
 * memtrack.metadata: which process mapped what where, and where its functions were written.
 */
#include "report/number_order.h"
#include "report/profile_parts.h"

#include "common/version.h"
#include "report/dwarf_lines.h"
#include "report/json.h"
#include "report/module.h"
#include "report/session.h"
#include "report/symbolize.h"
#include "report/symbols.h"

#include <errno.h>

/* A placement whose addresses can be told, with what orders and names it. */
struct entry {
	uint32_t pid;
	uint64_t bias;
	const struct mt_profile_part *part;
	const struct mt_placement *placement;
};

struct located {
	const struct mt_symbol *symbol;
	const char *file;
	uint32_t line;
	const char *function;	/* what DWARF calls it */
};

/* Everything that goes into the file, in order. */
struct metadata {
	const struct mt_profile_parts *parts;
	struct mt_json json;
	struct entry *entries;
	size_t n_entries;
	bool *has_debug;	/* by part: some symbol was located */
};

static int by_pid_key_time(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	int order = mt_compare(a->pid, b->pid);

	if (!order)
		order = strcmp(a->part->key, b->part->key);
	if (!order)
		order = mt_compare(a->placement->from, b->placement->from);
	if (!order)
		order = mt_compare(a->placement->start, b->placement->start);
	return order ? order : mt_compare((uintptr_t)a->placement, (uintptr_t)b->placement);
}

static int collect_entries(struct metadata *meta)
{
	const struct mt_profile_parts *parts = meta->parts;
	uint32_t n = mt_session_placements(parts->session), i, part;
	const struct mt_placement *placement;
	struct entry *entry;
	uint64_t bias;

	meta->entries = calloc((size_t)n + 1, sizeof(*meta->entries));
	if (!meta->entries)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		placement = mt_session_placement(parts->session, i);
		part = parts->part_of_file[placement->file];
		if (part == UINT32_MAX || !mt_symbolizer_bias(parts->symbolizer, i, &bias))
			continue;
		entry = &meta->entries[meta->n_entries++];
		entry->pid = mt_session_process(parts->session, placement->process)->pid;
		entry->bias = bias;
		entry->part = &parts->parts[part];
		entry->placement = placement;
	}
	qsort(meta->entries, meta->n_entries, sizeof(*meta->entries), by_pid_key_time);
	return 0;
}

/* Where DWARF says that the function at a symbol was written: not a call inlined at its start. */
static bool locate(struct mt_lines *lines, const struct mt_symbol *symbol, struct located *located)
{
	struct mt_line_frame frames[MT_LINE_FRAMES_MAX];
	size_t n = mt_lines_find(lines, symbol->addr, frames);

	if (!n || !frames[n - 1].file)
		return false;
	located->symbol = symbol;
	located->file = frames[n - 1].file;
	located->line = frames[n - 1].line;
	located->function = frames[n - 1].linkage ? frames[n - 1].linkage : frames[n - 1].name;
	return true;
}

/* Where DWARF has another name than the symbol: for the facts of the module. */
static int keep_functions(struct mt_profile_part *part, const struct located *located, size_t n)
{
	struct mt_profile_function *function;
	size_t i;

	part->functions = calloc(n, sizeof(*part->functions));
	if (!part->functions)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (located[i].function && !strcmp(located[i].function, located[i].symbol->name))
			continue;
		function = &part->functions[part->n_functions];
		/* Symbols of one address are of one function. */
		if (part->n_functions && function[-1].svma == located[i].symbol->addr)
			continue;
		*function = (struct mt_profile_function){
			located[i].symbol->addr, located[i].function,
		};
		part->n_functions++;
	}
	return 0;
}

static void put_debug_infos(struct mt_json *json, const struct located *located, size_t n)
{
	size_t i;

	mt_json_key(json, "debug_infos");
	mt_json_array_begin(json);
	for (i = 0; i < n; i++) {
		mt_json_object_begin(json);
		mt_json_member_u64(json, "addr", located[i].symbol->addr);
		mt_json_member_u64(json, "size", located[i].symbol->size);
		mt_json_member_string(json, "name", located[i].symbol->name);
		mt_json_member_string(json, "file", located[i].file);
		mt_json_member_u64_or_null(json, "line", located[i].line);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_module(struct metadata *meta, const struct mt_profile_part *part,
		       const struct located *located, size_t n)
{
	struct mt_json *json = &meta->json;
	uint64_t high = 0, end;
	size_t i;

	for (i = 0; i < n; i++) {
		if (__builtin_add_overflow(located[i].symbol->addr, located[i].symbol->size, &end))
			end = UINT64_MAX;
		high = end > high ? end : high;
	}
	mt_json_key(json, part->key);
	mt_json_object_begin(json);
	mt_json_member_string(json, "object_path",
			      mt_session_file(meta->parts->session, part->file)->path);
	mt_json_key(json, "addr_bounds");
	mt_json_array_begin(json);
	mt_json_u64(json, located[0].symbol->addr);
	mt_json_u64(json, high);
	mt_json_array_end(json);
	mt_json_member_u64(json, "load_bias", 0);
	put_debug_infos(json, located, n);
	mt_json_object_end(json);
}

static int put_debug_info(struct metadata *meta)
{
	const struct mt_profile_parts *parts = meta->parts;
	const struct mt_symbols *symbols;
	struct located *located;
	struct mt_lines *lines;
	size_t part, n, i, count;
	bool any = false;
	int err = 0;

	for (part = 0; part < parts->n; part++) {
		if (!parts->parts[part].debug)
			continue;
		symbols = mt_symbolizer_symbols(parts->symbolizer, parts->parts[part].file);
		lines = mt_symbolizer_lines(parts->symbolizer, parts->parts[part].file);
		count = mt_symbols_count(symbols);
		located = calloc(count, sizeof(*located));
		if (!located)
			return -ENOMEM;
		for (i = n = 0; i < count; i++)
			n += locate(lines, mt_symbols_at(symbols, i), &located[n]);
		if (n) {
			if (!any) {
				mt_json_key(&meta->json, "debug_info");
				mt_json_object_begin(&meta->json);
				any = true;
			}
			put_module(meta, &parts->parts[part], located, n);
			meta->has_debug[part] = true;
			err = keep_functions(&parts->parts[part], located, n);
		}
		free(located);
		if (err)
			return err;
	}
	if (any)
		mt_json_object_end(&meta->json);
	return 0;
}

static void put_placement_members(struct mt_json *json, const struct mt_placement *placement)
{
	mt_json_member_u64_or_null(json, "timestamp", placement->from);
	mt_json_key(json, "avma_range");
	mt_json_object_begin(json);
	mt_json_member_u64(json, "start", placement->start);
	mt_json_member_u64(json, "end", placement->end);
	mt_json_object_end(json);
}

enum list { LIST_DEBUG, LIST_UNWIND, LIST_SYMBOLS };

static bool is_in_list(const struct metadata *meta, const struct entry *entry, enum list list)
{
	switch (list) {
	case LIST_DEBUG:
		return meta->has_debug[entry->part - meta->parts->parts];
	case LIST_UNWIND:
		return entry->part->unwind;
	case LIST_SYMBOLS:
		return entry->part->symbols;
	}
	return false;
}

static void put_entry(struct metadata *meta, const struct entry *entry, enum list list)
{
	static const char *const key_names[] = {
		[LIST_DEBUG] = "debug_info_key",
		[LIST_UNWIND] = "unwind_data_key",
		[LIST_SYMBOLS] = "perf_map_key",
	};
	struct mt_json *json = &meta->json;
	struct mt_module *module;

	mt_json_object_begin(json);
	mt_json_member_string(json, key_names[list], entry->part->key);
	if (list != LIST_UNWIND)
		mt_json_member_u64(json, "load_bias", entry->bias);
	put_placement_members(json, entry->placement);
	if (list == LIST_UNWIND) {
		module = mt_symbolizer_module(meta->parts->symbolizer, entry->part->file);
		mt_json_member_u64(json, "base_avma", mt_module_base_svma(module) + entry->bias);
	}
	mt_json_object_end(json);
}

/* {"PID": [entry, ...]}, left out if empty. */
static void put_by_pid(struct metadata *meta, const char *name, enum list list)
{
	const struct entry *entry, *open = NULL;
	size_t i;

	for (i = 0; i < meta->n_entries; i++) {
		entry = &meta->entries[i];
		if (!is_in_list(meta, entry, list))
			continue;
		if (!open) {
			mt_json_key(&meta->json, name);
			mt_json_object_begin(&meta->json);
		} else if (open->pid != entry->pid) {
			mt_json_array_end(&meta->json);
		}
		if (!open || open->pid != entry->pid) {
			mt_json_key_number(&meta->json, entry->pid);
			mt_json_array_begin(&meta->json);
		}
		put_entry(meta, entry, list);
		open = entry;
	}
	if (open) {
		mt_json_array_end(&meta->json);
		mt_json_object_end(&meta->json);
	}
}

static void put_paths(struct metadata *meta)
{
	const struct mt_profile_parts *parts = meta->parts;
	size_t i;

	if (!parts->n)
		return;
	mt_json_key(&meta->json, "path_key_to_path");
	mt_json_object_begin(&meta->json);
	for (i = 0; i < parts->n; i++)
		mt_json_member_string(&meta->json, parts->parts[i].key,
				      mt_session_file(parts->session, parts->parts[i].file)->path);
	mt_json_object_end(&meta->json);
}

static int by_pid(const void *va, const void *vb)
{
	const struct mt_process *const *a = va, *const *b = vb;

	/* Of processes that had one pid, the last one first. */
	if ((*a)->pid != (*b)->pid)
		return mt_compare((*a)->pid, (*b)->pid);
	return mt_compare((*b)->start, (*a)->start);
}

static int put_process_names(struct metadata *meta)
{
	uint32_t n = mt_session_processes(meta->parts->session), i;
	const struct mt_process **processes;

	if (!n)
		return 0;
	processes = calloc(n, sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		processes[i] = mt_session_process(meta->parts->session, i);
	qsort(processes, n, sizeof(*processes), by_pid);
	mt_json_key(&meta->json, "process_names");
	mt_json_object_begin(&meta->json);
	for (i = 0; i < n; i++) {
		if (i && processes[i - 1]->pid == processes[i]->pid)
			continue;
		mt_json_key_number(&meta->json, processes[i]->pid);
		mt_json_string(&meta->json, processes[i]->comm);
	}
	mt_json_object_end(&meta->json);
	free(processes);
	return 0;
}

int mt_profile_put_metadata(const struct mt_profile_parts *parts, const char *integration_name,
			    const char *integration_version, FILE *out)
{
	struct metadata meta = { .parts = parts };
	int err;

	mt_json_init(&meta.json, out, false);
	meta.has_debug = calloc(parts->n + 1, sizeof(*meta.has_debug));
	err = meta.has_debug ? collect_entries(&meta) : -ENOMEM;
	if (err)
		goto out_free;
	mt_json_object_begin(&meta.json);
	mt_json_member_u64(&meta.json, "version", 1);
	mt_json_key(&meta.json, "integration");
	mt_json_array_begin(&meta.json);
	mt_json_string(&meta.json, integration_name ? integration_name : "mt-report");
	mt_json_string(&meta.json, integration_name ? integration_version : MT_VERSION);
	mt_json_array_end(&meta.json);
	err = put_debug_info(&meta);
	if (err)
		goto out_free;
	put_by_pid(&meta, "mapped_process_debug_info_by_pid", LIST_DEBUG);
	put_by_pid(&meta, "mapped_process_unwind_data_by_pid", LIST_UNWIND);
	put_by_pid(&meta, "mapped_process_module_symbols", LIST_SYMBOLS);
	put_paths(&meta);
	err = put_process_names(&meta);
	if (err)
		goto out_free;
	mt_profile_put_facts(parts, &meta.json);
	mt_json_object_end(&meta.json);
	err = mt_json_finish(&meta.json);

out_free:
	free(meta.has_debug);
	free(meta.entries);
	return err;
}
