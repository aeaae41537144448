/*
 * sampled.c - blocks of sizes that are known, far below and far above a sampling distance.
 *
 *	sampled			what tests/live/sampling.py knows
 *	sampled leak N TIMES	TIMES processes, one after the other, that keep N blocks of 16 bytes
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

#define SMALL 60000
#define LARGE 400
#define GROWN 3000
#define THREADS 2
#define THREAD_BLOCKS 20000

static void *small[SMALL], *large[LARGE], *grown[GROWN];

static NOINLINE void *take_small(unsigned int i)
{
	return malloc(24 + i % 64);
}

static NOINLINE void *take_large(unsigned int i)
{
	return malloc(100000 + 997 * i);
}

static NOINLINE void *take_first(unsigned int i)
{
	return calloc(1, 64 + i % 32);
}

static NOINLINE void *take_grown(void *block, unsigned int i)
{
	return realloc(block, 4096 + i);
}

static NOINLINE void *take_shrunk(void *block, unsigned int i)
{
	return realloc(block, 700 + i % 100);
}

static NOINLINE void *take_in_thread(unsigned int i)
{
	return aligned_alloc(64, 192 + i % 512);
}

static void *in_thread(void *arg)
{
	void **blocks = arg;
	unsigned int i, turn;

	for (turn = 0; turn < THREAD_BLOCKS / 100; turn++) {
		for (i = 0; i < 100; i++)
			blocks[i] = take_in_thread(turn * 100 + i);
		for (i = 0; i < 100; i++)
			free(blocks[i]);
	}
	return NULL;
}

/* A child frees what is a copy of ours, and has blocks of its own at the same addresses. */
static void fork_and_free(void)
{
	int pid = fork(), status = -1;
	unsigned int i;

	if (!pid) {
		for (i = 0; i < SMALL; i += 8)
			free(small[i]);
		for (i = 0; i < SMALL; i += 8)
			small[i] = malloc(30);
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "child failed");
}

static void leak(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		must(malloc(16) != NULL, "malloc failed");
}

static int leak_often(unsigned long n, unsigned long times)
{
	int pid, status;

	while (times--) {
		pid = fork();
		if (!pid) {
			leak(n);
			_exit(0);
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid, "child failed");
	}
	return 0;
}

int main(int argc, char **argv)
{
	static void *blocks[THREADS][100];
	pthread_t threads[THREADS];
	unsigned int i;

	if (argc == 4)
		return leak_often(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	for (i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], NULL, in_thread, blocks[i]), "no thread");
	for (i = 0; i < SMALL; i++)
		small[i] = take_small(i);
	for (i = 0; i < LARGE; i++)
		large[i] = take_large(i);
	for (i = 0; i < GROWN; i++)
		grown[i] = take_first(i);
	for (i = 0; i < GROWN; i++)
		grown[i] = take_grown(grown[i], i);
	for (i = 0; i < GROWN; i += 2)
		grown[i] = take_shrunk(grown[i], i);
	fork_and_free();
	for (i = 0; i < SMALL; i++)
		if (i % 8)
			free(small[i]);
	for (i = 0; i < LARGE; i++)
		if (i % 10)
			free(large[i]);
	for (i = 0; i < GROWN; i++)
		if (i % 4)
			free(grown[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
