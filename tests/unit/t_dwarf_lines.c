/* Functions, files and lines from DWARF, with binutils' addr2line as the oracle. */
#include "report/dwarf_lines.h"

#include "common/error.h"
#include "report/module.h"
#include "report/symbols.h"
#include "tests/unit/elf_fixture.h"

#include <inttypes.h>

static struct mt_module *module;
static struct mt_symbols *symbols;
static struct mt_lines *lines;
static struct mt_line_frame frames[MT_LINE_FRAMES_MAX];

static int try_load(const char *path)
{
	struct mt_file file = file_at(path);

	lines = NULL;
	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_assert_eq(mt_module_status(module), MT_MODULE_VERIFIED);
	cr_assert_eq(mt_symbols_load(module, &symbols), 0);
	return mt_lines_load(module, &lines);
}

static void load(const char *path)
{
	cr_assert_eq(try_load(path), 0, "%s", path);
}

static void unload(void)
{
	mt_lines_free(lines);
	mt_symbols_free(symbols);
	mt_module_free(module);
}

static const struct mt_symbol *named(const char *name)
{
	size_t i;

	for (i = 0; i < mt_symbols_count(symbols); i++) {
		if (!strcmp(mt_symbols_at(symbols, i)->name, name))
			return mt_symbols_at(symbols, i);
	}
	cr_assert_fail("no symbol %s", name);
	return NULL;
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "??";
}

/*
 * Every address of every function: as many frames as addr2line finds, at the same lines of the same
 * files, with the same names.
 */
static size_t compare_with_addr2line(const char *path)
{
	const struct mt_symbol *symbol;
	char want[512], have[512], *name, *colon;
	size_t i, n, k, compared = 0;
	uint64_t svma;
	FILE *list, *out;

	list = fopen(in_dir("addresses"), "w");
	cr_assert_not_null(list);
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		symbol = mt_symbols_at(symbols, i);
		for (svma = symbol->addr; symbol->function && symbol->sized &&
		     svma < symbol->addr + symbol->size; svma++)
			fprintf(list, "0x%" PRIx64 "\n", svma);
	}
	fclose(list);
	run("addr2line -a -i -f -e %s < $D/addresses > $D/oracle", path);
	out = fopen(in_dir("oracle"), "r");
	cr_assert_not_null(out);

	n = k = 0;
	while (fgets(want, sizeof(want), out)) {
		want[strcspn(want, "\n")] = 0;
		if (!strncmp(want, "0x", 2)) {
			cr_expect_eq(k, n, "%zu frames, not %zu", n, k);
			n = mt_lines_find(lines, strtoull(want, NULL, 16), frames);
			k = 0;
			continue;
		}
		name = strdup(want);
		cr_assert_not_null(fgets(want, sizeof(want), out));
		want[strcspn(want, "\n")] = 0;
		colon = strchr(want, ' ');	/* "(discriminator 2)" */
		if (colon)
			*colon = 0;
		/* It falls back on the symbol table. */
		if (!n && !strcmp(strrchr(want, ':'), ":?")) {
			free(name);
			continue;
		}
		cr_assert_lt(k, n, "only %zu frames: %s %s", n, name, want);
		snprintf(have, sizeof(have), "%s:%u", base_of(frames[k].file), frames[k].line);
		colon = strrchr(want, ':');
		/* ":?": it knows less (split units, functions in several sections). */
		if (!strcmp(colon, ":0"))
			cr_expect_eq(frames[k].line, 0, "%s: line %u", name, frames[k].line);
		else if (strcmp(colon, ":?"))
			cr_expect_str_eq(have, base_of(want), "%s: %s is not %s", name, have, want);
		/*
		 * For the outermost, addr2line may say the symbol's name; for those without
		 * linkage name it says the next one's.
		 */
		if (k + 1 < n && frames[k].linkage)
			cr_expect_str_eq(frames[k].linkage, name, "%s is not %s", frames[k].linkage,
					 name);
		free(name);
		k++;
		compared += strcmp(colon, ":?") != 0;
	}
	fclose(out);
	return compared;
}

TestSuite(dwarf_lines, .init = elf_fixture_begin, .fini = elf_fixture_end, .timeout = 120);

static void build(const char *flags, const char *name)
{
	run("S=$PWD/$S; cd $D; g++ %s -fPIC -c $S/inlines.cc -o i.o;"
	    "gcc %s -fPIC -c $S/calls.c -o c.o; g++ %s -fPIC -shared i.o c.o -o %s", flags, flags,
	    flags, name);
}

/* outer() of inlines.cc, built with these flags. */
static void check_inlined_calls(const char *flags)
{
	static const char *const names[] = {
		"(anonymous namespace)::innermost", "_ZN3inl4poolIlE4makeEm", "inl::middle",
		"_ZN3inl5outerEm",
	};
	static const uint32_t at[] = { 8, 18, 24, 29 };
	const struct mt_symbol *outer;
	size_t n, k, found = 0;
	uint64_t svma;

	build(flags, "a.so");
	load(in_dir("a.so"));
	outer = named("_ZN3inl5outerEm");
	for (svma = outer->addr; svma < outer->addr + outer->size; svma++) {
		n = mt_lines_find(lines, svma, frames);
		cr_assert_geq(n, 1, "%s", flags);
		cr_expect_str_eq(frames[n - 1].linkage, "_ZN3inl5outerEm");
		cr_expect_eq(frames[n - 1].entry, outer->addr);
		cr_expect_str_eq(base_of(frames[n - 1].file), "inlines.cc");
		if (n != 4 || frames[0].line != 8)
			continue;
		found++;
		for (k = 0; k < n; k++) {
			const char *name = frames[k].linkage ? frames[k].linkage : frames[k].name;

			cr_expect_str_eq(name, names[k], "%s: %s", flags, name);
			cr_expect_eq(frames[k].line, at[k], "%s: line %u", name, frames[k].line);
			cr_expect_str_eq(base_of(frames[k].file), "inlines.cc");
			cr_expect_eq(frames[k].file[0], '/', "%s", frames[k].file);
		}
	}
	cr_assert_gt(found, 0, "%s", flags);
	unload();
	run("rm $D/a.so");
}

Test(dwarf_lines, inlined_calls_in_order)
{
	check_inlined_calls("-g -O2");
	check_inlined_calls("-gdwarf-4 -O2");
	check_inlined_calls("-gdwarf-4 -O2 -fdebug-types-section");
	check_inlined_calls("-gdwarf-5 -O2 -fdebug-types-section");
	check_inlined_calls("-gdwarf-4 -O2 -gsplit-dwarf");
	check_inlined_calls("-gdwarf-5 -O2 -gsplit-dwarf");
	check_inlined_calls("-g -O2 -flto");
}

Test(dwarf_lines, agree_with_addr2line)
{
	static const char *const flags[] = {
		"-g -O2", "-gdwarf-4 -O2", "-gdwarf-5 -O2", "-g -O0", "-g -O3 -ffunction-sections",
		"-g -O2 -gz=zlib", "-gdwarf-4 -O2 -gz=zlib-gnu",
		"-g1 -O2", "-gdwarf-3 -O2", "-gdwarf-2 -gstrict-dwarf -O2",
	};
	size_t i, n;

	for (i = 0; i < MT_ARRAY_SIZE(flags); i++) {
		build(flags[i], "a.so");
		load(in_dir("a.so"));
		n = compare_with_addr2line(in_dir("a.so"));
		cr_assert_gt(n, 200, "%s: %zu", flags[i], n);
		unload();
		run("rm $D/a.so");
	}
}

/* addr2line follows these only in part: it gets the same code, neither split nor compressed. */
Test(dwarf_lines, split_units)
{
	static const char *const flags[][2] = {
		{ "-gdwarf-5 -O2 -gsplit-dwarf", "-gdwarf-5 -O2" },
		{ "-gdwarf-4 -O2 -gsplit-dwarf", "-gdwarf-4 -O2" },
		/* It does not know .zdebug_rnglists either. */
		{ "-gdwarf-5 -O2 -gz=zlib-gnu", "-gdwarf-5 -O2" },
	};
	size_t i, n;

	for (i = 0; i < MT_ARRAY_SIZE(flags); i++) {
		build(flags[i][1], "whole.so");
		build(flags[i][0], "a.so");
		load(in_dir("a.so"));
		n = compare_with_addr2line(in_dir("whole.so"));
		cr_assert_gt(n, 200, "%s: %zu", flags[i][0], n);
		unload();
	}
}

/* Units that stand in a package beside the file, and nowhere else. */
static void check_package(const char *compilers, const char *flags, const char *packer)
{
	size_t n;

	build(flags, "whole.so");
	run("S=$PWD/$S; cd $D; rm -f *.dwo *.dwp; %s;"
	    "$CXX %s -gsplit-dwarf -fPIC -c $S/inlines.cc -o i.o;"
	    "$CC %s -gsplit-dwarf -fPIC -c $S/calls.c -o c.o;"
	    "g++ -shared i.o c.o -o a.so; %s -e a.so -o a.so.dwp; mkdir -p kept; mv *.dwo kept;"
	    "$CXX %s -fPIC -c $S/inlines.cc -o i.o; $CC %s -fPIC -c $S/calls.c -o c.o;"
	    "g++ -shared i.o c.o -o whole.so",
	    compilers, flags, flags, packer, flags, flags);
	load(in_dir("a.so"));
	n = compare_with_addr2line(in_dir("whole.so"));
	cr_assert_gt(n, 100, "%s %s: %zu", compilers, flags, n);
	unload();
	/* Without it, lines are left, and beside the file the units are found too. */
	run("cd $D; mv a.so.dwp kept");
	load(in_dir("a.so"));
	cr_expect_not(mt_lines_find(lines, named("_ZN3inl5outerEm")->addr, frames) > 0 &&
		      frames[0].linkage);
	unload();
	run("cd $D; mv kept/*.dwo .");
	load(in_dir("a.so"));
	cr_expect_gt(compare_with_addr2line(in_dir("whole.so")), 100);
	unload();
}

Test(dwarf_lines, split_units_in_a_package)
{
	check_package("CC=gcc CXX=g++", "-gdwarf-4 -O2", "dwp");
	check_package("CC=clang CXX=clang++", "-gdwarf-4 -O2", "dwp");
	/* That one of binutils 2.40 crashes on DWARF 5. */
	check_package("CC=gcc CXX=g++", "-gdwarf-5 -O2", "llvm-dwp");
	check_package("CC=clang CXX=clang++", "-gdwarf-5 -O2", "llvm-dwp");
}

/* gcc cannot do it yet, and libelf not undo it. */
Test(dwarf_lines, sections_packed_by_zstd)
{
	static const char *const flags[] = { "-gdwarf-5 -O2", "-gdwarf-4 -O2" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(flags); i++) {
		build(flags[i], "a.so");
		run("objcopy --compress-debug-sections=zstd $D/a.so;"
		    "objcopy --only-keep-debug $D/a.so $D/a.debug");
		cr_assert_str_neq(output_of("readelf -tW $D/a.so | grep ZSTD"), "");
		load(in_dir("a.so"));
		cr_assert_gt(compare_with_addr2line(in_dir("a.so")), 200);
		unload();
		/* In a separate debug file, too. */
		run("strip $D/a.so; objcopy --add-gnu-debuglink=$D/a.debug $D/a.so");
		load(in_dir("a.so"));
		cr_assert_gt(compare_with_addr2line(in_dir("a.debug")), 200);
		unload();
	}
}

Test(dwarf_lines, separate_debug_file)
{
	size_t n;

	run("g++ -g -O2 -fPIC -shared $S/inlines.cc -o $D/full.so; cp $D/full.so $D/a.so;"
	    "objcopy --only-keep-debug $D/a.so $D/a.debug; strip $D/a.so");
	cr_assert_eq(try_load(in_dir("a.so")), -MT_E_NO_DATA);
	unload();
	run("objcopy --add-gnu-debuglink=$D/a.debug $D/a.so");
	load(in_dir("a.so"));
	n = compare_with_addr2line(in_dir("full.so"));
	cr_assert_gt(n, 200);
	unload();
}

/* The names stand in the supplementary file: without it, or with another, there are no lines. */
Test(dwarf_lines, supplementary_file)
{
	const struct mt_symbol *outer;
	uint64_t svma;
	size_t n = 0;

	run("cp $S/dwz.so $S/dwz-common.debug $D");
	load(in_dir("dwz.so"));
	outer = named("_ZN3inl5outerEm");
	for (svma = outer->addr; n != 4 && svma < outer->addr + outer->size; svma++)
		n = mt_lines_find(lines, svma, frames);
	cr_assert_eq(n, 4);
	cr_expect_str_eq(frames[0].name, "(anonymous namespace)::innermost");
	cr_expect_str_eq(frames[1].linkage, "_ZN3inl4poolIlE4makeEm");
	cr_expect_str_eq(frames[2].name, "inl::middle");
	cr_expect_str_eq(frames[3].linkage, "_ZN3inl5outerEm");
	cr_expect_str_eq(frames[3].file, "/src/inlines.cc");
	unload();

	run("cp $S/dwz.so $D/dwz-common.debug");
	cr_expect_eq(try_load(in_dir("dwz.so")), -MT_E_NO_DATA);
	unload();
	run("rm $D/dwz-common.debug");
	cr_expect_eq(try_load(in_dir("dwz.so")), -MT_E_NO_DATA);
	unload();
}

Test(dwarf_lines, no_debug_information)
{
	run("cc -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	cr_assert_eq(try_load(in_dir("a.so")), -MT_E_NO_DATA);
	unload();
	mt_lines_free(NULL);
}

Test(dwarf_lines, addresses_outside)
{
	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	load(in_dir("a.so"));
	cr_expect_eq(mt_lines_find(lines, 0, frames), 0);
	cr_expect_eq(mt_lines_find(lines, UINT64_MAX, frames), 0);
	cr_expect_eq(mt_lines_find(lines, named("calls_data")->addr, frames), 0);
	unload();
}

Test(dwarf_lines, function_inside_a_function)
{
	uint64_t svma;
	size_t i, n;

	run("printf 'int f(int a)\\n{\\n__attribute__((noinline)) int in(int b)\\n{\\n"
	    "return a * b;\\n}\\nreturn in(a + 1) + in(a + 2);\\n}\\n' > $D/n.c;"
	    "cc -g -O1 -fPIC -shared $D/n.c -o $D/a.so");
	load(in_dir("a.so"));
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		if (!strncmp(mt_symbols_at(symbols, i)->name, "in.", 3))
			break;
	}
	cr_assert_lt(i, mt_symbols_count(symbols));
	svma = mt_symbols_at(symbols, i)->addr;
	n = mt_lines_find(lines, svma, frames);
	cr_assert_eq(n, 1);
	cr_expect_str_eq(frames[0].name, "in");
	cr_expect_str_eq(base_of(frames[0].file), "n.c");
	unload();
}

/* Each byte of the DWARF sections changed in turn: any answer, but an answer. */
Test(dwarf_lines, damaged_dwarf_never_crashes, .timeout = 300)
{
	static const char *const names[] = {
		".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_str",
		".debug_line_str", ".debug_aranges",
	};
	size_t n, i, at, offset, size, tried = 0;
	const char *path;
	uint64_t svma, first, last;
	uint8_t *bytes;

	run("cc -gdwarf-5 -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	load(in_dir("a.so"));
	first = named("calls_global")->addr & ~0xffull;
	last = first + 0x200;
	unload();
	bytes = read_file(in_dir("a.so"), &n);
	path = strdup(in_dir("damaged"));
	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		offset = strtoull(output_of("readelf -SW $D/a.so | sed 's/^ *\\[ *[0-9]*\\] *//' | "
					    "awk '$1==\"%s\"{print $4}'", names[i]), NULL, 16);
		size = strtoull(output_of("readelf -SW $D/a.so | sed 's/^ *\\[ *[0-9]*\\] *//' | "
					  "awk '$1==\"%s\"{print $5}'", names[i]), NULL, 16);
		cr_assert(offset + size <= n);
		for (at = offset; at < offset + size; at++) {
			bytes[at] ^= 0xff;
			write_file(path, bytes, n);
			bytes[at] ^= 0xff;
			tried++;
			if (!try_load(path)) {
				for (svma = first; svma < last; svma += 3)
					mt_lines_find(lines, svma, frames);
			}
			unload();
		}
	}
	cr_assert_gt(tried, 1000);
	free((char *)path);
	free(bytes);
}
