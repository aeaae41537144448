/*
 * compiles.c - compile functions that call back, allocate in them, and say where they are as
 * programs do that compile code at run time.
 *
 *	compiles map|dump|both|none
 *
 * dump: jit-PID.dump in the current directory; map: /tmp/perf-PID.map. "first" is overwritten by
 * "second" at the same address, which only a dump's times can tell apart; a child calls what
 * its parent compiled.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

/* f(callback): frame record, call, return. */
#if defined(__x86_64__)
static const uint8_t code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
};
#define MACHINE 62
#elif defined(__aarch64__)
static const uint8_t code[] = {
	0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00, 0x3f, 0xd6,
	0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
};
#define MACHINE 183
#endif

typedef void (*compiled_fn)(void (*callback)(void));

struct load {
	uint32_t kind, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, len, index;
};

/* One line for each instruction that is of interest: the file's name once, then as it was. */
struct lines {
	uint32_t kind, size;
	uint64_t time;
	uint64_t addr, n;
};

struct line {
	uint64_t addr;
	uint32_t line, discriminator;
};

static FILE *map, *dump;
static uint64_t n_loads;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void open_files(const char *how)
{
	uint32_t header[10] = { 0x4a695444, 1, 40, MACHINE, 0, getpid() };
	char path[64];

	if (!strcmp(how, "map") || !strcmp(how, "both")) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		map = fopen(path, "w");
		must(map != NULL, "no map");
	}
	if (!strcmp(how, "dump") || !strcmp(how, "both")) {
		snprintf(path, sizeof(path), "jit-%d.dump", getpid());
		dump = fopen(path, "w+");
		must(dump && fwrite(header, sizeof(header), 1, dump) == 1 && !fflush(dump),
		     "no dump");
		/* What tells a profiler where it is. */
		must(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) !=
		     MAP_FAILED, "cannot map the dump");
	}
}

/* The call is on the second line of the function. */
static void dump_lines(uint8_t *at, uint32_t number)
{
	static const char file[] = "/src/compiled.js", same[] = "\xff";
	struct line entries[2] = {
		{ .addr = (uintptr_t)at, .line = number },
		{ .addr = (uintptr_t)at + 4, .line = number + 1 },
	};
	struct lines lines = { .kind = 2, .time = now(), .addr = (uintptr_t)at, .n = 2 };

	lines.size = sizeof(lines) + sizeof(entries) + sizeof(file) + sizeof(same);
	must(fwrite(&lines, sizeof(lines), 1, dump) == 1 &&
	     fwrite(&entries[0], sizeof(entries[0]), 1, dump) == 1 &&
	     fwrite(file, sizeof(file), 1, dump) == 1 &&
	     fwrite(&entries[1], sizeof(entries[1]), 1, dump) == 1 &&
	     fwrite(same, sizeof(same), 1, dump) == 1, "dump");
}

static compiled_fn compile(uint8_t *at, const char *name)
{
	struct load load = { .pid = getpid(), .tid = getpid(), .vma = (uintptr_t)at,
			     .addr = (uintptr_t)at, .len = sizeof(code), .index = n_loads++ };

	memcpy(at, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	if (map) {
		fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)at, sizeof(code), name);
		fflush(map);
	}
	if (dump) {
		dump_lines(at, 10 * (uint32_t)n_loads);
		load.size = sizeof(load) + strlen(name) + 1 + sizeof(code);
		load.time = now();
		must(fwrite(&load, sizeof(load), 1, dump) == 1 &&
		     fwrite(name, strlen(name) + 1, 1, dump) == 1 &&
		     fwrite(code, sizeof(code), 1, dump) == 1 && !fflush(dump), "dump");
	}
	return (compiled_fn)(uintptr_t)at;
}

static NOINLINE void allocate(void)
{
	static void *volatile p;

	p = malloc(1000);
	free(p);
}

static NOINLINE void repeat(compiled_fn f, int n)
{
	while (n--)
		f(allocate);
}

int main(int argc, char **argv)
{
	compiled_fn f;
	uint8_t *at;
	pid_t child;
	int status;

	must(argc == 2, "usage");
	printf("%d\n", getpid());
	fflush(stdout);
	open_files(argv[1]);
	at = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	must(at != MAP_FAILED, "mmap failed");
	repeat(compile(at, "first"), 101);
	f = compile(at, "second");
	repeat(f, 103);
	repeat(compile(at + 4096, "third(int, char const*) [with T = int; N = 3]"), 107);
	child = fork();
	if (!child) {
		repeat(f, 109);
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && !status, "child failed");
	return 0;
}
