/*
 * bigcode.c - allocate from one place while memory comes and goes around much code.
 *
 * Two pieces of code lie 512 MiB apart, the distance at which the recorder's table of code pages
 * has one place for both, and data are mapped, moved and unmapped 512 MiB further on. The stack
 * holds numbers that could be addresses. None of this makes the calls come from another path.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "expect.h"

#define APART ((size_t)512 << 20)
#define PIECE ((size_t)1 << 20)
#define CALLS 1009
#define NOISE 16

static char *map(char *at, int prot)
{
	void *p = mmap(at, PIECE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	must(p == at, "mmap failed");
	return p;
}

/* Numbers that differ from call to call: addresses, but neither of code nor as far from it. */
static NOINLINE void one_path(char *data, size_t n)
{
	volatile size_t noise[NOISE];
	void *volatile block;
	size_t i;

	for (i = 0; i < NOISE; i++)
		noise[i] = ((size_t)0x100 << 32) + APART / 2 + (n * NOISE + i) * 4099;
	block = malloc(100);
	must(block != NULL && noise[n % NOISE] != 0, "malloc failed");
	expect_new(100);
	free(block);
	expect_free(100);
	map(data, PROT_READ | PROT_WRITE);
	must(mremap(data, PIECE, PIECE, MREMAP_MAYMOVE | MREMAP_FIXED, data + PIECE) != MAP_FAILED,
	     "mremap failed");
	must(munmap(data + PIECE, PIECE) == 0, "munmap failed");
}

int main(void)
{
	char *area = mmap(NULL, 4 * APART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *base;
	size_t n;

	must(area != MAP_FAILED, "mmap failed");
	base = area + APART - ((size_t)area & (APART - 1));
	map(base, PROT_READ | PROT_EXEC);
	map(base + APART, PROT_READ | PROT_EXEC);
	for (n = 0; n < CALLS; n++) {
		/* Code that moves is code elsewhere, once more. */
		if (n == CALLS / 2)
			must(mremap(base, PIECE, PIECE, MREMAP_MAYMOVE | MREMAP_FIXED,
				    base + 2 * PIECE) != MAP_FAILED, "mremap failed");
		one_path(base + 2 * APART, n);
	}
	expect_print();
	return 0;
}
