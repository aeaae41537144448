/*
 * c_calls.c - known prime numbers of calls of the C library's allocator functions, whoever
 * implements them. -DMUSL leaves out what musl lacks, -DPREFIX=je_ calls je_malloc() and so on.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../workloads/expect.h"

#ifdef PREFIX
#define NAME2(prefix, name) prefix##name
#define NAME1(prefix, name) NAME2(prefix, name)
#define NAME(name) NAME1(PREFIX, name)
void *NAME(malloc)(size_t size);
void *NAME(calloc)(size_t count, size_t size);
void *NAME(realloc)(void *p, size_t size);
void *NAME(aligned_alloc)(size_t align, size_t size);
int NAME(posix_memalign)(void **p, size_t align, size_t size);
void NAME(free)(void *p);
#else
#define NAME(name) name
#include <malloc.h>
#endif

static volatile size_t huge = (size_t)1 << 62;

static NOINLINE void *got(void *p, size_t size)
{
	must(p != NULL, "an allocation failed");
	memset(p, 0x5a, size);
	expect_new(size);
	return p;
}

static NOINLINE void put(void *p, size_t size)
{
	expect_free(size);
	NAME(free)(p);
}

#define EACH(n, size, call)                            \
	do {                                           \
		for (i = 0; i < (n); i++) {            \
			size_t s = (size);             \
			put(got(call, s), s);          \
		}                                      \
	} while (0)

static NOINLINE void reallocs(int n)
{
	void *p = NULL;
	size_t size = 0, next;
	int i;

	for (i = 0; i < n; i++) {
		next = 1 + (size_t)i * i % 40000;
		p = NAME(realloc)(p, next);
		must(p != NULL, "realloc failed");
		if (size)
			expect_gone(size);
		expect_new(next);
		size = next;
	}
	must(NAME(realloc)(p, huge) == NULL, "realloc(huge) succeeded");
	put(p, size);
}

static NOINLINE void *aligned(size_t align, size_t size)
{
	void *p = NULL;

	must(NAME(posix_memalign)(&p, align, size) == 0, "posix_memalign failed");
	must((uintptr_t)p % align == 0, "not aligned");
	return p;
}

NOINLINE void work(void)
{
	int i;

	EACH(1009, 1 + i % 700, NAME(malloc)(s));
	EACH(211, 8 * (i + 1), NAME(calloc)(8, s / 8));
	EACH(11, 1 << 20, NAME(malloc)(s));
	EACH(101, 64 * (i + 1), NAME(aligned_alloc)(64, s));
	EACH(103, 100 + i, aligned(1 << (i % 8 + 4), s));
	reallocs(307);
#ifndef PREFIX
	EACH(53, 1 + i, memalign(32, s));
#ifndef MUSL
	EACH(47, 1 + i, valloc(s));
#endif
	EACH(43, 10 * (i + 1), reallocarray(NULL, 10, s / 10));
	EACH(41, 1 + strlen("known"), strdup("known"));
#endif
	must(NAME(malloc)(huge) == NULL, "malloc(huge) succeeded");
	must(NAME(calloc)(huge, 16) == NULL, "calloc(huge) succeeded");
	for (i = 0; i < 7; i++)
		got(NAME(malloc)(1000), 1000);
	NAME(free)(NULL);
}

int main(void)
{
	work();
	expect_print();
	return 0;
}
