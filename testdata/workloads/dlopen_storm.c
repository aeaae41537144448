/*
 * dlopen_storm.c - THREADS threads open, use and close each of the given libraries ROUNDS times.
 *
 *	dlopen_storm THREADS ROUNDS LIBRARY...
 *
 * Each use calls the library's plug_take(), which calls malloc once; the block is freed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rounds;
static char **libraries;

__attribute__((noinline)) static void use_once(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *(*alloc)(size_t) = library ? (void *(*)(size_t))dlsym(library, "plug_take") : NULL;

	if (!alloc) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	free(alloc(97));
	dlclose(library);
}

static void *work(void *arg)
{
	int i;
	char **library;

	for (i = 0; i < rounds; i++)
		for (library = libraries; *library; library++)
			use_once(*library);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int n = argc > 3 ? atoi(argv[1]) : 0, i;

	if (n < 1 || n > 64)
		return 64;
	rounds = atoi(argv[2]);
	libraries = argv + 3;
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
