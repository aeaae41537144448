/*
 * placements.c - one address, different code at different times; one file, different addresses.
 *
 *	placements again PLUG OTHER	libplug.so; the same elsewhere; the same at its first place
 *	placements swap PLUG OTHER	libplug.so and libother.so take turns at one address
 *	placements fork PLUG OTHER	a child changes what it inherited, and so does its child;
 *					then the parent does
 *	placements vfork PLUG OTHER	a child in its parent's memory does
 *	placements exec PLUG OTHER N	executes itself N times
 *
 * All calls are made by use(), from one place, to plug_take() or other_take(), which are at one
 * place in their libraries: only the time tells one stack from another. Each placement is printed,
 * as a line of JSON with the times between which it came to be.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

#define SIZE 123
#define TURNS 6
#define MAPS_MAX 65536
#define STACK_SIZE 65536

struct library {
	void *handle;
	const char *path;
	uintptr_t base, address;
	uint64_t after;		/* it was not there yet */
};

static const char *plug_path, *other_path;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Where the file is mapped executable, as the kernel says. */
static void find_text(const char *path, unsigned long *ret_start, unsigned long *ret_end)
{
	static char maps[MAPS_MAX];
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t used = 0;
	char *line, *end, mode[5];
	ssize_t n;

	must(fd >= 0, "open maps");
	while ((n = read(fd, maps + used, sizeof(maps) - 1 - used)) > 0)
		used += n;
	close(fd);
	maps[used] = 0;
	for (line = maps; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (sscanf(line, "%lx-%lx %4s", ret_start, ret_end, mode) == 3 &&
		    mode[2] == 'x' && strlen(line) > strlen(path) &&
		    !strcmp(end - strlen(path), path))
			return;
	}
	must(0, "not mapped");
}

static void tell(const char *path, uintptr_t base, uint64_t after)
{
	unsigned long start, end;

	find_text(path, &start, &end);
	dprintf(STDOUT_FILENO, "{\"pid\": %d, \"path\": \"%s\", \"start\": %lu, \"end\": %lu, "
		"\"base\": %lu, \"after\": %llu, \"before\": %llu}\n", (int)getpid(), path, start,
		end, (unsigned long)base, (unsigned long long)after, (unsigned long long)now());
}

static void load(struct library *library, const char *path)
{
	struct link_map *map;

	library->path = path;
	library->after = now();
	library->handle = dlopen(path, RTLD_NOW);
	must(library->handle != NULL, "dlopen failed");
	must(!dlinfo(library->handle, RTLD_DI_LINKMAP, &map), "dlinfo failed");
	library->base = map->l_addr;
	library->address = (uintptr_t)dlsym(library->handle, path == plug_path ? "plug_take" :
					    "other_take");
	must(library->address != 0, "dlsym failed");
	tell(path, library->base, library->after);
}

static NOINLINE void use(const struct library *library, int calls)
{
	void *(*take)(size_t) = (void *(*)(size_t))library->address;

	while (calls--)
		must(take(SIZE) != NULL, "malloc failed");
}

/* Take the place of what is closed, so that the next one lands elsewhere. */
static void *occupy(const struct library *library)
{
	void *place = mmap((void *)(library->address & ~(uintptr_t)4095), 4096, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	must(place != MAP_FAILED, "the library was not unloaded");
	return place;
}

static int by_again(void)
{
	struct library first, second, third;
	void *place;

	load(&first, plug_path);
	use(&first, 101);
	dlclose(first.handle);
	place = occupy(&first);
	load(&second, plug_path);
	must(second.address != first.address, "it is where it was");
	use(&second, 103);
	dlclose(second.handle);
	munmap(place, 4096);
	load(&third, plug_path);
	must(third.address == first.address, "it is not where it was");
	use(&third, 107);
	return 0;
}

static int by_swap(void)
{
	uintptr_t address = 0;
	struct library library;
	int turn;

	for (turn = 0; turn < TURNS; turn++) {
		load(&library, turn % 2 ? other_path : plug_path);
		must(!address || library.address == address, "it is at another place");
		address = library.address;
		use(&library, 101 + turn);
		dlclose(library.handle);
	}
	return 0;
}

static void swap(struct library *plug, struct library *ret_other)
{
	dlclose(plug->handle);
	load(ret_other, other_path);
	must(ret_other->address == plug->address, "it is at another place");
}

static void reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == 0, "a child failed");
}

static pid_t new_child(const struct library *library)
{
	uint64_t after = now();
	pid_t pid = fork();

	must(pid >= 0, "fork failed");
	if (!pid)
		tell(library->path, library->base, after);
	return pid;
}

static NOINLINE void grandchild(const struct library *inherited)
{
	use(inherited, 131);
	_exit(0);
}

static NOINLINE void child(struct library *plug)
{
	struct library other;
	pid_t pid;

	use(plug, 109);
	swap(plug, &other);
	use(&other, 113);
	pid = new_child(&other);
	if (!pid)
		grandchild(&other);
	reap(pid);
	use(&other, 137);
	_exit(0);
}

static int by_fork(void)
{
	struct library plug, other;
	pid_t pid;

	load(&plug, plug_path);
	use(&plug, 101);
	pid = new_child(&plug);
	if (!pid)
		child(&plug);
	/* The child has put something else there; here it is what it was. */
	reap(pid);
	use(&plug, 103);
	swap(&plug, &other);
	use(&other, 107);
	return 0;
}

struct borrower {
	struct library *plug, *other;
	uint64_t after;
};

static NOINLINE int borrow(void *arg)
{
	struct borrower *borrower = arg;

	tell(plug_path, borrower->plug->base, borrower->after);
	use(borrower->plug, 109);
	swap(borrower->plug, borrower->other);
	use(borrower->other, 113);
	return 0;
}

static int by_vfork(void)
{
	struct library plug, other;
	struct borrower borrower = { .plug = &plug, .other = &other };
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	pid_t pid;

	must(stack != MAP_FAILED, "mmap failed");
	load(&plug, plug_path);
	use(&plug, 101);
	borrower.after = now();
	pid = clone(borrow, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &borrower);
	must(pid >= 0, "clone failed");
	reap(pid);
	/* Its mapping is this process's too, and as old. */
	tell(other_path, other.base, other.after);
	use(&other, 107);
	return 0;
}

static int by_exec(char **argv)
{
	struct library plug;
	char left[16], after[32];
	int n = atoi(argv[4]);
	char *args[] = { argv[0], "exec", argv[2], argv[3], left, after, NULL };

	tell(argv[0], _r_debug.r_map->l_addr, argv[5] ? strtoull(argv[5], NULL, 10) : 0);
	load(&plug, plug_path);
	use(&plug, 100 + n);
	if (!n)
		return 0;
	snprintf(left, sizeof(left), "%d", n - 1);
	snprintf(after, sizeof(after), "%llu", (unsigned long long)now());
	execv(argv[0], args);
	return 98;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	must(argc >= 4, "usage");
	plug_path = argv[2];
	other_path = argv[3];
	if (!strcmp(way, "again"))
		return by_again();
	if (!strcmp(way, "swap"))
		return by_swap();
	if (!strcmp(way, "fork"))
		return by_fork();
	if (!strcmp(way, "vfork"))
		return by_vfork();
	if (!strcmp(way, "exec") && argc >= 5)
		return by_exec(argv);
	return 64;
}
