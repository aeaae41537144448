/*
 * realloc_race.c - blocks move by realloc while other threads want their old addresses.
 *
 * An address that realloc gives up can be another thread's before realloc returns. Whoever
 * releases the old block only at realloc's return then ends the wrong block's life, and
 * live bytes are left over. Every block is freed: racer() leaves nothing.
 */
#include <pthread.h>
#include <string.h>

#include "expect.h"

#define THREADS 4
#define ROUNDS 3000

static NOINLINE void *race_new(size_t size)
{
	void *p = malloc(size);

	must(p != NULL, "malloc failed");
	return p;
}

static NOINLINE void *race_move(void *p, size_t size)
{
	p = realloc(p, size);
	must(p != NULL, "realloc failed");
	return p;
}

static NOINLINE void *racer(void *arg)
{
	void *a, *b;
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		a = race_new(2000);
		b = race_new(2000);
		a = race_move(a, 4000);
		b = race_move(b, 300000);
		free(a);
		free(b);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int t;

	for (t = 0; t < THREADS; t++)
		must(!pthread_create(&threads[t], NULL, racer, NULL), "pthread_create failed");
	for (t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);

	expect.allocations = THREADS * ROUNDS * 4;
	expect.allocated_bytes = (uint64_t)THREADS * ROUNDS * (2000 + 2000 + 4000 + 300000);
	expect.frees = THREADS * ROUNDS * 2;
	expect_print();
	return 0;
}
