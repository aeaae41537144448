/*
 * families.c - every allocator function of glibc, calls that fail among them.
 *
 * A call that fails takes no effect: no event, and realloc's old block stays.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <string.h>

#include "expect.h"

/* The compiler warns of sizes it knows to be too large. */
static volatile size_t huge = (size_t)1 << 62;
static volatile size_t zero;

static NOINLINE void *got(void *p, size_t size)
{
	must(p != NULL, "an allocation failed");
	expect_new(size);
	return p;
}

static NOINLINE void put(void *p, size_t size)
{
	expect_free(size);
	free(p);
}

static NOINLINE void plain(void)
{
	void *p = got(malloc(100), 100);
	void *q = got(calloc(7, 30), 210);

	must(malloc(huge) == NULL, "malloc(huge) succeeded");
	must(calloc(huge, 16) == NULL, "calloc(huge) succeeded");
	put(p, 100);
	put(q, 210);
	free(NULL);
	/* Empty blocks are blocks. */
	put(got(malloc(0), 0), 0);
	put(got(calloc(0, 8), 0), 0);
	/* Large ones come from mmap, inside the call. */
	put(got(malloc(1 << 20), 1 << 20), 1 << 20);
	put(got(calloc(3, 1 << 20), 3 << 20), 3 << 20);
}

static NOINLINE void *move(void *p, size_t old_size, size_t size)
{
	void *q = realloc(p, size);

	must(q != NULL, "realloc failed");
	if (p)
		expect_gone(old_size);
	expect_new(size);
	return q;
}

static NOINLINE void reallocs(void)
{
	void *p = move(NULL, 0, 50);
	void *q;

	p = move(p, 50, 60);
	p = move(p, 60, 6000);
	p = move(p, 6000, 2 << 20);
	p = move(p, 2 << 20, 4 << 20);
	p = move(p, 4 << 20, 10);
	must(realloc(p, huge) == NULL, "realloc(huge) succeeded");
	/* realloc(p, 0) frees in glibc: there is no new block. */
	must(realloc(p, zero) == NULL, "realloc(p, 0) gave a block");
	expect_free(10);
	q = move(NULL, 0, 0);
	put(q, 0);

	p = reallocarray(NULL, 10, 10);
	got(p, 100);
	must(reallocarray(p, huge, 16) == NULL && errno == ENOMEM, "reallocarray(huge) succeeded");
	q = reallocarray(p, 20, 10);
	expect_gone(100);
	got(q, 200);
	put(q, 200);
}

static NOINLINE void aligned(void)
{
	void *p = NULL;

	put(got(aligned_alloc(64, 640), 640), 640);
	put(got(memalign(256, 300), 300), 300);
	put(got(valloc(400), 400), 400);
	put(got(pvalloc(500), 500), 500);
	must(posix_memalign(&p, 128, 600) == 0, "posix_memalign failed");
	put(got(p, 600), 600);

	must(posix_memalign(&p, 3, 600) == EINVAL, "posix_memalign(3) succeeded");
	must(posix_memalign(&p, 64, huge) == ENOMEM, "posix_memalign(huge) succeeded");
	must(memalign(64, huge) == NULL, "memalign(huge) succeeded");
	must(aligned_alloc(64, huge) == NULL, "aligned_alloc(huge) succeeded");
	must(valloc(huge) == NULL, "valloc(huge) succeeded");
}

/* Functions of libc that allocate for their caller count as its malloc. */
static NOINLINE void inside_libc(void)
{
	char *p = strdup("twelve bytes");

	got(p, 13);
	put(p, 13);
}

int main(void)
{
	plain();
	reallocs();
	aligned();
	inside_libc();
	got(malloc(77), 77);
	got(aligned_alloc(32, 96), 96);
	expect_print();
	return 0;
}
