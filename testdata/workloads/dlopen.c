/*
 * dlopen.c - load libplug.so, allocate through it, unload it, occupy its place, load it again.
 *
 *	dlopen PATH-OF-LIBPLUG
 *
 * The second loading lands elsewhere: one module, two placements. The loader allocates
 * too; the account is of plug_take() only.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "expect.h"

#define CALLS 100
#define SIZE 123

static NOINLINE uintptr_t use(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *(*take)(size_t);
	void *address;
	int i;

	must(library != NULL, "dlopen failed");
	address = dlsym(library, "plug_take");
	must(address != NULL, "dlsym failed");
	take = (void *(*)(size_t))address;
	for (i = 0; i < CALLS; i++) {
		must(take(SIZE) != NULL, "malloc failed");
		expect_new(SIZE);
	}
	dlclose(library);
	return (uintptr_t)address;
}

int main(int argc, char **argv)
{
	uintptr_t first, second;

	must(argc > 1, "give the path of libplug.so");
	first = use(argv[1]);
	must(mmap((void *)(first & ~(uintptr_t)4095), 4096, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED,
	     "the library was not unloaded");
	second = use(argv[1]);
	must(first != second, "the library is where it was");
	expect_print();
	return 0;
}
