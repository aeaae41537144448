/*
 * adopted.c - a busy program to attach to: threads that allocate through libc and through a
 * library that is opened by name, and a number of calls of its own whenever it is asked.
 *
 *	adopted LIBRARY THREADS
 *
 * LIBRARY has malloc() and free(). Whenever there is a file "ask", it makes its calls and removes
 * the file; it ends once there is a file "end". What it prints does not depend on time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

#define THREADS_MAX 64
#define CALLS 263
#define LIBRARY_CALLS 271

static void *(*library_malloc)(size_t);
static void (*library_free)(void *);
static atomic_int ended;
static atomic_long wrong;

static NOINLINE void check_block(unsigned char *block, size_t size, unsigned char value)
{
	size_t i;

	memset(block, value, size);
	sched_yield();
	for (i = 0; i < size; i++)
		wrong += block[i] != value;
}

static NOINLINE void *be_busy(void *arg)
{
	unsigned char value = (unsigned char)(uintptr_t)arg;
	unsigned char *ours, *theirs;

	while (!ended) {
		ours = malloc(37 + value);
		theirs = library_malloc(41 + value);
		must(ours && theirs, "malloc failed");
		check_block(ours, 37 + value, value);
		check_block(theirs, 41 + value, value);
		ours = realloc(ours, 3000);
		must(ours != NULL, "realloc failed");
		wrong += *ours != value;
		library_free(theirs);
		free(ours);
		value++;
	}
	return NULL;
}

static NOINLINE void asked(void)
{
	void *block;
	int i;

	for (i = 0; i < CALLS; i++) {
		block = malloc(59);
		must(block != NULL, "malloc failed");
		free(block);
	}
	for (i = 0; i < LIBRARY_CALLS; i++) {
		block = library_malloc(61);
		must(block != NULL, "malloc failed");
		library_free(block);
	}
	__asm__ volatile("" ::: "memory");
}

static void *function(void *library, const char *name)
{
	void *address = dlsym(library, name);

	must(address != NULL, "dlsym failed");
	return address;
}

int main(int argc, char **argv)
{
	struct timespec pause = { .tv_nsec = 5000000 };
	pthread_t threads[THREADS_MAX];
	void *library;
	int n, i;

	must(argc > 2, "give a library and a number of threads");
	n = atoi(argv[2]);
	must(n >= 0 && n <= THREADS_MAX, "too many threads");
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	must(library != NULL, "dlopen failed");
	library_malloc = (void *(*)(size_t))function(library, "malloc");
	library_free = (void (*)(void *))function(library, "free");
	for (i = 0; i < n; i++)
		must(!pthread_create(&threads[i], NULL, be_busy, (void *)(uintptr_t)i),
		     "pthread_create failed");
	while (access("end", F_OK)) {
		if (!access("ask", F_OK)) {
			asked();
			unlink("ask");
		}
		nanosleep(&pause, NULL);
	}
	ended = 1;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads, %ld bytes wrong\n", n, wrong);
	return wrong != 0;
}
