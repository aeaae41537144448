/*
 * prologues.c - functions of malloc's family with the beginnings that compilers give them: for
 * tests/unit/prologues.h, never run.
 */
#include <stddef.h>
#include <string.h>

static char pool[1 << 20];
static size_t used;
static int ready;
static __thread void *cache[64];

void *malloc(size_t size)
{
	void *block;

	if (!ready)
		ready = 1;
	if (size < 1024 && (block = cache[size / 16])) {
		cache[size / 16] = *(void **)block;
		return block;
	}
	if (size > sizeof(pool) - used)
		return NULL;
	block = pool + used;
	used += (size + 15) & ~15ul;
	return block;
}

void free(void *block)
{
	if (!block)
		return;
	*(void **)block = cache[1];
	cache[1] = block;
}

void *calloc(size_t n, size_t each)
{
	size_t size;
	void *block;

	if (__builtin_mul_overflow(n, each, &size))
		return NULL;
	block = malloc(size);
	return block ? memset(block, 0, size) : block;
}

void *realloc(void *old, size_t size)
{
	void *block;

	if (!old)
		return malloc(size);
	if (!size) {
		free(old);
		return NULL;
	}
	block = malloc(size);
	if (block)
		memcpy(block, old, size);
	return block;
}

int posix_memalign(void **out, size_t align, size_t size)
{
	if (align & (align - 1))
		return 22;
	*out = malloc(size + align);
	return *out ? 0 : 12;
}
