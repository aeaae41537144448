/*
 * wrap.c - a library to preload: malloc, calloc, realloc and free that call the next ones, some
 * of them more than once, and tell the program about malloc before, which need not come back.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

extern void (*inside_malloc)(size_t size) __attribute__((weak));

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);
void free(void *block);

void *malloc(size_t size)
{
	void *first, *block;

	if (&inside_malloc && inside_malloc)
		inside_malloc(size);
	first = NEXT(malloc)(size + 1);
	block = NEXT(malloc)(size);
	NEXT(free)(first);
	return block;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *other = NEXT(malloc)(size), *block;

	block = NEXT(realloc)(old, size);
	NEXT(free)(other);
	return block;
}

void free(void *block)
{
	NEXT(free)(block);
}
