/*
 * remap.c - allocate from code that is not where its file says.
 *
 *	remap memfd PATH NAME	a function of a library that was copied into a memfd
 *	remap anonymous		the program's own text, copied into anonymous memory at the same
 *				address, as programs do that want it on huge pages
 *	remap copied PATH NAME	a library's text, copied into anonymous memory that replaces it,
 *				executable at once, as most of those programs do it
 *	remap later PATH NAME	the same, made executable when the text is there
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "expect.h"

#define CALLS 301

extern const char __executable_start[], etext[];

static NOINLINE void allocate(void)
{
	static void *volatile p;

	p = malloc(1000);
	free(p);
}

static NOINLINE void repeat(void (*f)(void), int n)
{
	while (n--)
		f();
}

/* Atomic: this code goes on in the copy. */
static NOINLINE void remap_text(void)
{
	uintptr_t start = ((uintptr_t)(const void *)allocate) & ~4095ul;
	size_t size = (((uintptr_t)etext + 4095) & ~4095ul) - start;
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(copy != MAP_FAILED, "mmap");
	memcpy(copy, (const void *)start, size);
	must(!mprotect(copy, size, PROT_READ | PROT_EXEC), "mprotect");
	must(mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) != MAP_FAILED,
	     "mremap");
}

/* The other way to get text onto huge pages: new memory over it, then the bytes. */
static void copy_text(void *function, int prot)
{
	uintptr_t start = (uintptr_t)function & ~4095ul;
	static char bytes[4096];

	memcpy(bytes, (const void *)start, sizeof(bytes));
	must(mmap((void *)start, sizeof(bytes), PROT_READ | PROT_WRITE | prot,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "mmap");
	memcpy((void *)start, bytes, sizeof(bytes));
	must(!mprotect((void *)start, sizeof(bytes), PROT_READ | PROT_EXEC), "mprotect");
}

static int run_copied(const char *path, const char *name, int prot)
{
	void *library = dlopen(path, RTLD_NOW), *function;

	must(library != NULL, "dlopen");
	function = dlsym(library, name);
	must(function != NULL, "dlsym");
	repeat((void (*)(void))(uintptr_t)function, 1);
	copy_text(function, prot);
	repeat((void (*)(void))(uintptr_t)function, 2);
	repeat(allocate, CALLS);
	return 0;
}

static void *open_in_memory(const char *path)
{
	int in = open(path, O_RDONLY), fd = memfd_create("plug", 0);
	char bytes[4096], name[64];
	void *library;
	ssize_t n;

	must(in >= 0 && fd >= 0, "open");
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		must(write(fd, bytes, n) == n, "write");
	close(in);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	library = dlopen(name, RTLD_NOW);
	must(library != NULL, "dlopen");
	return library;
}

int main(int argc, char **argv)
{
	void *function;

	must(argc >= 2, "usage");
	repeat(allocate, CALLS);
	if (!strcmp(argv[1], "anonymous")) {
		remap_text();
		repeat(allocate, 2 * CALLS);
		return 0;
	}
	if (!strcmp(argv[1], "copied") && argc == 4)
		return run_copied(argv[2], argv[3], PROT_EXEC);
	if (!strcmp(argv[1], "later") && argc == 4)
		return run_copied(argv[2], argv[3], 0);
	must(argc == 4 && !strcmp(argv[1], "memfd"), "usage");
	function = dlsym(open_in_memory(argv[2]), argv[3]);
	must(function != NULL, "dlsym");
	((void (*)(void))(uintptr_t)function)();
	return 0;
}
