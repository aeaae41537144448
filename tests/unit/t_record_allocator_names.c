/* What allocators export, by name: each function that may give or take memory is thought of. */
#include "record/allocator_table.h"

#include <criterion/criterion.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SYMBOLS_MAX 2048

/* Functions with these in their names are looked at. */
static const char *const suspicious[] = {
	"*alloc*", "*free*", "*new*", "*delete*", "*dup*", "*realpath*", "*destroy*", "*expand*",
	"*memalign*", "_Zn*", "_Zd*",
};

/* In the table they would be wrong. */
static const char *const left_out[] = {
	/* They call one that is in it. */
	"_aligned_malloc", "mi_dupenv_s", "mi_wdupenv_s", "mi_mbsdup", "mi_wcsdup", "mi_realpath",
	"mi_heap_realpath", "__posix_memalign", "vfree",
	/* They tell sizes. */
	"malloc_usable_size", "malloc_size", "malloc_good_size", "nallocx", "sallocx",
	"mi_malloc_usable_size", "mi_malloc_size", "mi_malloc_good_size", "tc_malloc_size",
	"tc_nallocx",
	/* They set, or tell of, the allocator as a whole. */
	"MallocExtension_*", "MallocHook_*", "malloc_stats*", "tc_malloc_stats", "tc_set_new_mode",
	"tc_query_new_mode", "__start_*malloc*", "__stop_*malloc*", "mi_register_deferred_free",
	"TCMallocGetenvSafe", "TCMalloc_ListAllProcessThreads", "TCMalloc_ResumeAllProcessThreads",
	/* A heap as a whole: made, its blocks moved, or (not seen) freed all at once. */
	"mi_heap_new", "mi_heap_new_in_arena", "mi_heap_delete", "mi_heap_destroy",
};

struct symbol {
	unsigned long addr;
	char name[128];
};

static struct symbol symbols[SYMBOLS_MAX];

static size_t read_symbols(const char *path)
{
	char command[256], type;
	size_t n = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm -D --defined-only %s | grep -v ' [^ ]*_Z[^nd]'",
		 path);
	nm = popen(command, "r");
	cr_assert_not_null(nm);
	while (n < SYMBOLS_MAX &&
	       fscanf(nm, "%lx %c %127s", &symbols[n].addr, &type, symbols[n].name) == 3)
		if (strchr("TWi", type)) {
			symbols[n].name[strcspn(symbols[n].name, "@")] = '\0';
			n++;
		}
	cr_assert_eq(pclose(nm), 0);
	cr_assert_lt(n, SYMBOLS_MAX);
	return n;
}

static bool matches(const char *const *patterns, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

/* Probes are at addresses: another name of a function needs none of its own. */
static bool is_covered(const struct mt_allocator_table *table, size_t n, unsigned long addr)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (symbols[i].addr == addr && mt_allocator_table_find(table, symbols[i].name) >= 0)
			return true;
	return false;
}

static void look_at(const char *path, size_t at_least)
{
	struct mt_allocator_table *table;
	size_t n, i, covered = 0;

	if (access(path, R_OK))
		cr_skip("%s is not installed", path);
	n = read_symbols(path);
	cr_assert_eq(mt_allocator_table_new(NULL, &table), 0);
	for (i = 0; i < n; i++) {
		const char *name = symbols[i].name;
		bool out = matches(left_out, MT_ARRAY_SIZE(left_out), name);

		if (is_covered(table, n, symbols[i].addr)) {
			covered++;
			cr_expect_not(out && mt_allocator_table_find(table, name) >= 0,
				      "%s: %s is in the table", path, name);
		} else if (matches(suspicious, MT_ARRAY_SIZE(suspicious), name)) {
			cr_expect(out, "%s: %s is not in the table", path, name);
		}
	}
	cr_expect_geq(covered, at_least, "%s: only %zu functions", path, covered);
	mt_allocator_table_free(table);
}

#define LIB "/usr/lib/x86_64-linux-gnu/"

Test(allocator_names, jemalloc)
{
	look_at(LIB "libjemalloc.so.2", 30);
}

Test(allocator_names, mimalloc)
{
	look_at(LIB "libmimalloc.so.2", 100);
}

Test(allocator_names, tcmalloc)
{
	look_at(LIB "libtcmalloc.so.4", 60);
}

Test(allocator_names, tcmalloc_minimal)
{
	look_at(LIB "libtcmalloc_minimal.so.4", 60);
}
