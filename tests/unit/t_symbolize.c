/* Frames of a hand-made recording to names, files and lines. */
#include "report/symbolize.h"

#include "report/session.h"
#include "report/symbols.h"
#include "tests/unit/elf_fixture.h"

#include <inttypes.h>

#define BASE 0x7f1234000000ull	/* load bias of what these tests map */

static struct mt_session *session;
static struct mt_symbolizer *symbolizer;
static const struct mt_location *locations;
static size_t n;

/* A process that maps the executable segment of each file, one after another, BASE apart. */
static void record(const char *const *paths, size_t n_paths)
{
	struct mt_lifecycle start = {
		.type = MT_LC_START, .pid = 100, .name = "test", .path = "",
	};
	const struct mt_module_segment *segments;
	struct mt_mapping maps[4] = {};
	struct mt_module *module;
	size_t i, k, count;

	for (i = 0; i < n_paths; i++) {
		struct mt_file file = file_at(paths[i]);

		cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
		count = mt_module_segments(module, &segments);
		for (k = 0; k < count && !(segments[k].flags & 1); k++)
			;
		cr_assert_lt(k, count);
		maps[i].time = 1;
		maps[i].type = MT_MAP_MAP;
		maps[i].start = BASE * (i + 1) + (segments[k].vaddr & ~0xfffull);
		maps[i].end = BASE * (i + 1) +
			      ((segments[k].vaddr + segments[k].filesz + 0xfff) & ~0xfffull);
		maps[i].offset = segments[k].offset & ~0xfffull;
		maps[i].dev_major = file.dev_major;
		maps[i].dev_minor = file.dev_minor;
		maps[i].ino = file.ino;
		maps[i].path = paths[i];
		mt_module_free(module);
	}
	cr_assert_eq(mt_session_build(&start, 1, maps, n_paths, &session), 0);
	cr_assert_eq(mt_symbolizer_new(session, NULL, &symbolizer), 0);
}

static void record_one(const char *path)
{
	char copy[256];
	const char *paths[] = { copy };

	/* The session keeps its own. */
	snprintf(copy, sizeof(copy), "%s", path);
	record(paths, 1);
}

static void done(void)
{
	mt_symbolizer_free(symbolizer);
	mt_session_free(session);
}

/* Name the frame at svma of the file mapped first. */
static void look(uint64_t svma, bool exact)
{
	struct mt_frame frame = { .pc = BASE + svma, .exact = exact };

	frame.placement = mt_session_find(session, 0, 5, frame.pc);
	cr_assert_neq(frame.placement, MT_NONE);
	cr_assert_eq(mt_symbolize(symbolizer, &frame, &locations, &n), 0);
	cr_assert_geq(n, 1);
	cr_assert_eq(locations[n - 1].offset, svma);
}

static const struct mt_symbol *named(const char *name)
{
	const struct mt_symbols *symbols = mt_symbolizer_symbols(symbolizer, 0);
	size_t i;

	cr_assert_not_null(symbols);
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		if (!strcmp(mt_symbols_at(symbols, i)->name, name))
			return mt_symbols_at(symbols, i);
	}
	cr_assert_fail("no symbol %s", name);
	return NULL;
}

static void expect_function(const char *name)
{
	const char *have = locations[n - 1].function;

	cr_expect(have && !strcmp(have, name), "%s is not %s", have ? have : "nothing", name);
}

TestSuite(symbolize, .init = elf_fixture_begin, .fini = elf_fixture_end, .timeout = 60);

Test(symbolize, inlined_calls_are_named)
{
	static const char *const names[] = {
		"(anonymous namespace)::innermost", "inl::pool<long>::make(unsigned long)",
		"inl::middle", "inl::outer(unsigned long)",
	};
	static const uint32_t lines[] = { 8, 18, 24, 29 };
	const struct mt_location *again;
	const struct mt_symbol *outer;
	uint64_t svma;
	size_t k;

	run("g++ -g -O2 -fPIC -shared $S/inlines.cc -o $D/a.so");
	record_one(in_dir("a.so"));
	cr_assert(mt_symbolizer_has_lines(symbolizer, 0));
	outer = named("_ZN3inl5outerEm");
	/* The return address of its only call, to malloc. */
	svma = strtoull(output_of("objdump -d --start-address=0x%" PRIx64 " $D/a.so | "
				  "grep -A1 'call.*malloc' | tail -1", outer->addr), NULL, 16);
	cr_assert(svma > outer->addr && svma <= outer->addr + outer->size);
	look(svma, false);
	cr_assert_eq(n, 4);
	for (k = 0; k < n; k++) {
		cr_expect_str_eq(locations[k].function, names[k]);
		cr_expect_eq(locations[k].line, lines[k]);
		cr_expect_not_null(strstr(locations[k].file, "/inlines.cc"));
		cr_expect_eq(locations[k].inlined, k + 1 < n);
		cr_expect_str_eq(locations[k].module, in_dir("a.so"));
		cr_expect_eq(locations[k].offset, svma);
	}
	cr_expect_str_eq(locations[3].linkage, "_ZN3inl5outerEm");
	again = locations;
	look(svma, false);
	cr_expect_eq(locations, again);
	done();
}

Test(symbolize, return_addresses_belong_to_the_call)
{
	const struct mt_symbol *outer;

	run("g++ -g -O2 -fPIC -shared $S/inlines.cc -o $D/a.so");
	record_one(in_dir("a.so"));
	outer = named("_ZN3inl5outerEm");
	look(outer->addr, true);
	expect_function("inl::outer(unsigned long)");
	look(outer->addr, false);
	cr_expect(!locations[n - 1].linkage || strcmp(locations[n - 1].linkage, outer->name));
	/* As after a call that never returns. */
	look(outer->addr + outer->size, false);
	expect_function("inl::outer(unsigned long)");
	look(outer->addr + outer->size, true);
	cr_expect(!locations[n - 1].linkage || strcmp(locations[n - 1].linkage, outer->name));
	done();
}

Test(symbolize, static_function_of_cxx_has_its_scopes)
{
	const struct mt_symbols *symbols;
	size_t i;

	run("g++ -g -O1 -fPIC -shared $S/inlines.cc -o $D/a.so");
	record_one(in_dir("a.so"));
	symbols = mt_symbolizer_symbols(symbolizer, 0);
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		if (strstr(mt_symbols_at(symbols, i)->name, "hiddenEl"))
			break;
	}
	cr_assert_lt(i, mt_symbols_count(symbols));
	look(mt_symbols_at(symbols, i)->addr, true);
	expect_function("inl::hidden(long)");
	done();
}

Test(symbolize, without_line_information)
{
	const struct mt_symbol *global;

	run("cc -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	record_one(in_dir("a.so"));
	cr_assert(!mt_symbolizer_has_lines(symbolizer, 0));
	global = named("calls_weak");
	look(global->addr + 4, false);
	cr_expect_eq(n, 1);
	expect_function("calls_weak");
	cr_expect_str_eq(locations[0].linkage, "calls_weak");
	cr_expect_null(locations[0].file);
	cr_expect_eq(locations[0].line, 0);
	cr_expect(!locations[0].inlined);
	cr_expect_str_eq(locations[0].module, in_dir("a.so"));
	done();
}

Test(symbolize, never_the_nearest_name)
{
	uint64_t base;

	run("cc -shared -nostdlib $S/overlap.S -o $D/overlap.so");
	record_one(in_dir("overlap.so"));
	base = named("outer")->addr;
	look(base + 0x58, true);
	cr_expect_eq(n, 1);
	cr_expect_null(locations[0].function);
	cr_expect_null(locations[0].linkage);
	cr_expect_str_eq(locations[0].module, in_dir("overlap.so"));
	done();
}

Test(symbolize, public_alias_before_internal_name)
{
	run("printf '__attribute__((noinline)) int __impl(int x)\\n{\\nreturn x * 3;\\n}\\n"
	    "int visible(int) __attribute__((alias(\"__impl\")));\\n"
	    "int also_visible(int) __attribute__((alias(\"__impl\")));\\n"
	    "__attribute__((noinline)) int own(int x)\\n{\\nreturn x * 5;\\n}\\n"
	    "int a(int) __attribute__((alias(\"own\")));\\n' > $D/a.c;"
	    "cc -g -O2 -fPIC -shared $D/a.c -o $D/a.so");
	record_one(in_dir("a.so"));
	look(named("__impl")->addr, true);
	expect_function("visible");
	cr_expect_not_null(strstr(locations[0].file, "/a.c"));
	/* DWARF's name is as good. */
	look(named("own")->addr, true);
	expect_function("own");
	done();
}

Test(symbolize, refused_module_keeps_its_path_and_offset)
{
	struct mt_frame frame = {};
	uint64_t bias;

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	record_one(in_dir("a.so"));
	run("cp $D/a.so $D/new; mv $D/new $D/a.so");
	frame.placement = mt_session_find(session, 0, 5, BASE + 0x1100);
	frame.pc = BASE + 0x1100;
	cr_assert_eq(mt_symbolize(symbolizer, &frame, &locations, &n), 0);
	cr_assert_eq(n, 1);
	cr_expect_null(locations[0].function);
	cr_expect_str_eq(locations[0].module, in_dir("a.so"));
	cr_expect_eq(locations[0].offset,
		     0x1100 - (mt_session_placement(session, frame.placement)->start - BASE) +
		     mt_session_placement(session, frame.placement)->offset);
	cr_expect_eq(mt_module_status(mt_symbolizer_module(symbolizer, 0)), MT_MODULE_CHANGED);
	cr_expect_null(mt_symbolizer_symbols(symbolizer, 0));
	cr_expect(!mt_symbolizer_has_lines(symbolizer, 0));
	cr_expect(!mt_symbolizer_bias(symbolizer, frame.placement, &bias));
	done();
}

Test(symbolize, no_mapping)
{
	struct mt_frame frame = { .pc = 0xdead0000, .placement = MT_NONE };

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	record_one(in_dir("a.so"));
	cr_assert_eq(mt_symbolize(symbolizer, &frame, &locations, &n), 0);
	cr_assert_eq(n, 1);
	cr_expect_null(locations[0].function);
	cr_expect_null(locations[0].module);
	cr_expect_eq(locations[0].offset, 0xdead0000);
	done();
}

Test(symbolize, code_for_the_unwinder)
{
	struct mt_stack stack = { .process = 0, .time = 5 };
	struct mt_unwind_code code;

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so;"
	    "cc -g -O2 -fPIC -shared -Wl,--build-id=none $S/calls.c -o $D/b.so");
	{
		const char *paths[] = { in_dir("a.so"), in_dir("b.so") };

		record(paths, 2);
	}
	cr_assert(!mt_symbolizer_find_code(symbolizer, &stack, 0x1000, &code));
	cr_assert(mt_symbolizer_find_code(symbolizer, &stack, BASE * 2 + 0x1100, &code));
	cr_expect_eq(code.bias, BASE * 2);
	cr_expect_not_null(code.cfi);
	cr_expect_eq(mt_session_placement(session, code.placement)->start & ~0xffffull, BASE * 2);
	done();
}

/* More addresses than the first table of answers holds; each asked twice. */
Test(symbolize, many_addresses)
{
	const struct mt_location *first;
	uint64_t svma, end;
	size_t count = 0;

	record_one(output_of("readlink -f $(ldd /bin/sh | "
			     "sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p')"));
	svma = named("malloc")->addr;
	end = svma + 6000;
	for (; svma < end; svma++)
		look(svma, false);
	first = NULL;
	for (svma = named("malloc")->addr + 1; svma < named("malloc")->addr + 100; svma++) {
		look(svma, false);
		cr_assert_str_eq(locations[n - 1].function, "malloc");
		cr_expect_neq(locations, first);
		first = locations;
		count++;
	}
	cr_assert_eq(count, 99);
	done();
}
