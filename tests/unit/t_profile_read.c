/* Modules out of profile folders: of real files, of other people, of nobody. */
#include "report/profile_read.h"

#include "common/error.h"
#include "report/cfi.h"
#include "report/dwarf_lines.h"
#include "report/json_read.h"
#include "report/profile_folder.h"
#include "report/session.h"
#include "report/symbolize.h"
#include "report/symbols.h"
#include "tests/unit/elf_fixture.h"

#include <errno.h>

static struct mt_file file;
static struct mt_module *module;
static struct mt_profile_modules *folder;

/* A library is mapped, and what is known of it is written to the folder p. */
static void write_folder(const char *flags)
{
	static struct mt_lifecycle life = {
		.type = MT_LC_START, .process = 0, .pid = 7, .name = "p", .path = "",
	};
	struct mt_mapping map = { .time = 5, .type = MT_MAP_MAP };
	struct mt_symbolizer *symbolizer;
	struct mt_session *session;

	run("cc %s -shared -fPIC $S/calls.c -o $D/lib.so", flags);
	file = file_at(in_dir("lib.so"));
	map.start = 0x7f0000001000;
	map.end = 0x7f0000002000;
	map.offset = 0x1000;
	map.dev_major = file.dev_major;
	map.dev_minor = file.dev_minor;
	map.ino = file.ino;
	map.path = file.path;
	cr_assert_eq(mt_session_build(&life, 1, &map, 1, &session), 0);
	cr_assert_eq(mt_symbolizer_new(session, NULL, &symbolizer), 0);
	cr_assert_eq(mt_profile_folder_write(in_dir("p"), session, symbolizer, NULL, NULL), 0);
	mt_symbolizer_free(symbolizer);
	mt_session_free(session);

	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	file.n_build_id = (uint32_t)mt_module_build_id(module, file.build_id);
	cr_assert_gt(file.n_build_id, 0);
}

static struct mt_module *open_from_folder(void)
{
	struct mt_module_options options = { .debug_dir = "/nonexistent" };
	struct mt_module *from;

	cr_assert_eq(mt_profile_modules_open(in_dir("p"), &folder), 0);
	options.profile = folder;
	cr_assert_eq(mt_module_open(&file, &options, &from), 0);
	return from;
}

static void end(struct mt_module *from)
{
	mt_module_free(from);
	mt_module_free(module);
	mt_profile_modules_free(folder);
}

/* Every symbol, and the function that every address is in. */
static void same_symbols(struct mt_module *from)
{
	struct mt_symbols *here, *there;
	const struct mt_symbol *a, *b;
	uint64_t svma;
	size_t i;

	cr_assert_eq(mt_symbols_load(module, &here), 0);
	cr_assert_eq(mt_symbols_load(from, &there), 0);
	cr_assert_gt(mt_symbols_count(here), 10);
	cr_assert_eq(mt_symbols_count(here), mt_symbols_count(there));
	for (i = 0; i < mt_symbols_count(here); i++) {
		a = mt_symbols_at(here, i);
		b = mt_symbols_at(there, i);
		cr_expect_str_eq(a->name, b->name);
		cr_expect(a->addr == b->addr && a->size == b->size && a->function == b->function &&
			  a->global == b->global && a->weak == b->weak && a->label == b->label,
			  "%s", a->name);
	}
	for (svma = 0; svma < 0x5000; svma++) {
		a = mt_symbols_find(here, svma);
		b = mt_symbols_find(there, svma);
		cr_assert_eq(!a, !b, "%lx", svma);
		if (a)
			cr_assert_str_eq(a->name, b->name);
	}
	mt_symbols_free(here);
	mt_symbols_free(there);
}

static void same_rows(struct mt_module *from)
{
	struct mt_cfi *here, *there;
	const struct mt_cfi_rules *a, *b;
	uint64_t at_a, at_b;
	size_t i;

	cr_assert_eq(mt_cfi_compile(module, &here), 0);
	cr_assert_eq(mt_cfi_compile(from, &there), 0);
	cr_assert_gt(mt_cfi_rows(here), 10);
	cr_assert_eq(mt_cfi_rows(here), mt_cfi_rows(there));
	for (i = 0; i < mt_cfi_rows(here); i++) {
		a = mt_cfi_row(here, i, &at_a);
		b = mt_cfi_row(there, i, &at_b);
		cr_assert_eq(at_a, at_b);
		cr_assert_eq(!a, !b);
		if (!a)
			continue;
		cr_expect(a->cfa_value == b->cfa_value && a->cfa_reg == b->cfa_reg &&
			  a->n_rules == b->n_rules && a->flags == b->flags);
		cr_expect_eq(memcmp(a->list, b->list, a->n_rules * sizeof(*a->list)), 0);
	}
	for (at_a = 0; at_a < 0x5000; at_a++)
		cr_assert_eq(mt_cfi_is_entry(here, at_a), mt_cfi_is_entry(there, at_a));
	mt_cfi_free(here);
	mt_cfi_free(there);
}

Test(profile_read, a_module_is_what_it_was, .init = elf_fixture_begin, .fini = elf_fixture_end)
{
	uint64_t bias_a, bias_b;
	struct mt_module *from;

	write_folder("-O2 -fasynchronous-unwind-tables");
	from = open_from_folder();
	cr_assert_eq(mt_module_status(from), MT_MODULE_VERIFIED, "%s", mt_module_reason(from));
	cr_expect_eq(mt_module_machine(from), mt_module_machine(module));
	cr_expect_eq(mt_module_entry(from), mt_module_entry(module));
	cr_expect_eq(mt_module_base_svma(from), mt_module_base_svma(module));
	cr_assert_eq(mt_module_load_bias(module, 0x7000, 0x1000, 0x1000, &bias_a), 0);
	cr_assert_eq(mt_module_load_bias(from, 0x7000, 0x1000, 0x1000, &bias_b), 0);
	cr_expect_eq(bias_a, bias_b);
	same_symbols(from);
	same_rows(from);
	end(from);
}

Test(profile_read, functions_have_their_lines, .init = elf_fixture_begin, .fini = elf_fixture_end)
{
	struct mt_line_frame a[MT_LINE_FRAMES_MAX], b[MT_LINE_FRAMES_MAX];
	struct mt_lines *here, *there;
	struct mt_symbols *symbols;
	const struct mt_symbol *symbol;
	struct mt_module *from;
	size_t i, n, located = 0;

	write_folder("-g -O2");
	from = open_from_folder();
	cr_assert_eq(mt_lines_load(module, &here), 0);
	cr_assert_eq(mt_lines_load(from, &there), 0);
	cr_assert_eq(mt_symbols_load(module, &symbols), 0);
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		symbol = mt_symbols_at(symbols, i);
		n = mt_lines_find(here, symbol->addr, a);
		cr_assert_eq(mt_lines_find(there, symbol->addr + symbol->size - 1, b), n > 0,
			     "%s", symbol->name);
		if (!n)
			continue;
		located++;
		cr_expect_str_eq(a[n - 1].file, b->file);
		cr_expect_eq(a[n - 1].line, b->line);
		cr_expect_str_eq(a[n - 1].name, b->name);
	}
	cr_expect_gt(located, 3);
	mt_symbols_free(symbols);
	mt_lines_free(here);
	mt_lines_free(there);
	end(from);
}

Test(profile_read, another_build_id_is_refused, .init = elf_fixture_begin, .fini = elf_fixture_end)
{
	char want[2 * MT_BUILD_ID_MAX + 1] = "";
	struct mt_module *from;
	size_t i;

	write_folder("-O2");
	/* The file is gone; the folder has another one of its name. */
	run("rm $D/lib.so");
	file.build_id[0] ^= 1;
	for (i = 0; i < file.n_build_id; i++)
		snprintf(want + 2 * i, 3, "%02x", file.build_id[i]);
	from = open_from_folder();
	cr_expect_eq(mt_module_status(from), MT_MODULE_CHANGED);
	cr_expect_not_null(strstr(mt_module_reason(from), "profile folder: build-id "));
	cr_expect_not_null(strstr(mt_module_reason(from), want), "%s", mt_module_reason(from));
	cr_expect_not_null(strstr(mt_module_reason(from), " would fit"));
	mt_module_free(from);
	/* One of another name is not here at all. */
	mt_profile_modules_free(folder);
	file.path = "/other/name.so";
	from = open_from_folder();
	cr_expect_eq(mt_module_status(from), MT_MODULE_GONE);
	end(from);
}

/* What others can make of a folder. */
Test(profile_read, damaged_folders, .init = elf_fixture_begin, .fini = elf_fixture_end)
{
	static const char *const damage[] = {
		"echo 1 >> $D/p/0__lib.so.symbols.map",
		"echo '10 10 another' >> $D/p/0__lib.so.symbols.map",
		"echo 'x 10 f' > $D/p/0__lib.so.symbols.map",
		": > $D/p/0__lib.so.symbols.map",
		"rm $D/p/0__lib.so.symbols.map",
		"truncate -s -1 $D/p/0__lib.so.unwind_data",
		"echo >> $D/p/0__lib.so.unwind_data",
		"truncate -s 20 $D/p/0__lib.so.unwind_data",
		"mv $D/p/0__lib.so.unwind_data $D/away; ln -s $D/away $D/p/0__lib.so.unwind_data",
		"rm $D/p/0__lib.so.unwind_data; mkfifo $D/p/0__lib.so.unwind_data",
		"sed -i 's,0__lib.so,0__/../p/0__lib.so,g' $D/p/memtrack.metadata",
		"sed -i 's,\"0__lib,\"../p/0__lib,g' $D/p/memtrack.metadata",
	};
	struct mt_module *from;
	size_t i;

	write_folder("-O2");
	run("rm $D/lib.so; cp -r $D/p $D/good");
	from = open_from_folder();
	cr_assert_eq(mt_module_status(from), MT_MODULE_VERIFIED);
	mt_module_free(from);
	mt_profile_modules_free(folder);
	for (i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		run("rm -rf $D/p; cp -r $D/good $D/p; %s", damage[i]);
		from = open_from_folder();
		cr_expect_eq(mt_module_status(from), MT_MODULE_UNREADABLE, "%s", damage[i]);
		cr_expect_not_null(strstr(mt_module_reason(from), "in the profile folder"));
		mt_module_free(from);
		mt_profile_modules_free(folder);
	}
	folder = NULL;
	run("rm -rf $D/p; mkdir $D/p");
	cr_expect_eq(mt_profile_modules_open(in_dir("p"), &folder), -ENOENT);
	run("echo '{\"version\":2}' > $D/p/memtrack.metadata");
	cr_expect_eq(mt_profile_modules_open(in_dir("p"), &folder), -MT_E_CORRUPT);
	run("rm -r $D/p");
	cr_expect_eq(mt_profile_modules_open(in_dir("p"), &folder), -ENOENT);
	mt_module_free(module);
}

static int parse(const char *text)
{
	struct mt_profile_modules *modules = NULL;
	int err = mt_profile_modules_parse(strdup(text), strlen(text), &modules);

	mt_profile_modules_free(modules);
	return err;
}

Test(profile_read, metadata_of_others)
{
	static const char *const good[] = {
		"{\"version\":1}", " { \"version\" : 1 , \"x\" : [ 1.5e-3 , null ] } \n",
		"{\"modules\":{},\"version\":1}",
		"{\"version\":1,\"modules\":{\"0__a\":{\"build_id\":\"aB\",\"path\":\"/a\"}}}",
	};
	static const char *const bad[] = {
		"", "{}", "[]", "{\"version\":1", "{\"version\":1}}", "{\"version\":1,}",
		"{\"version\":1 \"x\":2}", "{\"version\":-1}", "{\"version\":1.0}",
		"{\"version\":1,\"x\":[}]}", "{\"version\":1,\"x\":\"\\u0000\"}",
		"{\"version\":1,\"x\":\"\\q\"}", "{\"version\":1,\"x\":\"\\u12\"}",
		"{\"version\":1,\"x\":\"\n\"}", "{\"version\":1,\"x\":18446744073709551616,"
		"\"version\":18446744073709551616}",
		"{\"version\":1,\"modules\":[]}", "{\"version\":1,\"modules\":{\"0__a\":{}}}",
		"{\"version\":1,\"modules\":{\"0__a\":{\"build_id\":\"abc\",\"path\":\"/a\"}}}",
		"{\"version\":1,\"modules\":{\"0__a\":{\"build_id\":\"\",\"path\":\"/a\"}}}",
		"{\"version\":1,\"modules\":{\"0__a\":{\"build_id\":\"zz\",\"path\":\"/a\"}}}",
		"{\"version\":1,\"debug_info\":{\"0__a\":{\"debug_infos\":[{\"addr\":1}]}}}",
	};
	char deep[512];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_expect_eq(parse(good[i]), 0, "%s", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_eq(parse(bad[i]), -MT_E_CORRUPT, "%s", bad[i]);
	/* Deeper than it goes. */
	memset(deep, '[', sizeof(deep));
	memcpy(deep, "{\"x\":", 5);
	deep[sizeof(deep) - 1] = 0;
	cr_expect_eq(parse(deep), -MT_E_CORRUPT);
}

Test(profile_read, json_strings)
{
	char text[] = "[\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\","
		      "\"\\ud83dx\\ude00\\ud83d\\u0041\",\"\",18446744073709551615,null]";
	struct mt_json_in in;

	mt_json_in_init(&in, text, sizeof(text) - 1);
	cr_assert(mt_json_in_array(&in));
	cr_assert(mt_json_in_element(&in));
	cr_expect_str_eq(mt_json_in_string(&in), "a\"\\/\b\f\n\r\t");
	cr_assert(mt_json_in_element(&in));
	cr_expect_str_eq(mt_json_in_string(&in), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	cr_assert(mt_json_in_element(&in));
	cr_expect_str_eq(mt_json_in_string(&in),
			 "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd" "A");
	cr_assert(mt_json_in_element(&in));
	cr_expect_str_eq(mt_json_in_string(&in), "");
	cr_assert(mt_json_in_element(&in));
	cr_expect_eq(mt_json_in_u64(&in), UINT64_MAX);
	cr_assert(mt_json_in_element(&in));
	cr_expect(mt_json_in_null(&in));
	cr_expect(!mt_json_in_element(&in));
	cr_expect(mt_json_in_done(&in));
}
