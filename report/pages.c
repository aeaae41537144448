#include "report/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE ((size_t)2 << 20)
#define PAGE_MAX ((size_t)64 << 10)

/* So much that what huge pages waste at its ends is little. */
static bool is_large(size_t bytes)
{
	return bytes >= 2 * HUGE;
}

static void *map(size_t bytes)
{
	char *memory, *start;
	size_t before;

	if (bytes > SIZE_MAX - HUGE)
		return NULL;
	memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return NULL;
	/* At a huge page; what is before and behind goes back. */
	before = -(uintptr_t)memory % HUGE;
	start = memory + before;
	if (before)
		munmap(memory, before);
	if (before < HUGE)
		munmap(start + bytes, HUGE - before);
	madvise(start, bytes, MADV_HUGEPAGE);
	return start;
}

/* Whole pages, of whatever size up to this. */
static size_t round_up(size_t bytes)
{
	return (bytes + PAGE_MAX - 1) & ~(PAGE_MAX - 1);
}

void *mt_pages_alloc(size_t n, size_t size)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - HUGE)
		return NULL;
	if (is_large(bytes))
		return map(round_up(bytes));
	bytes = (bytes + MT_CACHE_LINE) & ~(size_t)(MT_CACHE_LINE - 1);
	memory = aligned_alloc(MT_CACHE_LINE, bytes);
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

void mt_pages_free(void *memory, size_t n, size_t size)
{
	if (memory && is_large(n * size))
		munmap(memory, round_up(n * size));
	else
		free(memory);
}
