#include "report/profile_read_impl.h"

#include "common/error.h"
#include "common/grow.h"
#include "report/json_read.h"

#include <ctype.h>
#include <errno.h>
#include <unistd.h>

static bool read_build_id(struct mt_json_in *in, struct mt_profile_module *module)
{
	const char *hex = mt_json_in_string(in);
	size_t n = hex ? strlen(hex) : 0, i;
	unsigned int byte;

	if (!n || n % 2 || n > 2 * MT_BUILD_ID_MAX)
		return false;
	for (i = 0; i < n; i += 2) {
		if (!isxdigit((unsigned char)hex[i]) || !isxdigit((unsigned char)hex[i + 1]) ||
		    sscanf(hex + i, "%2x", &byte) != 1)
			return false;
		module->build_id[i / 2] = (uint8_t)byte;
	}
	module->n_build_id = (uint32_t)(n / 2);
	return true;
}

static int read_segments(struct mt_json_in *in, struct mt_profile_module *module)
{
	struct mt_module_segment *segment;
	uint32_t cap = 0;
	const char *name;
	int err;

	if (module->segments || !mt_json_in_array(in))
		return -MT_E_CORRUPT;
	while (mt_json_in_element(in)) {
		err = mt_grow(&module->segments, module->n_segments, &cap, sizeof(*segment),
			      MT_SEGMENTS_MAX);
		if (err)
			return err;
		segment = &module->segments[module->n_segments++];
		*segment = (struct mt_module_segment){ 0 };
		if (!mt_json_in_object(in))
			return -MT_E_CORRUPT;
		while ((name = mt_json_in_member(in))) {
			if (!strcmp(name, "offset"))
				segment->offset = mt_json_in_u64(in);
			else if (!strcmp(name, "filesz"))
				segment->filesz = mt_json_in_u64(in);
			else if (!strcmp(name, "vaddr"))
				segment->vaddr = mt_json_in_u64(in);
			else if (!strcmp(name, "memsz"))
				segment->memsz = mt_json_in_u64(in);
			else if (!strcmp(name, "flags"))
				segment->flags = (uint32_t)mt_json_in_u64(in);
			else
				mt_json_in_skip(in);
		}
	}
	return 0;
}

static int read_sections(struct mt_json_in *in, struct mt_profile_module *module)
{
	struct mt_module_range *section;
	uint32_t cap = 0;
	const char *name;
	int err;

	if (module->sections || !mt_json_in_array(in))
		return -MT_E_CORRUPT;
	while (mt_json_in_element(in)) {
		err = mt_grow(&module->sections, module->n_sections, &cap, sizeof(*section),
			      MT_PROFILE_SECTIONS_MAX);
		if (err)
			return err;
		section = &module->sections[module->n_sections++];
		*section = (struct mt_module_range){ .name = "" };
		if (!mt_json_in_object(in))
			return -MT_E_CORRUPT;
		while ((name = mt_json_in_member(in))) {
			if (!strcmp(name, "name"))
				section->name = mt_json_in_string(in);
			else if (!strcmp(name, "addr"))
				section->svma = mt_json_in_u64(in);
			else if (!strcmp(name, "size"))
				section->size = mt_json_in_u64(in);
			else
				mt_json_in_skip(in);
		}
		if (!section->name || section->size > UINT64_MAX - section->svma)
			return -MT_E_CORRUPT;
	}
	return 0;
}

static int by_function(const void *va, const void *vb)
{
	const struct mt_renamed_function *a = va, *b = vb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

static int read_functions(struct mt_json_in *in, struct mt_profile_modules *modules,
			  struct mt_profile_module *module)
{
	struct mt_renamed_function *function;
	const char *name;
	int err;

	if (module->n_functions || !mt_json_in_array(in))
		return -MT_E_CORRUPT;
	module->first_function = modules->n_functions;
	while (mt_json_in_element(in)) {
		err = mt_grow(&modules->functions, modules->n_functions, &modules->cap_functions,
			      sizeof(*function), MT_PROFILE_LOCATED_MAX);
		if (err)
			return err;
		function = &modules->functions[modules->n_functions++];
		*function = (struct mt_renamed_function){ 0 };
		if (!mt_json_in_object(in))
			return -MT_E_CORRUPT;
		while ((name = mt_json_in_member(in))) {
			if (!strcmp(name, "addr"))
				function->svma = mt_json_in_u64(in);
			else if (!strcmp(name, "name") && !mt_json_in_null(in))
				function->name = mt_json_in_string(in);
			else if (strcmp(name, "name") != 0)
				mt_json_in_skip(in);
		}
	}
	module->n_functions = modules->n_functions - module->first_function;
	if (module->n_functions)
		qsort(modules->functions + module->first_function, module->n_functions,
		      sizeof(*function), by_function);
	return 0;
}

static int read_module(struct mt_json_in *in, struct mt_profile_modules *modules,
		       struct mt_profile_module *module)
{
	const char *name;
	int err = 0;

	if (!mt_json_in_object(in))
		return -MT_E_CORRUPT;
	while (!err && (name = mt_json_in_member(in))) {
		if (!strcmp(name, "build_id"))
			err = read_build_id(in, module) ? 0 : -MT_E_CORRUPT;
		else if (!strcmp(name, "path"))
			module->path = mt_json_in_string(in);
		else if (!strcmp(name, "machine"))
			module->machine = (uint16_t)mt_json_in_u64(in);
		else if (!strcmp(name, "entry"))
			module->entry = mt_json_in_u64(in);
		else if (!strcmp(name, "segments"))
			err = read_segments(in, module);
		else if (!strcmp(name, "sections"))
			err = read_sections(in, module);
		else if (!strcmp(name, "functions"))
			err = read_functions(in, modules, module);
		else if (!strcmp(name, "symbol_kinds"))
			module->kinds = mt_json_in_string(in);
		else
			mt_json_in_skip(in);
	}
	if (!err && (!module->path || !module->n_build_id))
		err = -MT_E_CORRUPT;
	return err;
}

static int read_modules(struct mt_json_in *in, struct mt_profile_modules *modules)
{
	struct mt_profile_module *module;
	const char *key;
	int err;

	if (!mt_json_in_object(in))
		return -MT_E_CORRUPT;
	while ((key = mt_json_in_member(in))) {
		err = mt_grow(&modules->modules, modules->n, &modules->cap, sizeof(*module),
			      MT_PROFILE_MODULES_MAX);
		if (err)
			return err;
		module = &modules->modules[modules->n++];
		*module = (struct mt_profile_module){ .key = key };
		err = read_module(in, modules, module);
		if (err)
			return err;
	}
	return 0;
}

static int read_located(struct mt_json_in *in, struct mt_profile_modules *modules)
{
	struct mt_profile_located *located;
	const char *name;
	uint64_t line;
	int err;

	if (!mt_json_in_array(in))
		return -MT_E_CORRUPT;
	while (mt_json_in_element(in)) {
		err = mt_grow(&modules->located, modules->n_located, &modules->cap_located,
			      sizeof(*located), MT_PROFILE_LOCATED_MAX);
		if (err)
			return err;
		located = &modules->located[modules->n_located++];
		*located = (struct mt_profile_located){ 0 };
		if (!mt_json_in_object(in))
			return -MT_E_CORRUPT;
		while ((name = mt_json_in_member(in))) {
			if (!strcmp(name, "addr")) {
				located->svma = mt_json_in_u64(in);
			} else if (!strcmp(name, "size")) {
				located->size = mt_json_in_u64(in);
			} else if (!strcmp(name, "name")) {
				located->name = mt_json_in_string(in);
			} else if (!strcmp(name, "file")) {
				located->file = mt_json_in_string(in);
			} else if (!strcmp(name, "line") && !mt_json_in_null(in)) {
				line = mt_json_in_u64(in);
				located->line = line <= UINT32_MAX ? (uint32_t)line : 0;
			} else if (strcmp(name, "line") != 0) {
				mt_json_in_skip(in);
			}
		}
		if (!located->name || !located->file)
			return -MT_E_CORRUPT;
	}
	return 0;
}

static int by_svma(const void *va, const void *vb)
{
	const struct mt_profile_located *a = va, *b = vb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

static int read_debug_info(struct mt_json_in *in, struct mt_profile_modules *modules)
{
	struct mt_located_list *list;
	const char *key, *name;
	int err;

	if (!mt_json_in_object(in))
		return -MT_E_CORRUPT;
	while ((key = mt_json_in_member(in))) {
		err = mt_grow(&modules->lists, modules->n_lists, &modules->cap_lists, sizeof(*list),
			      MT_PROFILE_MODULES_MAX);
		if (err)
			return err;
		list = &modules->lists[modules->n_lists++];
		*list = (struct mt_located_list){ .key = key, .first = modules->n_located };
		if (!mt_json_in_object(in))
			return -MT_E_CORRUPT;
		while ((name = mt_json_in_member(in))) {
			if (strcmp(name, "debug_infos") != 0) {
				mt_json_in_skip(in);
				continue;
			}
			err = read_located(in, modules);
			if (err)
				return err;
		}
		list->n = modules->n_located - list->first;
		if (list->n)
			qsort(modules->located + list->first, list->n, sizeof(*modules->located),
			      by_svma);
	}
	return 0;
}

static int read_metadata(struct mt_json_in *in, struct mt_profile_modules *modules)
{
	const char *name;
	uint64_t version = 0;
	int err = 0;

	if (!mt_json_in_object(in))
		return -MT_E_CORRUPT;
	while (!err && (name = mt_json_in_member(in))) {
		if (!strcmp(name, "version"))
			version = mt_json_in_u64(in);
		else if (!strcmp(name, "modules"))
			err = read_modules(in, modules);
		else if (!strcmp(name, "debug_info"))
			err = read_debug_info(in, modules);
		else
			mt_json_in_skip(in);
	}
	if (!err && (!mt_json_in_done(in) || version != 1))
		err = -MT_E_CORRUPT;
	return err;
}

int mt_profile_compare_ids(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
	if (n_a != n_b)
		return n_a < n_b ? -1 : 1;
	return memcmp(a, b, n_a);
}

static int by_build_id(const void *va, const void *vb)
{
	const struct mt_profile_module *a = va, *b = vb;
	int order = mt_profile_compare_ids(a->build_id, a->n_build_id, b->build_id, b->n_build_id);

	return order ? order : strcmp(a->key, b->key);
}

static int by_key(const void *va, const void *vb)
{
	const struct mt_located_list *a = va, *b = vb;

	return strcmp(a->key, b->key);
}

static void rename_located(struct mt_profile_modules *modules,
			   const struct mt_profile_module *module,
			   const struct mt_located_list *list)
{
	const struct mt_renamed_function *function = modules->functions + module->first_function;
	const struct mt_renamed_function *end = function + module->n_functions;
	struct mt_profile_located *located = modules->located + list->first;
	size_t i;

	for (i = 0; i < list->n && function < end; i++) {
		while (function < end && function->svma < located[i].svma)
			function++;
		if (function < end && function->svma == located[i].svma)
			located[i].name = function->name;
	}
}

/* Order does not matter in JSON: what belongs together is known at the end. */
static void join(struct mt_profile_modules *modules)
{
	struct mt_located_list want, *list;
	size_t i;

	if (modules->n_lists)
		qsort(modules->lists, modules->n_lists, sizeof(*modules->lists), by_key);
	if (modules->n)
		qsort(modules->modules, modules->n, sizeof(*modules->modules), by_build_id);
	for (i = 0; modules->n_lists && i < modules->n; i++) {
		want.key = modules->modules[i].key;
		list = bsearch(&want, modules->lists, modules->n_lists, sizeof(want), by_key);
		if (!list)
			continue;
		modules->modules[i].located = modules->located + list->first;
		modules->modules[i].n_located = list->n;
		if (modules->modules[i].n_functions)
			rename_located(modules, &modules->modules[i], list);
	}
}

int mt_profile_modules_parse(char *text, size_t n, struct mt_profile_modules **ret_modules)
{
	struct mt_profile_modules *modules = calloc(1, sizeof(*modules));
	struct mt_json_in in;
	int err;

	if (!modules) {
		free(text);
		return -ENOMEM;
	}
	modules->folder = -1;
	modules->text = text;
	mt_json_in_init(&in, text, n);
	err = read_metadata(&in, modules);
	if (err) {
		mt_profile_modules_free(modules);
		return err;
	}
	join(modules);
	*ret_modules = modules;
	return 0;
}

void mt_profile_modules_free(struct mt_profile_modules *modules)
{
	size_t i;

	if (!modules)
		return;
	for (i = 0; i < modules->n; i++) {
		free(modules->modules[i].segments);
		free(modules->modules[i].sections);
	}
	if (modules->folder >= 0)
		close(modules->folder);
	free(modules->modules);
	free(modules->located);
	free(modules->lists);
	free(modules->functions);
	free(modules->text);
	free(modules);
}
