/*
 * tests/bench/pairs.c - what a pair of malloc and free costs, in nanoseconds of processor time.
 *
 *	pairs N [THREADS]		N pairs by each thread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64

static unsigned long n;

static void *run(void *arg)
{
	void *volatile block;
	unsigned long i;

	for (i = 0; i < n; i++) {
		block = malloc(24 + (i & 63));
		free(block);
	}
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, i;
	pthread_t others[THREADS_MAX];
	struct timespec begin, end;
	double ns;

	n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (!n || !threads || threads > THREADS_MAX) {
		fputs("usage: pairs N [THREADS]\n", stderr);
		return 64;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, run, NULL))
			return 1;
	run(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
	printf("pairs: %.1f ns\n", ns / (double)n / (double)threads);
	return 0;
}
