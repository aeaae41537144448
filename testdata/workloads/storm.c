/*
 * storm.c - THREADS threads make PAIRS malloc/free pairs each, as fast as they can. They begin
 * together, on stacks so small that glibc keeps them all: none takes over the stack of another
 * or frees it, so that glibc's own calls are the same in every run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long pairs;
static pthread_barrier_t begin;

__attribute__((noinline)) static void one_pair(unsigned long i)
{
	void *volatile block = malloc(16 + i % 64);

	free(block);
}

static void *work(void *arg)
{
	unsigned long i;

	pthread_barrier_wait(&begin);
	for (i = 0; i < pairs; i++)
		one_pair(i);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 1 ? atoi(argv[1]) : 1, i;
	pthread_attr_t small;
	pthread_t *ids = calloc(threads, sizeof(*ids));

	pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 10007;
	pthread_barrier_init(&begin, NULL, threads);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (i = 0; i < threads; i++)
		if (pthread_create(&ids[i], &small, work, NULL))
			return 1;
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	free(ids);
	printf("%lu\n", threads * pairs);
	return 0;
}
