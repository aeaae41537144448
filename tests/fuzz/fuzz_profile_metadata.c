/*
 * tests/fuzz/fuzz_profile_metadata.c - memtrack.metadata of a folder that somebody else made.
 */
#include "report/profile_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "/bin/a", "/lib/b.so", "" };
	const struct mt_profile_located *located;
	const struct mt_profile_module *module;
	struct mt_profile_modules *modules;
	char *text = malloc(size + 1);
	size_t i, k, n = 0;
	uint8_t id[20];

	if (!text || size > 1 << 20) {
		free(text);
		return 0;
	}
	memcpy(text, data, size);
	if (mt_profile_modules_parse(text, size, &modules))
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(paths); i++) {
		module = mt_profile_modules_named(modules, paths[i]);
		if (!module)
			continue;
		n += strlen(module->key) + strlen(module->path);
		for (k = 0; k < module->n_sections; k++)
			n += strlen(module->sections[k].name);
		for (k = 0; k < module->n_located; k++) {
			located = mt_profile_locate(module, module->located[k].svma);
			if (located)
				n += strlen(located->file);
		}
		if (!mt_profile_modules_find(modules, module->build_id, module->n_build_id))
			abort();
	}
	memset(id, 0xab, sizeof(id));
	mt_profile_modules_find(modules, id, sizeof(id));
	mt_profile_modules_free(modules);
	return n > SIZE_MAX / 2;
}
