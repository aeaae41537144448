/*
 * forkexec.c - a process tree, one process at a time, so that its peak is known.
 *
 * The parent keeps blocks throughout. Children by fork allocate, free their own and the
 * copied blocks, leak, and end; children by fork and exec, by vfork and exec and by
 * posix_spawn run this program again as "exec'd", which allocates and leaks.
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

#define PARENT_BLOCKS 101
#define PARENT_SIZE 1111
#define CHILD_BLOCKS 53
#define CHILD_SIZE 2222
#define EXEC_BLOCKS 29
#define EXEC_SIZE 3333
#define FORKS 3

extern char **environ;

static void *kept[PARENT_BLOCKS];

static NOINLINE void *parent_take(void)
{
	return malloc(PARENT_SIZE);
}

static NOINLINE void *child_take(void)
{
	return malloc(CHILD_SIZE);
}

static NOINLINE void *execd_take(void)
{
	return malloc(EXEC_SIZE);
}

static void reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == 0, "a child failed");
}

/* Frees its first block, leaks the others; frees its copy of the parent's first block. */
static NOINLINE void child(void)
{
	void *first = NULL, *p;
	int i;

	for (i = 0; i < CHILD_BLOCKS; i++) {
		p = child_take();
		must(p != NULL, "malloc failed");
		if (!first)
			first = p;
	}
	free(first);
	free(kept[0]);
	_exit(0);
}

static int execd(void)
{
	void *first = execd_take();
	int i;

	for (i = 1; i < EXEC_BLOCKS; i++)
		must(execd_take() != NULL, "malloc failed");
	free(first);
	return 0;
}

/* What one run of child() or execd() adds to the account. Its blocks stay, leaked. */
static void expect_process(unsigned int n, size_t size)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		expect_new(size);
	expect_free(size);
}

int main(int argc, char **argv)
{
	char *args[] = { argv[0], "exec'd", NULL };
	unsigned int i;
	pid_t pid;

	if (argc > 1)
		return execd();

	for (i = 0; i < PARENT_BLOCKS; i++)
		kept[i] = parent_take();
	for (i = 0; i < FORKS; i++) {
		pid = fork();
		must(pid >= 0, "fork failed");
		if (!pid)
			child();
		reap(pid);
	}

	pid = fork();
	if (!pid) {
		/* Discarded by the exec: neither freed nor leaked. */
		for (i = 0; i < CHILD_BLOCKS; i++)
			must(child_take() != NULL, "malloc failed");
		execv("/proc/self/exe", args);
		_exit(98);
	}
	reap(pid);

	pid = vfork();
	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(98);
	}
	reap(pid);

	must(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ), "spawn failed");
	reap(pid);

	/*
	 * The account. An ended process's blocks count as never freed, but no longer towards
	 * the current sum: the peak is that of the parent's blocks and one process's.
	 */
	for (i = 0; i < PARENT_BLOCKS; i++)
		expect_new(PARENT_SIZE);
	for (i = 0; i < FORKS; i++)
		expect_process(CHILD_BLOCKS, CHILD_SIZE);
	/* Freeing a copy is a call of free(), and changes nothing else. */
	expect.frees += FORKS;
	for (i = 0; i < CHILD_BLOCKS; i++)
		expect_new(CHILD_SIZE);
	for (i = 0; i < CHILD_BLOCKS; i++)
		expect_gone(CHILD_SIZE);
	for (i = 0; i < 3; i++)
		expect_process(EXEC_BLOCKS, EXEC_SIZE);
	expect.peak_bytes = PARENT_BLOCKS * PARENT_SIZE + CHILD_BLOCKS * CHILD_SIZE;
	expect.peak_blocks = PARENT_BLOCKS + CHILD_BLOCKS;
	expect_print();
	return 0;
}
