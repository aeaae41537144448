/*
 * threads.c - four threads allocate, others free.
 *
 * Phase 1: each thread allocates BLOCKS blocks in worker_take(). Phase 2, after a barrier:
 * each frees the even ones of its neighbour. The threads' own bookkeeping in libc allocates
 * too: the account is of worker_take() only.
 */
#include <pthread.h>
#include <string.h>

#include "expect.h"

#define THREADS 4
#define BLOCKS 2500

static void *blocks[THREADS][BLOCKS];
static pthread_barrier_t barrier;

static size_t size_of(unsigned int thread, unsigned int i)
{
	return 32 + thread * 1000 + i % 50;
}

static NOINLINE void *worker_take(size_t size)
{
	void *p = malloc(size);

	must(p != NULL, "malloc failed");
	return p;
}

static NOINLINE void *worker(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg, other = (me + 1) % THREADS, i;

	for (i = 0; i < BLOCKS; i++)
		blocks[me][i] = worker_take(size_of(me, i));
	pthread_barrier_wait(&barrier);
	for (i = 0; i < BLOCKS; i += 2)
		free(blocks[other][i]);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned int t, i;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (t = 0; t < THREADS; t++)
		must(!pthread_create(&threads[t], NULL, worker, (void *)(uintptr_t)t),
		     "pthread_create failed");
	for (t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);

	for (t = 0; t < THREADS; t++)
		for (i = 0; i < BLOCKS; i++)
			expect_new(size_of(t, i));
	for (t = 0; t < THREADS; t++)
		for (i = 0; i < BLOCKS; i += 2)
			expect_free(size_of(t, i));
	expect_print();
	return 0;
}
