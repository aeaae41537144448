/* What tests of modules ask again and again. */
#ifndef MODULE_FIXTURE_H
#define MODULE_FIXTURE_H

#include "common/error.h"
#include "report/module.h"
#include "tests/unit/elf_fixture.h"

static inline struct mt_module *open_at(const char *path)
{
	struct mt_file file = file_at(path);
	struct mt_module *module;

	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	return module;
}

static inline struct mt_module *open_verified(const char *path)
{
	struct mt_module *module = open_at(path);

	cr_assert_eq(mt_module_status(module), MT_MODULE_VERIFIED, "%s: %s", path,
		     mt_module_reason(module));
	cr_assert_str_eq(mt_module_reason(module), "");
	return module;
}

static inline void expect_refused(const struct mt_file *file, enum mt_module_status status,
				  const char *reason)
{
	const struct mt_module_segment *segments;
	uint8_t id[MT_BUILD_ID_MAX];
	struct mt_section section;
	struct mt_module *module;
	uint64_t bias;

	cr_assert_eq(mt_module_open(file, NULL, &module), 0);
	cr_expect_eq(mt_module_status(module), status, "status %s",
		     mt_module_status_name(mt_module_status(module)));
	cr_expect_str_eq(mt_module_reason(module), reason);
	/* It answers nothing. */
	cr_expect_eq(mt_module_segments(module, &segments), 0);
	cr_expect_eq(mt_module_build_id(module, id), 0);
	mt_module_section(module, ".text", &section);
	cr_expect_null(section.data);
	cr_expect_eq(mt_module_load_bias(module, 0x1000, 0x1000, 0, &bias), -MT_E_NO_DATA);
	cr_expect_str_eq(mt_module_debug_path(module), "");
	cr_expect_null(mt_module_elf(module));
	cr_expect_null(mt_module_debug_elf(module));
	cr_expect_null(mt_module_dwarf(module));
	cr_expect_eq(mt_module_symbol_count(module, MT_TABLE_DEBUG_SYMTAB), 0);
	mt_module_free(module);
}

#endif
