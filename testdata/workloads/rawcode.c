/*
 * rawcode.c - map librawcode.so without the loader's help, call its malloc and free, unmap it.
 *
 *	rawcode HOW PATH [HOW PATH]...
 *
 * HOW the file becomes executable: "mmap", "mprotect", "fixed" (over other memory), "span" (an
 * mprotect() that begins in other memory).
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "expect.h"

#define CALLS 499
#define PAGE 4096

static char *map(void *at, size_t size, int prot, int flags, int fd)
{
	void *p = mmap(at, size, prot, MAP_PRIVATE | flags, fd, 0);

	must(p != MAP_FAILED, "mmap failed");
	return p;
}

static char *map_code(const char *how, int fd, size_t size)
{
	char *p;

	if (strcmp(how, "mmap") == 0)
		return map(NULL, size, PROT_READ | PROT_EXEC, 0, fd);
	if (strcmp(how, "mprotect") == 0) {
		p = map(NULL, size, PROT_READ, 0, fd);
		must(mprotect(p, size, PROT_READ | PROT_EXEC) == 0, "mprotect failed");
		return p;
	}
	p = map(NULL, PAGE + size, PROT_READ, MAP_ANONYMOUS, -1) + PAGE;
	if (strcmp(how, "fixed") == 0)
		return map(p, size, PROT_READ | PROT_EXEC, MAP_FIXED, fd);
	must(strcmp(how, "span") == 0, "unknown way to map");
	map(p, size, PROT_READ, MAP_FIXED, fd);
	must(mprotect(p - PAGE, PAGE + size, PROT_READ | PROT_EXEC) == 0, "mprotect failed");
	return p;
}

static void *find(const char *code, size_t size, const char mark[16])
{
	size_t i;

	for (i = 0; i + 16 < size; i += 16)
		if (memcmp(code + i, mark, 16) == 0)
			return (void *)(uintptr_t)(code + i + 16);
	must(0, "no mark in the file");
	return NULL;
}

/* Sizes, and so addresses, from first on: all different. */
static NOINLINE void use(void *(*take)(size_t), void (*give)(void *), size_t first)
{
	void *p;
	size_t i;

	for (i = 0; i < CALLS; i++) {
		p = take(first + i);
		must(p == (void *)((first + i) << 20), "wrong address");
		expect_new(first + i);
		if (i % 2) {
			give(p);
			expect_free(first + i);
		}
	}
}

int main(int argc, char **argv)
{
	void *take, *give;
	struct stat st;
	char *code;
	int i, fd;

	for (i = 1; i + 1 < argc; i += 2) {
		fd = open(argv[i + 1], O_RDONLY);
		must(fd >= 0 && fstat(fd, &st) == 0, "cannot open the file");
		code = map_code(argv[i], fd, st.st_size);
		close(fd);
		take = find(code, st.st_size, "rawcode: malloc\n");
		give = find(code, st.st_size, "rawcode: free()\n");
		use((void *(*)(size_t))take, (void (*)(void *))give, i * 1000);
		munmap(code, st.st_size);
	}
	expect_print();
	return 0;
}
