#include "record/allocator_table.h"

#include <errno.h>
#include <stdbool.h>

#include "bpf/mt_ring.h"
#include "record/allocator_spec.h"

#define MALLOC(size) MT_COOKIE(MT_RING_MALLOC, size, 0, 0, 0, 0)
#define MALLOC_N(count, size) MT_COOKIE(MT_RING_MALLOC, size, count, 0, 0, 0)
#define CALLOC(count, size) MT_COOKIE(MT_RING_CALLOC, size, count, 0, 0, 0)
#define REALLOC(ptr, count, size) MT_COOKIE(MT_RING_REALLOC, size, count, ptr, 0, 0)
#define ALIGNED(align, size) MT_COOKIE(MT_RING_ALIGNED, size, 0, 0, align, 0)
#define ALIGNED_N(align, count, size) MT_COOKIE(MT_RING_ALIGNED, size, count, 0, align, 0)
#define OUT(out, align, size) MT_COOKIE(MT_RING_ALIGNED, size, 0, 0, align, out)
#define FREE(ptr) MT_COOKIE(MT_RING_FREE, 0, 0, ptr, 0, 0)
#define X_MALLOC(size, flags) (MT_COOKIE(MT_RING_MALLOC, size, 0, 0, flags, 0) | MT_CALL_LG_ALIGN)
#define REALLOC_F(ptr, size) (REALLOC(ptr, 0, size) | MT_CALL_FREES_ALWAYS)
#define IN_PLACE(ptr, size) (REALLOC(ptr, 0, size) | MT_CALL_IN_PLACE)
#define REALLOC_AT(place, count, size)                                                        \
	(MT_COOKIE(MT_RING_REALLOC, size, count, place, 0, place) | MT_CALL_INDIRECT)
#define STRING (MT_COOKIE(MT_RING_MALLOC, 0, 0, 0, 0, 0) | MT_CALL_STRING)
#define THROWS MT_CALL_RET_SITES

struct row {
	const char *name;
	uint64_t cookie;
};

/* The C library's, with what BSDs, C23 and jemalloc add: the same under every prefix. */
static const struct row c_rows[] = {
	{ "aligned_alloc", ALIGNED(1, 2) },
	{ "calloc", CALLOC(1, 2) },
	{ "cfree", FREE(1) },
	{ "dallocx", FREE(1) },
	{ "free", FREE(1) },
	{ "free_aligned_sized", FREE(1) },
	{ "free_sized", FREE(1) },
	{ "freezero", FREE(1) },
	{ "malloc", MALLOC(1) },
	{ "mallocx", X_MALLOC(1, 2) },
	{ "memalign", ALIGNED(1, 2) },
	{ "posix_memalign", OUT(1, 2, 3) },
	{ "pvalloc", ALIGNED(0, 1) },
	{ "rallocx", REALLOC(1, 0, 2) },
	{ "realloc", REALLOC(1, 0, 2) },
	{ "reallocarr", REALLOC_AT(1, 2, 3) },
	{ "reallocarray", REALLOC(1, 2, 3) },
	{ "reallocf", REALLOC_F(1, 2) },
	{ "recallocarray", REALLOC(1, 3, 4) },
	{ "sdallocx", FREE(1) },
	{ "valloc", ALIGNED(0, 1) },
	{ "xallocx", IN_PLACE(1, 2) },
};

static const struct row operator_rows[] = {
	{ "_Znam", MALLOC(1) | THROWS },
	{ "_Znam12__hot_cold_t", MALLOC(1) | THROWS },
	{ "_ZnamRKSt9nothrow_t", MALLOC(1) },
	{ "_ZnamRKSt9nothrow_t12__hot_cold_t", MALLOC(1) },
	{ "_ZnamSt11align_val_t", ALIGNED(2, 1) | THROWS },
	{ "_ZnamSt11align_val_t12__hot_cold_t", ALIGNED(2, 1) | THROWS },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALIGNED(2, 1) },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t12__hot_cold_t", ALIGNED(2, 1) },
	{ "_Znwm", MALLOC(1) | THROWS },
	{ "_Znwm12__hot_cold_t", MALLOC(1) | THROWS },
	{ "_ZnwmRKSt9nothrow_t", MALLOC(1) },
	{ "_ZnwmRKSt9nothrow_t12__hot_cold_t", MALLOC(1) },
	{ "_ZnwmSt11align_val_t", ALIGNED(2, 1) | THROWS },
	{ "_ZnwmSt11align_val_t12__hot_cold_t", ALIGNED(2, 1) | THROWS },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALIGNED(2, 1) },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t12__hot_cold_t", ALIGNED(2, 1) },
	{ "__size_returning_new", MALLOC(1) | THROWS },
	{ "__size_returning_new_aligned", ALIGNED(2, 1) | THROWS },
	{ "__size_returning_new_aligned_hot_cold", ALIGNED(2, 1) | THROWS },
	{ "__size_returning_new_hot_cold", MALLOC(1) | THROWS },
	{ "tcmalloc_size_returning_operator_new", MALLOC(1) | THROWS },
	{ "tcmalloc_size_returning_operator_new_aligned", ALIGNED(2, 1) | THROWS },
	{ "tcmalloc_size_returning_operator_new_aligned_nothrow", ALIGNED(2, 1) },
	{ "tcmalloc_size_returning_operator_new_nothrow", MALLOC(1) },
	{ "_ZdaPv", FREE(1) },
	{ "_ZdaPvRKSt9nothrow_t", FREE(1) },
	{ "_ZdaPvSt11align_val_t", FREE(1) },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", FREE(1) },
	{ "_ZdaPvm", FREE(1) },
	{ "_ZdaPvmSt11align_val_t", FREE(1) },
	{ "_ZdlPv", FREE(1) },
	{ "_ZdlPvRKSt9nothrow_t", FREE(1) },
	{ "_ZdlPvSt11align_val_t", FREE(1) },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", FREE(1) },
	{ "_ZdlPvm", FREE(1) },
	{ "_ZdlPvmSt11align_val_t", FREE(1) },
};

/* tc_ of gperftools, beyond the C names. */
static const struct row tc_rows[] = {
	{ "delete", FREE(1) },
	{ "delete_aligned", FREE(1) },
	{ "delete_aligned_nothrow", FREE(1) },
	{ "delete_nothrow", FREE(1) },
	{ "delete_sized", FREE(1) },
	{ "delete_sized_aligned", FREE(1) },
	{ "deletearray", FREE(1) },
	{ "deletearray_aligned", FREE(1) },
	{ "deletearray_aligned_nothrow", FREE(1) },
	{ "deletearray_nothrow", FREE(1) },
	{ "deletearray_sized", FREE(1) },
	{ "deletearray_sized_aligned", FREE(1) },
	{ "malloc_skip_new_handler", MALLOC(1) },
	{ "new", MALLOC(1) | THROWS },
	{ "new_aligned", ALIGNED(2, 1) | THROWS },
	{ "new_aligned_nothrow", ALIGNED(2, 1) },
	{ "new_nothrow", MALLOC(1) },
	{ "newarray", MALLOC(1) | THROWS },
	{ "newarray_aligned", ALIGNED(2, 1) | THROWS },
	{ "newarray_aligned_nothrow", ALIGNED(2, 1) },
	{ "newarray_nothrow", MALLOC(1) },
};

/* TCMallocInternal, of the later tcmalloc. */
static const struct row internal_rows[] = {
	{ "AlignedAlloc", ALIGNED(1, 2) },
	{ "Calloc", CALLOC(1, 2) },
	{ "Cfree", FREE(1) },
	{ "Delete", FREE(1) },
	{ "DeleteAligned", FREE(1) },
	{ "DeleteArray", FREE(1) },
	{ "DeleteArrayAligned", FREE(1) },
	{ "DeleteArrayNothrow", FREE(1) },
	{ "DeleteArraySized", FREE(1) },
	{ "DeleteArraySizedAligned", FREE(1) },
	{ "DeleteNothrow", FREE(1) },
	{ "DeleteSized", FREE(1) },
	{ "DeleteSizedAligned", FREE(1) },
	{ "Free", FREE(1) },
	{ "FreeAlignedSized", FREE(1) },
	{ "FreeSized", FREE(1) },
	{ "Malloc", MALLOC(1) },
	{ "Memalign", ALIGNED(1, 2) },
	{ "New", MALLOC(1) | THROWS },
	{ "NewAligned", ALIGNED(2, 1) | THROWS },
	{ "NewAlignedNothrow", ALIGNED(2, 1) },
	{ "NewArray", MALLOC(1) | THROWS },
	{ "NewArrayAligned", ALIGNED(2, 1) | THROWS },
	{ "NewArrayAlignedNothrow", ALIGNED(2, 1) },
	{ "NewArrayNothrow", MALLOC(1) },
	{ "NewNothrow", MALLOC(1) },
	{ "PosixMemalign", OUT(1, 2, 3) },
	{ "Pvalloc", ALIGNED(0, 1) },
	{ "Realloc", REALLOC(1, 0, 2) },
	{ "ReallocArray", REALLOC(1, 2, 3) },
	{ "Sdallocx", FREE(1) },
	{ "Valloc", ALIGNED(0, 1) },
};

/* mi_NAME, and mi_heap_NAME and mi_theap_NAME with the heap in front of the same arguments. */
static const struct row mi_heap_rows[] = {
	{ "calloc", CALLOC(1, 2) },
	{ "calloc_aligned", ALIGNED_N(3, 1, 2) },
	{ "calloc_aligned_at", ALIGNED_N(3, 1, 2) },
	{ "malloc", MALLOC(1) },
	{ "malloc_aligned", ALIGNED(2, 1) },
	{ "malloc_aligned_at", ALIGNED(2, 1) },
	{ "malloc_small", MALLOC(1) },
	{ "mallocn", MALLOC_N(1, 2) },
	{ "realloc", REALLOC(1, 0, 2) },
	{ "realloc_aligned", REALLOC(1, 0, 2) },
	{ "realloc_aligned_at", REALLOC(1, 0, 2) },
	{ "reallocf", REALLOC_F(1, 2) },
	{ "reallocn", REALLOC(1, 2, 3) },
	{ "recalloc", REALLOC(1, 2, 3) },
	{ "recalloc_aligned", REALLOC(1, 2, 3) },
	{ "recalloc_aligned_at", REALLOC(1, 2, 3) },
	{ "rezalloc", REALLOC(1, 0, 2) },
	{ "rezalloc_aligned", REALLOC(1, 0, 2) },
	{ "rezalloc_aligned_at", REALLOC(1, 0, 2) },
	{ "strdup", STRING },
	{ "strndup", STRING },
	{ "zalloc", CALLOC(0, 1) },
	{ "zalloc_aligned", ALIGNED(2, 1) },
	{ "zalloc_aligned_at", ALIGNED(2, 1) },
	{ "zalloc_small", CALLOC(0, 1) },
};

static const struct row mi_rows[] = {
	{ "_expand", REALLOC(1, 0, 2) },
	{ "aligned_alloc", ALIGNED(1, 2) },
	{ "aligned_offset_recalloc", REALLOC(1, 2, 3) },
	{ "aligned_recalloc", REALLOC(1, 2, 3) },
	{ "cfree", FREE(1) },
	{ "expand", REALLOC(1, 0, 2) },
	{ "free", FREE(1) },
	{ "free_aligned", FREE(1) },
	{ "free_size", FREE(1) },
	{ "free_size_aligned", FREE(1) },
	{ "free_small", FREE(1) },
	{ "heap_alloc_new", MALLOC(2) | THROWS },
	{ "heap_alloc_new_n", MALLOC_N(2, 3) | THROWS },
	{ "memalign", ALIGNED(1, 2) },
	{ "new", MALLOC(1) | THROWS },
	{ "new_aligned", ALIGNED(2, 1) | THROWS },
	{ "new_aligned_nothrow", ALIGNED(2, 1) },
	{ "new_n", MALLOC_N(1, 2) | THROWS },
	{ "new_nothrow", MALLOC(1) },
	{ "new_realloc", REALLOC(1, 0, 2) | THROWS },
	{ "new_reallocn", REALLOC(1, 2, 3) | THROWS },
	{ "posix_memalign", OUT(1, 2, 3) },
	{ "pvalloc", ALIGNED(0, 1) },
	{ "reallocarr", REALLOC_AT(1, 2, 3) },
	{ "reallocarray", REALLOC(1, 2, 3) },
	{ "theap_alloc_new", MALLOC(2) | THROWS },
	{ "theap_alloc_new_n", MALLOC_N(2, 3) | THROWS },
	{ "ucalloc", CALLOC(1, 2) },
	{ "ufree", FREE(1) },
	{ "umalloc", MALLOC(1) },
	{ "umalloc_aligned", ALIGNED(2, 1) },
	{ "urealloc", REALLOC(1, 0, 2) },
	{ "uzalloc_aligned", ALIGNED(2, 1) },
	{ "valloc", ALIGNED(0, 1) },
};

static const struct row leave_rows[] = {
	{ "_ZSt15get_new_handlerv", 0 },
	{ "_ZSt15set_new_handlerPFvvE", 0 },	/* how jemalloc reads it */
	{ "__cxa_allocate_exception", 0 },
};

/* glibc: malloc_info; its dynamic linker: _dl_mcount; musl: __dls3 if shared, else the other. */
static const struct row marker_rows[] = {
	{ "__dls3", 0 },
	{ "__libc_malloc_impl", 0 },
	{ "__libc_start_main", 0 },
	{ "__malloc_info", 0 },
	{ "_dl_mcount", 0 },
	{ "_rjem_mallctl", 0 },
	{ "je_mallctl", 0 },
	{ "mallctl", 0 },
	{ "malloc_info", 0 },
};

static const struct group {
	const char *prefix;
	const struct row *rows;
	size_t n;
	uint8_t family;
	uint8_t shift;		/* arguments in front of the usual ones */
} groups[] = {
#define GROUP(prefix, rows, family, shift) \
	{ prefix, rows, MT_ARRAY_SIZE(rows), MT_FAMILY_##family, shift }
	GROUP("", c_rows, C, 0),
	GROUP("__libc_", c_rows, LIBC, 0),
	GROUP("", operator_rows, OPERATOR, 0),
	GROUP("je_", c_rows, JEMALLOC, 0),
	GROUP("_rjem_", c_rows, JEMALLOC, 0),
	GROUP("_rjem_je_", c_rows, JEMALLOC, 0),
	GROUP("tc_", c_rows, TCMALLOC, 0),
	GROUP("tc_", tc_rows, TCMALLOC, 0),
	GROUP("TCMallocInternal", internal_rows, TCMALLOC, 0),
	GROUP("mi_", mi_rows, MIMALLOC, 0),
	GROUP("mi_", mi_heap_rows, MIMALLOC, 0),
	GROUP("mi_heap_", mi_heap_rows, MIMALLOC, 1),
	GROUP("mi_theap_", mi_heap_rows, MIMALLOC, 1),
	GROUP("", leave_rows, LEAVE, 0),
	GROUP("", marker_rows, MARKER, 0),
#undef GROUP
};

struct mt_allocator_table {
	struct mt_allocator_function *functions;
	const char **names;
	char *text;		/* the names' storage */
	size_t text_used;
	size_t n;
};

/* All arguments one further on, n times. */
static uint64_t shift_arguments(uint64_t cookie, unsigned int n)
{
	static const unsigned int places[] = { 8, 12, 16, 20, 24 };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(places); i++)
		if (cookie >> places[i] & 0xf)
			cookie += (uint64_t)n << places[i];
	return cookie;
}

static void add(struct mt_allocator_table *table, const char *prefix, const char *name,
		const struct mt_allocator_function *function)
{
	size_t n_prefix = strlen(prefix), n_name = strlen(name) + 1;
	char *text = table->text + table->text_used;

	memcpy(text, prefix, n_prefix);
	memcpy(text + n_prefix, name, n_name);
	table->functions[table->n] = *function;
	table->functions[table->n].name = text;
	table->n++;
	table->text_used += n_prefix + n_name;
}

static int compare(const void *a, const void *b)
{
	const struct mt_allocator_function *fa = a, *fb = b;
	int order = strcmp(fa->name, fb->name);

	/* The user's first, so that it is the one that is kept. */
	return order ? order : (fb->family == MT_FAMILY_USER) - (fa->family == MT_FAMILY_USER);
}

static void sort(struct mt_allocator_table *table)
{
	size_t i, kept = 0;

	qsort(table->functions, table->n, sizeof(*table->functions), compare);
	for (i = 0; i < table->n; i++)
		if (!kept || strcmp(table->functions[kept - 1].name, table->functions[i].name) != 0)
			table->functions[kept++] = table->functions[i];
	table->n = kept;
	for (i = 0; i < kept; i++)
		table->names[i] = table->functions[i].name;
}

static void fill(struct mt_allocator_table *table, const struct mt_allocator_specs *specs)
{
	struct mt_allocator_function function;
	size_t g, i;

	for (g = 0; g < MT_ARRAY_SIZE(groups); g++) {
		const struct group *group = &groups[g];

		for (i = 0; i < group->n; i++) {
			function = (struct mt_allocator_function){
				.family = group->family,
				.cookie = shift_arguments(group->rows[i].cookie, group->shift),
			};
			add(table, group->prefix, group->rows[i].name, &function);
		}
	}
	for (i = 0; specs && i < specs->n; i++) {
		function = (struct mt_allocator_function){
			.family = MT_FAMILY_USER, .cookie = specs->items[i].cookie,
			.fixed_size = specs->items[i].fixed_size,
		};
		add(table, "", specs->items[i].function, &function);
	}
}

int mt_allocator_table_new(const struct mt_allocator_specs *specs,
			   struct mt_allocator_table **ret_table)
{
	struct mt_allocator_table *table = calloc(1, sizeof(*table));
	size_t n = specs ? specs->n : 0, text = n * MT_SPEC_NAME_MAX, g, i;

	if (!table)
		return -ENOMEM;
	for (g = 0; g < MT_ARRAY_SIZE(groups); g++) {
		n += groups[g].n;
		for (i = 0; i < groups[g].n; i++)
			text += strlen(groups[g].prefix) + strlen(groups[g].rows[i].name) + 1;
	}
	table->functions = calloc(n, sizeof(*table->functions));
	table->names = calloc(n, sizeof(*table->names));
	table->text = malloc(text);
	if (!table->functions || !table->names || !table->text) {
		mt_allocator_table_free(table);
		return -ENOMEM;
	}
	fill(table, specs);
	sort(table);
	*ret_table = table;
	return 0;
}

void mt_allocator_table_free(struct mt_allocator_table *table)
{
	if (!table)
		return;
	free(table->functions);
	free(table->names);
	free(table->text);
	free(table);
}

size_t mt_allocator_table_size(const struct mt_allocator_table *table)
{
	return table->n;
}

const struct mt_allocator_function *mt_allocator_table_functions(
	const struct mt_allocator_table *table)
{
	return table->functions;
}

const char *const *mt_allocator_table_names(const struct mt_allocator_table *table)
{
	return table->names;
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

int mt_allocator_table_find(const struct mt_allocator_table *table, const char *name)
{
	const char **found = bsearch(name, table->names, table->n, sizeof(*table->names),
				     compare_name);

	return found ? (int)(found - table->names) : -1;
}
