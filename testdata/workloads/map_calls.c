/*
 * map_calls.c - known prime numbers of calls of mmap, munmap, mremap and brk, which it makes itself
 * and does not leave to the C library; its account of what is mapped at the end, and at most.
 *
 * munmap takes regions whole, from either end, out of their middle, and two at a time; mremap
 * makes them larger and smaller, in place and elsewhere. Calls that fail are no events.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

#define PAGE 4096ul
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static uint64_t live, peak, maps, unmaps, remaps, breaks;

static void grow(uint64_t pages)
{
	live += pages * PAGE;
	if (live > peak)
		peak = live;
}

static NOINLINE char *map(uint64_t pages, int prot)
{
	char *p = (char *)syscall(SYS_mmap, 0, pages * PAGE, prot, ANON, -1, 0);

	must(p != MAP_FAILED, "mmap failed");
	maps++;
	grow(pages);
	return p;
}

static NOINLINE void unmap(char *p, uint64_t pages, uint64_t mapped)
{
	must(!syscall(SYS_munmap, p, pages * PAGE), "munmap failed");
	unmaps++;
	live -= mapped * PAGE;
}

static NOINLINE char *remap(char *p, uint64_t pages, uint64_t next, int flags, void *where)
{
	p = (char *)syscall(SYS_mremap, p, pages * PAGE, next * PAGE, flags, where);
	must(p != MAP_FAILED, "mremap failed");
	remaps++;
	live -= pages * PAGE;
	grow(next);
	return p;
}

static NOINLINE void use_maps(void)
{
	char *p, *q;
	int i;

	for (i = 0; i < 101; i++) {
		p = map(1 + (uint64_t)i % 7, i % 2 ? PROT_READ | PROT_WRITE : PROT_NONE);
		if (i % 3)
			unmap(p, 1 + (uint64_t)i % 7, 1 + (uint64_t)i % 7);
	}
	/* From both ends, out of the middle, and what is left of it at once. */
	p = map(20, PROT_READ);
	unmap(p, 3, 3);
	unmap(p + 18 * PAGE, 2, 2);
	unmap(p + 7 * PAGE, 4, 4);
	unmap(p, 20, 11);
	/* A part of each of two. */
	p = map(16, PROT_READ);
	q = (char *)syscall(SYS_mmap, p + 8 * PAGE, 8 * PAGE, PROT_READ, ANON | MAP_FIXED, -1, 0);
	must(q == p + 8 * PAGE, "mmap moved");
	maps++;
	unmap(p + 4 * PAGE, 8, 8);
	must(syscall(SYS_mmap, 0, 0, PROT_READ, ANON, -1, 0) == -1, "mmap of nothing");
	must(syscall(SYS_munmap, 1, 1) == -1, "munmap of an odd address");
}

static NOINLINE void use_remaps(void)
{
	char *p, *q;
	int i;

	for (i = 0; i < 29; i++) {
		p = map(4, PROT_READ | PROT_WRITE);
		memset(p, i, 4 * PAGE);
		p = remap(p, 4, 40, MREMAP_MAYMOVE, NULL);
		must(p[4 * PAGE - 1] == (char)i, "mremap lost something");
		if (i % 2)
			unmap(p, 40, 40);
	}
	p = map(8, PROT_READ);
	p = remap(p, 8, 2, 0, NULL);
	q = map(10, PROT_READ);
	/* Over another one, which is gone then. */
	p = remap(p, 2, 5, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	live -= 5 * PAGE;
	must(syscall(SYS_mremap, p, 5 * PAGE, 1ul << 50, 0, 0) == -1, "mremap to too much");
}

static NOINLINE void use_break(void)
{
	char *end = (char *)syscall(SYS_brk, 0);
	int i;

	for (i = 0; i < 17; i++) {
		end += 3 * PAGE;
		must((char *)syscall(SYS_brk, end) == end, "brk failed");
		breaks++;
		grow(3);
	}
	for (i = 0; i < 6; i++) {
		end -= 2 * PAGE;
		must((char *)syscall(SYS_brk, end) == end, "brk failed");
		breaks++;
		live -= 2 * PAGE;
	}
	must((char *)syscall(SYS_brk, end) == end && (char *)syscall(SYS_brk, 1) == end,
	     "the break moved");
}

static char line[256];

int main(void)
{
	int n;

	use_maps();
	use_remaps();
	use_break();
	n = snprintf(line, sizeof(line),
		     "{\"mmap\": %d, \"munmap\": %d, \"mremap\": %d, \"brk\": %d, \"live\": %llu, "
		     "\"peak\": %llu}\n",
		     (int)maps, (int)unmaps, (int)remaps, (int)breaks, (unsigned long long)live,
		     (unsigned long long)peak);
	must(write(1, line, (size_t)n) == n, "cannot write");
	_exit(0);
}
