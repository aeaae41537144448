/*
 * tests/unit/allocations.h - how often this program allocates, by whichever function of libc's.
 *
 * It defines these functions: for one source file of a program.
 */
#ifndef MT_TESTS_ALLOCATIONS_H
#define MT_TESTS_ALLOCATIONS_H

#include <errno.h>
#include <stddef.h>

static unsigned long allocations;

static inline void count_allocation(void)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
}

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer has functions of its own, which call this. */
void __sanitizer_malloc_hook(const volatile void *ptr, size_t size);
void __sanitizer_malloc_hook(const volatile void *ptr, size_t size)
{
	(void)ptr;
	(void)size;
	count_allocation();
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
	count_allocation();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count_allocation();
	return __libc_calloc(n, size);
}

/* reallocarray() comes by here. */
void *realloc(void *ptr, size_t size)
{
	count_allocation();
	return __libc_realloc(ptr, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	count_allocation();
	return __libc_memalign(align, size);
}

int posix_memalign(void **ret_ptr, size_t align, size_t size)
{
	void *ptr;

	count_allocation();
	ptr = __libc_memalign(align, size);
	if (!ptr)
		return ENOMEM;
	*ret_ptr = ptr;
	return 0;
}
#endif

#endif
