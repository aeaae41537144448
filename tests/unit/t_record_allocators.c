#include "record/allocator_spec.h"
#include "record/allocator_table.h"
#include "record/allocators.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "common/error.h"

#define LIBS "/usr/lib/x86_64-linux-gnu/"
#define LIBC LIBS "libc.so.6"

static struct mt_allocator_table *table;
static struct mt_allocator_scan scan;
static bool *found;

static void open_table(void)
{
	cr_assert_eq(mt_allocator_table_new(NULL, &table), 0);
	found = calloc(mt_allocator_table_size(table), sizeof(*found));
}

static void close_table(void)
{
	mt_allocator_scan_release(&scan);
	mt_allocator_table_free(table);
	free(found);
}

TestSuite(allocators, .init = open_table, .fini = close_table);

static int scan_file(const char *path)
{
	int fd = open(path, O_RDONLY), err;

	cr_assert_geq(fd, 0, "%s", path);
	mt_allocator_scan_release(&scan);
	err = mt_allocators_scan(table, fd, found, &scan);
	close(fd);
	return err;
}

/* Where a function of a library is: its value, which there is its file offset too. */
static uint64_t offset_of(const char *path, const char *function)
{
	char command[256];
	unsigned long long value = 0;
	FILE *out;

	snprintf(command, sizeof(command),
		 "readelf -W --dyn-syms %s | awk '$8 ~ /^%s(@|$)/ && $7 != \"UND\" {print $2}'",
		 path, function);
	out = popen(command, "r");
	cr_assert_not_null(out);
	cr_assert_eq(fscanf(out, "%llx", &value), 1, "%s", function);
	pclose(out);
	return value;
}

static const struct mt_probe *probe_at(uint64_t offset, bool ret_site)
{
	size_t i;

	for (i = 0; i < scan.n; i++)
		if (scan.probes[i].offset == offset &&
		    (scan.probes[i].role == MT_PROBE_RET_SITE) == ret_site)
			return &scan.probes[i];
	return NULL;
}

static size_t count(enum mt_probe_role role)
{
	size_t i, n = 0;

	for (i = 0; i < scan.n; i++)
		n += scan.probes[i].role == role;
	return n;
}

/* The probe of a function of a library, which must be there. */
static const struct mt_probe *probe_of(const char *path, const char *function)
{
	const struct mt_probe *probe = probe_at(offset_of(path, function), false);

	cr_assert_not_null(probe, "%s", function);
	return probe;
}

Test(allocators, table_is_sorted_and_has_no_name_twice)
{
	const char *const *names = mt_allocator_table_names(table);
	size_t n = mt_allocator_table_size(table), i;

	cr_assert_gt(n, 300u);
	for (i = 1; i < n; i++)
		cr_assert_lt(strcmp(names[i - 1], names[i]), 0, "%s %s", names[i - 1], names[i]);
	cr_assert_eq(mt_allocator_table_find(table, "malloc") >= 0, true);
	cr_assert_eq(mt_allocator_table_find(table, "mallo"), -1);
}

/* mi_heap_NAME has the heap in front. */
Test(allocators, heap_functions_have_their_arguments_one_further)
{
	const struct mt_allocator_function *functions = mt_allocator_table_functions(table);
	int i = mt_allocator_table_find(table, "mi_heap_recalloc_aligned_at");

	cr_assert_geq(i, 0);
	cr_assert_eq(functions[i].cookie, MT_COOKIE(MT_RING_REALLOC, 4, 3, 2, 0, 0));
	i = mt_allocator_table_find(table, "mi_heap_zalloc");
	cr_assert_geq(i, 0);
	cr_assert_eq(functions[i].cookie, MT_COOKIE(MT_RING_CALLOC, 2, 0, 0, 0, 0));
}

Test(allocators, every_function_of_libc_has_one_probe_at_its_place)
{
	static const struct { const char *name; uint64_t cookie; } want[] = {
		{ "malloc", MT_COOKIE(MT_RING_MALLOC, 1, 0, 0, 0, 0) },
		{ "calloc", MT_COOKIE(MT_RING_CALLOC, 2, 1, 0, 0, 0) },
		{ "realloc", MT_COOKIE(MT_RING_REALLOC, 2, 0, 1, 0, 0) },
		{ "reallocarray", MT_COOKIE(MT_RING_REALLOC, 3, 2, 1, 0, 0) },
		{ "aligned_alloc", MT_COOKIE(MT_RING_ALIGNED, 2, 0, 0, 1, 0) },
		{ "memalign", MT_COOKIE(MT_RING_ALIGNED, 2, 0, 0, 1, 0) },
		{ "posix_memalign", MT_COOKIE(MT_RING_ALIGNED, 3, 0, 0, 2, 1) },
		{ "valloc", MT_COOKIE(MT_RING_ALIGNED, 1, 0, 0, 0, 0) },
		{ "pvalloc", MT_COOKIE(MT_RING_ALIGNED, 1, 0, 0, 0, 0) },
		{ "free", MT_COOKIE(MT_RING_FREE, 0, 0, 1, 0, 0) },
		{ "cfree", MT_COOKIE(MT_RING_FREE, 0, 0, 1, 0, 0) },
	};
	size_t i, k;

	cr_assert_eq(scan_file(LIBC), 0);
	cr_assert_eq(scan.n_gaps, 0);
	for (i = 0; i < MT_ARRAY_SIZE(want); i++) {
		const struct mt_probe *probe = probe_of(LIBC, want[i].name);

		cr_assert_eq(probe->cookie, want[i].cookie, "%s", want[i].name);
		cr_assert_eq(probe->kind, MT_ALLOCATOR_GLIBC);
		cr_assert_eq(probe->role, MT_COOKIE_KIND(want[i].cookie) == MT_RING_FREE ?
			     MT_PROBE_FREE : MT_PROBE_CALL);
	}
	for (i = 0; i < scan.n; i++)
		for (k = 0; k < i; k++)
			cr_assert_neq(scan.probes[i].offset, scan.probes[k].offset);
	cr_assert_str_eq(probe_of(LIBC, "malloc")->function, "malloc");
	cr_assert(found[mt_allocator_table_find(table, "malloc")]);
	cr_assert_not(found[mt_allocator_table_find(table, "mi_malloc")]);
}

/* Its operator new may throw: no return probe, but probes on what returns. */
Test(allocators, jemalloc)
{
	static const char lib[] = LIBS "libjemalloc.so.2";
	const struct mt_probe *probe;

	cr_assert_eq(scan_file(lib), 0);
	cr_assert_eq(scan.n_gaps, 0);
	cr_assert_eq(probe_of(lib, "malloc")->kind, MT_ALLOCATOR_JEMALLOC);
	cr_assert_eq(probe_of(lib, "mallocx")->cookie,
		     MT_COOKIE(MT_RING_MALLOC, 1, 0, 0, 2, 0) | MT_CALL_LG_ALIGN);
	cr_assert_eq(probe_of(lib, "xallocx")->cookie,
		     MT_COOKIE(MT_RING_REALLOC, 2, 0, 1, 0, 0) | MT_CALL_IN_PLACE);
	probe = probe_of(lib, "_Znwm");
	cr_assert_eq(probe->role, MT_PROBE_ENTRY);
	cr_assert_eq(probe->kind, MT_ALLOCATOR_JEMALLOC);
	cr_assert_eq(probe_of(lib, "_ZnwmRKSt9nothrow_t")->role, MT_PROBE_CALL);
	cr_assert_gt(count(MT_PROBE_RET_SITE), 2u);
	/* These only jump to others. */
	cr_assert_null(probe_at(offset_of(lib, "_Znam"), false));
	cr_assert_null(probe_at(offset_of(lib, "_ZdlPv"), false));
	/* This one ends in a jump to sdallocx, which has a probe. */
	cr_assert(probe_of(lib, "_ZdlPvmSt11align_val_t")->cookie & MT_CALL_FORWARDS);
	cr_assert_not(probe_of(lib, "free")->cookie & MT_CALL_FORWARDS);
}

/* Each return site is a return instruction. */
Test(allocators, return_sites_are_return_instructions)
{
	static const char *const libs[] = {
		LIBS "libjemalloc.so.2", LIBS "libmimalloc.so.2", LIBS "libtcmalloc_minimal.so.4",
	};
	size_t i, k, n = 0;
	uint8_t byte;
	int fd;

	for (i = 0; i < MT_ARRAY_SIZE(libs); i++) {
		cr_assert_eq(scan_file(libs[i]), 0);
		cr_assert_eq(scan.n_gaps, 0, "%s: %s", libs[i], scan.gaps[0].function);
		fd = open(libs[i], O_RDONLY);
		for (k = 0; k < scan.n; k++) {
			if (scan.probes[k].role != MT_PROBE_RET_SITE)
				continue;
			cr_assert_eq(pread(fd, &byte, 1, (off_t)scan.probes[k].offset), 1);
			cr_assert_eq(byte, 0xc3, "%s %#lx", libs[i],
				     (unsigned long)scan.probes[k].offset);
			cr_assert(scan.probes[k].cookie & MT_CALL_RET_SITES);
			n++;
		}
		close(fd);
	}
	cr_assert_geq(n, 15u);
}

Test(allocators, mimalloc)
{
	static const char lib[] = LIBS "libmimalloc.so.2";

	cr_assert_eq(scan_file(lib), 0);
	cr_assert_eq(probe_of(lib, "malloc")->kind, MT_ALLOCATOR_MIMALLOC);
	cr_assert_eq(probe_of(lib, "mi_heap_malloc")->cookie,
		     MT_COOKIE(MT_RING_MALLOC, 2, 0, 0, 0, 0));
	cr_assert_eq(probe_of(lib, "mi_new_n")->role, MT_PROBE_ENTRY);
	cr_assert_eq(probe_of(lib, "mi_reallocf")->cookie,
		     MT_COOKIE(MT_RING_REALLOC, 2, 0, 1, 0, 0) | MT_CALL_FREES_ALWAYS);
	cr_assert_eq(probe_of(lib, "mi_heap_strdup")->cookie,
		     MT_COOKIE(MT_RING_MALLOC, 0, 0, 0, 0, 0) | MT_CALL_STRING);
	cr_assert(probe_of(lib, "mi_cfree")->cookie & MT_CALL_FORWARDS);
	cr_assert_null(probe_at(offset_of(lib, "mi_free_size"), false));
	cr_assert_null(probe_at(offset_of(lib, "valloc"), false));
}

Test(allocators, tcmalloc)
{
	static const char lib[] = LIBS "libtcmalloc_minimal.so.4";

	cr_assert_eq(scan_file(lib), 0);
	cr_assert_eq(probe_of(lib, "malloc")->kind, MT_ALLOCATOR_TCMALLOC);
	cr_assert_str_eq(probe_of(lib, "tc_malloc")->function, "malloc");
	cr_assert_eq(probe_of(lib, "tc_new")->role, MT_PROBE_ENTRY);
	cr_assert_eq(probe_of(lib, "tc_new_nothrow")->role, MT_PROBE_CALL);
	cr_assert_eq(probe_of(lib, "tc_delete_sized")->role, MT_PROBE_FREE);
	cr_assert_eq(probe_of(lib, "tc_malloc_skip_new_handler")->role, MT_PROBE_CALL);
}

Test(allocators, musl)
{
	static const char lib[] = "/usr/lib/x86_64-linux-musl/libc.so";

	cr_assert_eq(scan_file(lib), 0);
	cr_assert_eq(probe_of(lib, "malloc")->kind, MT_ALLOCATOR_MUSL);
	cr_assert_eq(probe_of(lib, "free")->role, MT_PROBE_FREE);
	cr_assert_eq(scan.n_gaps, 0);
}

/* libstdc++'s operator new calls malloc. */
Test(allocators, operators_of_the_cxx_library_are_not_probed)
{
	cr_assert_eq(scan_file(LIBS "libstdc++.so.6"), 0);
	cr_assert_eq(scan.n_functions, 0);
	cr_assert_eq(count(MT_PROBE_LEAVE), 3u);
	cr_assert_eq(scan.n, 3u);
}

Test(allocators, a_program_without_allocators_has_no_probes)
{
	cr_assert_eq(scan_file("/bin/true"), 0);
	cr_assert_eq(scan.n, 0);
	cr_assert_eq(scan.n_gaps, 0);
	cr_assert_eq(scan_file("/etc/passwd"), -MT_E_NOT_ELF);
}

Test(allocators, the_users_functions_come_first)
{
	struct mt_allocator_specs specs = {};
	char error[MT_OPTIONS_ERROR_MAX];
	const struct mt_probe *probe;

	cr_assert_eq(mt_allocator_specs_parse(&specs, "qsort=malloc(3) __libc_free=free(1)",
					      error), 0);
	close_table();
	cr_assert_eq(mt_allocator_table_new(&specs, &table), 0);
	mt_allocator_specs_release(&specs);
	found = calloc(mt_allocator_table_size(table), sizeof(*found));

	cr_assert_eq(scan_file(LIBC), 0);
	probe = probe_of(LIBC, "qsort");
	cr_assert_eq(probe->kind, MT_ALLOCATOR_USER);
	cr_assert_eq(probe->cookie, MT_COOKIE(MT_RING_MALLOC, 3, 0, 0, 0, 0));
	probe = probe_of(LIBC, "free");
	cr_assert_eq(probe->kind, MT_ALLOCATOR_USER);
	cr_assert_str_eq(probe->function, "__libc_free");
	cr_assert_eq(probe->role, MT_PROBE_CALL);
	cr_assert(found[mt_allocator_table_find(table, "qsort")]);
}
