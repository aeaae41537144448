#include "record/allocators.h"

#include <stdbool.h>

#include "bpf/mt_ring.h"
#include "record/elf_symbols.h"

#define MALLOC(size) MT_COOKIE(MT_RING_MALLOC, size, 0, 0, 0, 0)
#define CALLOC(count, size) MT_COOKIE(MT_RING_CALLOC, size, count, 0, 0, 0)
#define REALLOC(ptr, count, size) MT_COOKIE(MT_RING_REALLOC, size, count, ptr, 0, 0)
#define ALIGNED(align, size, out) MT_COOKIE(MT_RING_ALIGNED, size, 0, 0, align, out)
#define FREE(ptr) MT_COOKIE(MT_RING_FREE, 0, 0, ptr, 0, 0)

struct function {
	const char *name;
	uint64_t cookie;
};

/* Sorted by name. The __libc_ names are what a static program may be left with. */
static const struct function functions[] = {
	{ "__libc_calloc", CALLOC(1, 2) },
	{ "__libc_free", FREE(1) },
	{ "__libc_malloc", MALLOC(1) },
	{ "__libc_memalign", ALIGNED(1, 2, 0) },
	{ "__libc_pvalloc", ALIGNED(0, 1, 0) },
	{ "__libc_realloc", REALLOC(1, 0, 2) },
	{ "__libc_valloc", ALIGNED(0, 1, 0) },
	{ "aligned_alloc", ALIGNED(1, 2, 0) },
	{ "calloc", CALLOC(1, 2) },
	{ "cfree", FREE(1) },
	{ "free", FREE(1) },
	{ "malloc", MALLOC(1) },
	{ "memalign", ALIGNED(1, 2, 0) },
	{ "posix_memalign", ALIGNED(2, 3, 1) },
	{ "pvalloc", ALIGNED(0, 1, 0) },
	{ "realloc", REALLOC(1, 0, 2) },
	{ "reallocarray", REALLOC(1, 2, 3) },
	{ "valloc", ALIGNED(0, 1, 0) },
};
_Static_assert(MT_ARRAY_SIZE(functions) <= MT_PROBES_MAX, "every function has a place");

static bool has_offset(const struct mt_probe *probes, size_t n, uint64_t offset)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (probes[i].offset == offset)
			return true;
	return false;
}

int mt_allocators_find(int fd, struct mt_probe ret_probes[MT_PROBES_MAX], size_t *ret_n)
{
	const char *names[MT_ARRAY_SIZE(functions)];
	uint64_t offsets[MT_ARRAY_SIZE(functions)];
	size_t i, n = 0;
	int err;

	for (i = 0; i < MT_ARRAY_SIZE(functions); i++)
		names[i] = functions[i].name;
	err = mt_elf_find_functions(fd, names, MT_ARRAY_SIZE(functions), offsets);
	if (err)
		return err;

	/* From the end, so that of two names for one place the public one is kept. */
	for (i = MT_ARRAY_SIZE(functions); i-- > 0;) {
		if (!offsets[i] || has_offset(ret_probes, n, offsets[i]))
			continue;
		ret_probes[n].function = functions[i].name;
		ret_probes[n].offset = offsets[i];
		ret_probes[n].cookie = functions[i].cookie;
		n++;
	}
	*ret_n = n;
	return 0;
}
