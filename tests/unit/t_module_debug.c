/* The debug file of a module, where it can be. */
#include "report/module.h"

#include "tests/unit/module_fixture.h"

TestSuite(module_debug, .init = elf_fixture_begin, .fini = elf_fixture_end);

/* Strip a.so into a.so and a debug file called $2, linked to it. */
#define SPLIT \
	"split() { objcopy --only-keep-debug $D/$1 $D/$2; strip $D/$1; " \
	"objcopy --add-gnu-debuglink=$D/$2 $D/$1; }; "

Test(module_debug, debug_file_by_link)
{
	static const char *const places[] = { "a.debug", ".debug/a.debug" };
	struct mt_module *module;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(places); i++) {
		run(SPLIT "cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; mkdir -p $D/.debug;"
		    "split a.so a.debug; [ %s = a.debug ] || mv $D/a.debug $D/%s", places[i],
		    places[i]);
		module = open_verified(in_dir("a.so"));
		cr_expect_str_eq(mt_module_debug_path(module), in_dir(places[i]));
		cr_expect_not_null(mt_module_debug_elf(module));
		cr_expect_not_null(mt_module_dwarf(module));
		cr_expect_eq(mt_module_symbol_count(module, MT_TABLE_SYMTAB), 0);
		cr_expect_gt(mt_module_symbol_count(module, MT_TABLE_DEBUG_SYMTAB), 10);
		mt_module_free(module);
		run("rm -f $D/a.debug $D/.debug/*");
	}
}

Test(module_debug, debug_file_by_build_id_and_under_debug_dir)
{
	struct mt_module_options options = { .debug_dir = in_dir("debug") };
	struct mt_module *module;
	struct mt_file file;

	run(SPLIT "cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; split a.so a.debug;"
	    "id=$(readelf -n $D/a.so | sed -n 's/.*Build ID: //p');"
	    "mkdir -p $D/debug/.build-id/$(echo $id | cut -c1-2) $D/debug/$D;"
	    "cp $D/a.debug $D/debug/$D;"
	    "mv $D/a.debug $D/debug/.build-id/$(echo $id | sed 's|^..|&/|').debug");
	file = file_at(in_dir("a.so"));
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_expect_not_null(strstr(mt_module_debug_path(module), "/debug/.build-id/"));
	cr_expect_not_null(mt_module_dwarf(module));
	mt_module_free(module);

	run("rm -r $D/debug/.build-id");
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_expect_not_null(strstr(mt_module_debug_path(module), "/a.debug"));
	mt_module_free(module);
}

Test(module_debug, debug_file_of_another_build_is_refused)
{
	struct mt_module *module;

	run(SPLIT "cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; split a.so a.debug;"
	    "cc -g -O1 -fPIC -shared $S/calls.c -o $D/b.so; objcopy --only-keep-debug $D/b.so "
	    "$D/a.debug");
	module = open_verified(in_dir("a.so"));
	cr_expect_str_eq(mt_module_debug_path(module), "");
	cr_expect_null(mt_module_dwarf(module));
	mt_module_free(module);
}

Test(module_debug, debug_file_without_build_id_needs_the_checksum)
{
	struct mt_module *module;

	run(SPLIT "cc -g -O2 -fPIC -shared -Wl,--build-id=none $S/calls.c -o $D/a.so;"
	    "split a.so a.debug");
	module = open_verified(in_dir("a.so"));
	cr_expect_str_eq(mt_module_debug_path(module), in_dir("a.debug"));
	mt_module_free(module);

	run("printf x >> $D/a.debug");
	module = open_verified(in_dir("a.so"));
	cr_expect_str_eq(mt_module_debug_path(module), "");
	mt_module_free(module);
}
