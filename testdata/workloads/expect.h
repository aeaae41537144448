/*
 * expect.h - a workload's own account of what it allocates, printed as JSON.
 *
 * The numbers are those of "mt-report stat --json": successful calls that allocate, bytes
 * asked for, calls of free() that had a block, and the highest sum of live bytes. Nothing here
 * allocates, so that the account is the whole truth about the process. Not for threads.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

struct expect {
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t peak_blocks;
	uint64_t peak_bytes;
};

static struct expect expect;

static inline void expect_new(uint64_t size)
{
	expect.allocations++;
	expect.allocated_bytes += size;
	expect.live_blocks++;
	expect.live_bytes += size;
	if (expect.live_bytes > expect.peak_bytes) {
		expect.peak_bytes = expect.live_bytes;
		expect.peak_blocks = expect.live_blocks;
	}
}

/* A block goes without a call of free(): by realloc(), or with its process at exec. */
static inline void expect_gone(uint64_t size)
{
	expect.live_blocks--;
	expect.live_bytes -= size;
}

static inline void expect_free(uint64_t size)
{
	expect.frees++;
	expect_gone(size);
}

static inline void expect_print(void)
{
	char line[512];
	int n;

	n = snprintf(line, sizeof(line),
		     "{\"allocations\": %llu, \"allocated_bytes\": %llu, \"frees\": %llu, "
		     "\"live_blocks\": %llu, \"live_bytes\": %llu, "
		     "\"peak_blocks\": %llu, \"peak_bytes\": %llu}\n",
		     (unsigned long long)expect.allocations,
		     (unsigned long long)expect.allocated_bytes, (unsigned long long)expect.frees,
		     (unsigned long long)expect.live_blocks, (unsigned long long)expect.live_bytes,
		     (unsigned long long)expect.peak_blocks, (unsigned long long)expect.peak_bytes);
	if (write(STDOUT_FILENO, line, n) != n)
		_exit(1);
}

/* For what must be true in the workload itself. */
static inline void must(int condition, const char *what)
{
	if (!condition) {
		dprintf(STDERR_FILENO, "workload: %s\n", what);
		_exit(99);
	}
}

#endif
