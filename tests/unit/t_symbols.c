/* Symbols: what is listed, with which sizes, and which function an address is in. */
#include "report/symbols.h"

#include "report/module.h"
#include "tests/unit/elf_fixture.h"

#include <inttypes.h>
#include <time.h>

static struct mt_module *module;
static struct mt_symbols *symbols;

static void load(const char *path)
{
	struct mt_file file = file_at(path);

	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_assert_eq(mt_module_status(module), MT_MODULE_VERIFIED);
	cr_assert_eq(mt_symbols_load(module, &symbols), 0);
}

static void unload(void)
{
	mt_symbols_free(symbols);
	mt_module_free(module);
}

static const struct mt_symbol *named(const char *name)
{
	const struct mt_symbol *symbol, *found = NULL;
	size_t i;

	for (i = 0; i < mt_symbols_count(symbols); i++) {
		symbol = mt_symbols_at(symbols, i);
		if (!strcmp(symbol->name, name)) {
			cr_assert_null(found, "%s is listed twice", name);
			found = symbol;
		}
	}
	return found;
}

static void expect_find(uint64_t svma, const char *name)
{
	const struct mt_symbol *symbol = mt_symbols_find(symbols, svma);

	if (name) {
		cr_expect_not_null(symbol, "nothing at 0x%" PRIx64 ", not %s", svma, name);
		if (symbol)
			cr_expect_str_eq(symbol->name, name, "at 0x%" PRIx64 ": %s is not %s", svma,
					 symbol->name, name);
	} else {
		cr_expect_null(symbol, "%s at 0x%" PRIx64, symbol ? symbol->name : "", svma);
	}
}

TestSuite(symbols, .init = elf_fixture_begin, .fini = elf_fixture_end);

Test(symbols, lookup_in_awkward_arrangements)
{
	uint64_t base;

	run("cc -shared -nostdlib $S/overlap.S -o $D/overlap.so");
	load(in_dir("overlap.so"));
	cr_assert_not_null(named("outer"));
	base = named("outer")->addr;
	if (base)
		expect_find(base - 1, NULL);
	expect_find(base, "outer");
	expect_find(base + 0x0f, "outer");
	expect_find(base + 0x10, "inner");
	expect_find(base + 0x1f, "inner");
	expect_find(base + 0x20, "outer");
	expect_find(base + 0x37, "outer");
	expect_find(base + 0x38, "crossing");
	expect_find(base + 0x47, "crossing");
	/* Not the nearest one before, and no data. */
	expect_find(base + 0x48, NULL);
	expect_find(base + 0x50, NULL);
	expect_find(base + 0x5f, NULL);
	/* Global, fewest underscores, shortest; alias_long where the others have ended. */
	expect_find(base + 0x60, "_alias_global");
	expect_find(base + 0x6f, "_alias_global");
	expect_find(base + 0x70, "alias_long");
	expect_find(base + 0x80, "unsized");
	expect_find(base + 0x8f, "unsized");
	expect_find(base + 0x90, NULL);
	/* No function is there, but a label without a type, up to the next symbol. */
	expect_find(base + 0xa0, "label");
	expect_find(base + 0xaf, "label");
	expect_find(base + 0xb0, "$dollar");
	expect_find(base + 0xb3, "$dollar");
	expect_find(base + 0xb4, NULL);
	expect_find(0, NULL);
	expect_find(UINT64_MAX, NULL);
	unload();
}

Test(symbols, sizes_and_what_is_left_out)
{
	uint64_t base;

	run("cc -shared -nostdlib $S/overlap.S -o $D/overlap.so");
	load(in_dir("overlap.so"));
	base = named("outer")->addr;
	cr_expect_eq(named("outer")->size, 0x40);
	cr_expect(named("outer")->sized && named("outer")->function && named("outer")->global);
	cr_expect(named("alias_weak")->global);
	cr_expect(!named("inner")->global);
	cr_expect_eq(named("unsized")->size, 0x10);
	cr_expect(!named("unsized")->sized);
	cr_expect_eq(named("table_in_text")->size, 0x10);
	cr_expect(!named("table_in_text")->function);
	/* To $dollar: the mapping symbols between do not count. */
	cr_expect_eq(named("label")->size, 0x10);
	cr_expect_null(named("$d"));
	cr_expect_null(named("$x.5"));
	cr_expect_not_null(named("$dollar"));
	/* Zero-size and at the same address as the next. */
	cr_expect_null(named("base"));
	cr_expect_null(named("undefined"));
	cr_expect_null(named("thread_local"));
	cr_expect_null(named("absolute"));
	/* The size reaches into what follows; the lookup does not. */
	cr_expect_gt(named("last_unsized")->size, 0x10);
	expect_find(base + 0x1ff, "last_unsized");
	expect_find(base + 0x200, NULL);
	unload();
}

/* A table of some symbols does not tell how far a label reaches; data have no code. */
Test(symbols, labels_of_stripped_files_and_of_data)
{
	uint64_t base;

	run("printf '.text\\n.globl a,b,c\\na:.fill 16,1,0x90\\nb:.fill 16,1,0x90\\n"
	    ".size b,8\\n.data\\nc:.fill 8,1,0\\n' > $D/l.s;"
	    "cc -shared -nostdlib $D/l.s -o $D/l.so");
	load(in_dir("l.so"));
	base = named("a")->addr;
	expect_find(base + 15, "a");
	expect_find(base + 23, "b");
	expect_find(base + 24, NULL);
	expect_find(named("c")->addr, NULL);
	unload();
	run("strip $D/l.so");
	load(in_dir("l.so"));
	expect_find(base, NULL);
	expect_find(base + 16, "b");
	expect_find(base + 24, NULL);
	unload();
}

Test(symbols, last_zero_size_reaches_the_page_after_the_next_boundary)
{
	const struct mt_symbol *symbol;

	run("printf '.data\\n.fill 40,1,0\\n.globl last\\nlast:\\n' > $D/l.s;"
	    "cc -shared -nostdlib $D/l.s -o $D/l.so; strip --strip-unneeded $D/l.so");
	load(in_dir("l.so"));
	symbol = named("last");
	cr_assert_not_null(symbol);
	cr_assert_eq(mt_symbols_at(symbols, mt_symbols_count(symbols) - 1), symbol);
	cr_assert_eq(symbol->size, ((symbol->addr + 4095) & ~4095ull) + 4096 - symbol->addr);
	unload();
}

/* Every (address, size, name) that nm lists for a sized symbol, and nothing else sized. */
Test(symbols, agree_with_nm)
{
	const struct mt_symbol *symbol;
	size_t i, sized = 0;
	char text[256];

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so;"
	    "(nm -S $D/a.so; nm -DS $D/a.so) | awk 'NF==4 && $3 !~ /[UNn]/ "
	    "{sub(/@.*/,\"\",$4); sub(/^0+/,\"\",$1); sub(/^0+/,\"\",$2); print $1, $2, $4}' | "
	    "sort -u > $D/nm");
	load(in_dir("a.so"));
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		symbol = mt_symbols_at(symbols, i);
		if (i)
			cr_expect_leq(symbol[-1].addr, symbol->addr);
		if (!symbol->sized)
			continue;
		sized++;
		snprintf(text, sizeof(text), "%" PRIx64 " %" PRIx64 " %s", symbol->addr,
			 symbol->size, symbol->name);
		cr_expect_str_eq(output_of("grep -Fx '%s' $D/nm", text), text);
	}
	cr_assert_gt(sized, 8);
	cr_assert_eq(sized, strtoull(output_of("wc -l < $D/nm"), NULL, 10));
	unload();
}

Test(symbols, debug_file_adds_what_the_stripped_file_lacks)
{
	size_t full;

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	load(in_dir("a.so"));
	full = mt_symbols_count(symbols);
	unload();

	run("objcopy --only-keep-debug $D/a.so $D/a.debug; cp $D/a.so $D/b.so; strip $D/b.so");
	load(in_dir("b.so"));
	cr_expect_null(named("calls_static"));
	cr_expect_not_null(named("calls_global"));
	cr_expect_lt(mt_symbols_count(symbols), full);
	unload();

	run("objcopy --add-gnu-debuglink=$D/a.debug $D/b.so");
	load(in_dir("b.so"));
	cr_assert_not_null(named("calls_static"));
	expect_find(named("calls_static")->addr, "calls_static");
	cr_expect_eq(mt_symbols_count(symbols), full);
	unload();
}

Test(symbols, none)
{
	struct mt_file file = { .path = "/nowhere", .ino = 1 };

	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_assert_eq(mt_symbols_load(module, &symbols), 0);
	cr_assert_eq(mt_symbols_count(symbols), 0);
	expect_find(0x1000, NULL);
	unload();
	mt_symbols_free(NULL);
}

/* Against a plain search through the list, on the C library of this machine. */
Test(symbols, lookup_equals_search, .timeout = 120)
{
	const struct mt_symbol *symbol, *found;
	uint64_t svma, best;
	size_t i, k, n;
	int covered = 0;

	load(output_of("readlink -f $(ldd /bin/sh | "
		       "sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p')"));
	n = mt_symbols_count(symbols);
	cr_assert_gt(n, 2000);
	for (i = 0; i < n; i += 37) {
		svma = mt_symbols_at(symbols, i)->addr + i % 5 * 7;
		best = 0;
		for (k = 0; k < n; k++) {
			symbol = mt_symbols_at(symbols, k);
			if (symbol->function && symbol->sized && symbol->addr <= svma &&
			    svma - symbol->addr < symbol->size && symbol->addr >= best)
				best = symbol->addr;
		}
		found = mt_symbols_find(symbols, svma);
		if (found && !found->sized)
			continue;
		covered += found != NULL;
		cr_expect_eq(found ? found->addr : 0, best, "at 0x%" PRIx64, svma);
	}
	cr_assert_gt(covered, 20);
	unload();
}

/* calls.c as distributions strip it: what .dynsym lacks is in .gnu_debugdata. */
static void build_mini(const char *name)
{
	run("cd $D; gcc -O2 -fPIC -shared -Wl,--build-id $OLDPWD/$S/calls.c -o %s;"
	    "nm -D %s --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic;"
	    "nm %s --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' | sort >all;"
	    "comm -13 dynamic all >keep; objcopy --only-keep-debug %s full;"
	    "objcopy -S --remove-section .comment --keep-symbols=keep full mini 2>/dev/null;"
	    "strip %s; rm -f mini.xz; xz mini;"
	    "objcopy --add-section .gnu_debugdata=mini.xz %s", name, name, name, name, name, name);
}

Test(symbols, of_debug_data_in_the_file)
{
	const struct mt_symbol *symbol;

	build_mini("mini.so");
	cr_assert_str_eq(output_of("nm $D/mini.so 2>/dev/null | grep calls_static"), "");
	load(in_dir("mini.so"));
	symbol = named("calls_static");
	cr_assert_not_null(symbol);
	expect_find(symbol->addr, "calls_static");
	expect_find(symbol->addr + symbol->size - 1, "calls_static");
	cr_expect(symbol->function && symbol->sized);
	cr_assert_not_null(named("calls_global"));
	unload();

	/* A whole table makes it superfluous. */
	run("cd $D; objcopy --only-keep-debug full mini.debug;"
	    "objcopy --add-gnu-debuglink=mini.debug mini.so");
	load(in_dir("mini.so"));
	cr_expect_gt(mt_module_symbol_count(module, MT_TABLE_DEBUG_SYMTAB), 0);
	cr_expect_eq(mt_module_symbol_count(module, MT_TABLE_MINI_SYMTAB), 0);
	cr_assert_not_null(named("calls_static"));
	unload();
}

Test(symbols, of_damaged_debug_data)
{
	static const char *const cuts[] = {
		"head -c 100 mini.xz", "head -c 5 mini.xz", "echo no xz", "tail -c +9 mini.xz",
		"echo no elf | xz", "printf ''", "head -c 600000000 /dev/zero | xz -0",
	};
	size_t i;

	build_mini("mini.so");
	for (i = 0; i < MT_ARRAY_SIZE(cuts); i++) {
		run("cd $D; %s >cut; objcopy --remove-section .gnu_debugdata mini.so cut.so;"
		    "objcopy --add-section .gnu_debugdata=cut cut.so", cuts[i]);
		load(in_dir("cut.so"));
		cr_expect_null(named("calls_static"), "%s", cuts[i]);
		cr_expect_not_null(named("calls_global"), "%s", cuts[i]);
		unload();
	}
}
