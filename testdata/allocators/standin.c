/*
 * standin.c - a small allocator under any names, for those that Debian does not have:
 * -DPREFIX='"je_"'; -DTC_INTERNAL for TCMallocInternalMalloc and so on, with malloc as another
 * name for it. Its functions call each other, as those of the real ones do. Blocks are never
 * used again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA ((size_t)256 << 20)

#ifdef TC_INTERNAL
#define PREFIX "TCMallocInternal"
#define NAMED(name, c_name) __asm__(PREFIX name)
#else
#define NAMED(name, c_name) __asm__(PREFIX c_name)
#endif

/* In front of each block. */
struct head {
	size_t size;
	char pad[56];
};

void *s_malloc(size_t size) NAMED("Malloc", "malloc");
void *s_calloc(size_t count, size_t size) NAMED("Calloc", "calloc");
void *s_realloc(void *p, size_t size) NAMED("Realloc", "realloc");
void *s_reallocarray(void *p, size_t count, size_t size) NAMED("ReallocArray", "reallocarray");
void *s_reallocf(void *p, size_t size) NAMED("Reallocf", "reallocf");
int s_reallocarr(void *p, size_t count, size_t size) NAMED("Reallocarr", "reallocarr");
void *s_recallocarray(void *p, size_t old, size_t count, size_t size)
	NAMED("Recallocarray", "recallocarray");
void *s_aligned_alloc(size_t align, size_t size) NAMED("AlignedAlloc", "aligned_alloc");
void *s_memalign(size_t align, size_t size) NAMED("Memalign", "memalign");
int s_posix_memalign(void **p, size_t align, size_t size) NAMED("PosixMemalign", "posix_memalign");
void *s_valloc(size_t size) NAMED("Valloc", "valloc");
void *s_pvalloc(size_t size) NAMED("Pvalloc", "pvalloc");
void s_free(void *p) NAMED("Free", "free");
void s_cfree(void *p) NAMED("Cfree", "cfree");
void s_free_sized(void *p, size_t size) NAMED("FreeSized", "free_sized");
void s_free_aligned_sized(void *p, size_t align, size_t size)
	NAMED("FreeAlignedSized", "free_aligned_sized");
void s_freezero(void *p, size_t size) NAMED("Freezero", "freezero");
void s_sdallocx(void *p, size_t size, int flags) NAMED("Sdallocx", "sdallocx");

static char *arena;
static size_t used;
static char busy;

static void *take(size_t align, size_t size)
{
	struct head *head;
	size_t at;

	if (!arena) {
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena == MAP_FAILED) {
			arena = NULL;
			return NULL;
		}
	}
	if (align < 16)
		align = 16;
	if (size > ARENA / 2 || align > ARENA / 2)
		return NULL;
	at = (used + sizeof(*head) + align - 1) / align * align;
	if (at > ARENA - size)
		return NULL;
	used = at + size;
	head = (struct head *)(arena + at) - 1;
	head->size = size;
	return arena + at;
}

void *s_memalign(size_t align, size_t size)
{
	void *p;

	while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
		;
	p = take(align, size);
	__atomic_clear(&busy, __ATOMIC_RELEASE);
	return p;
}

void *s_malloc(size_t size)
{
	return s_memalign(16, size);
}

void *s_calloc(size_t count, size_t size)
{
	return size && count > SIZE_MAX / size ? NULL : s_malloc(count * size);
}

void *s_realloc(void *p, size_t size)
{
	void *next = s_malloc(size);
	size_t old = p ? ((struct head *)p)[-1].size : 0;

	if (!next)
		return NULL;
	memcpy(next, p ? p : "", old < size ? old : size);
	s_free(p);
	return next;
}

void *s_reallocarray(void *p, size_t count, size_t size)
{
	return size && count > SIZE_MAX / size ? NULL : s_realloc(p, count * size);
}

void *s_reallocf(void *p, size_t size)
{
	void *next = s_realloc(p, size);

	if (!next)
		s_free(p);
	return next;
}

int s_reallocarr(void *p, size_t count, size_t size)
{
	void *block, *next;

	memcpy(&block, p, sizeof(block));
	next = s_reallocarray(block, count, size);
	if (!next)
		return ENOMEM;
	memcpy(p, &next, sizeof(next));
	return 0;
}

void *s_recallocarray(void *p, size_t old, size_t count, size_t size)
{
	(void)old;
	return s_reallocarray(p, count, size);
}

void *s_aligned_alloc(size_t align, size_t size)
{
	return s_memalign(align, size);
}

int s_posix_memalign(void **p, size_t align, size_t size)
{
	void *block = s_memalign(align, size);

	if (!block)
		return ENOMEM;
	*p = block;
	return 0;
}

void *s_valloc(size_t size)
{
	return s_memalign(4096, size);
}

void *s_pvalloc(size_t size)
{
	return size > ARENA ? NULL : s_valloc((size + 4095) / 4096 * 4096);
}

void s_free(void *p)
{
	if (p)
		memset(p, 0xa5, ((struct head *)p)[-1].size);
}

void s_cfree(void *p)
{
	s_free(p);
}

void s_free_sized(void *p, size_t size)
{
	(void)size;
	s_free(p);
}

void s_free_aligned_sized(void *p, size_t align, size_t size)
{
	(void)align;
	s_free_sized(p, size);
}

void s_freezero(void *p, size_t size)
{
	if (p)
		memset(p, 0, size);
	s_free(p);
}

void s_sdallocx(void *p, size_t size, int flags)
{
	(void)flags;
	s_free_sized(p, size);
}

#ifdef TC_INTERNAL
void *s_new(size_t size) NAMED("New", "");
void *s_new_array(size_t size) NAMED("NewArray", "");
void *s_new_aligned(size_t size, size_t align) NAMED("NewAligned", "");
void *s_new_nothrow(size_t size, const void *nothrow) NAMED("NewNothrow", "");
void s_delete(void *p) NAMED("Delete", "");
void s_delete_sized(void *p, size_t size) NAMED("DeleteSized", "");
void s_delete_array(void *p) NAMED("DeleteArray", "");

void *s_new(size_t size)
{
	void *p = s_malloc(size);

	if (!p)
		__builtin_trap();
	return p;
}

void *s_new_array(size_t size)
{
	return s_new(size);
}

void *s_new_aligned(size_t size, size_t align)
{
	void *p = s_memalign(align, size);

	if (!p)
		__builtin_trap();
	return p;
}

void *s_new_nothrow(size_t size, const void *nothrow)
{
	(void)nothrow;
	return s_malloc(size);
}

void s_delete(void *p)
{
	s_free(p);
}

void s_delete_sized(void *p, size_t size)
{
	(void)size;
	s_delete(p);
}

void s_delete_array(void *p)
{
	s_delete(p);
}

/* As tcmalloc defines them. */
#define ALIAS(name, type, args, target) type name args __attribute__((alias(PREFIX target)))
ALIAS(malloc, void *, (size_t), "Malloc");
ALIAS(calloc, void *, (size_t, size_t), "Calloc");
ALIAS(realloc, void *, (void *, size_t), "Realloc");
ALIAS(aligned_alloc, void *, (size_t, size_t), "AlignedAlloc");
ALIAS(memalign, void *, (size_t, size_t), "Memalign");
ALIAS(posix_memalign, int, (void **, size_t, size_t), "PosixMemalign");
ALIAS(free, void, (void *), "Free");
ALIAS(cfree, void, (void *), "Cfree");
ALIAS(valloc, void *, (size_t), "Valloc");
ALIAS(pvalloc, void *, (size_t), "Pvalloc");
#endif
