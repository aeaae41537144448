/*
 * births.c - one way to start a process or a thread at a time, each making a known number of calls.
 *
 *   births clone3|clone-vm|spawn|vfork|threads|daemon|thread-exec|brief [LIBRARY]
 *   births bomb N	N children, up to 64 at a time
 *   births execd N		what the others execute: N calls below execd()
 *   births wait		calls once there is a file "go"
 *
 * The calls are made by take(), called by a function that is named for the way.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

#define CLONE3_CALLS 211
#define THREADS 200
#define THREAD_CALLS 7
#define DAEMON_CALLS 311
#define BRIEF_CHILDREN 13
#define BOMB_CALLS 7
#define BOMB_ALIVE 64
#define CHILD_STACK 65536

extern char **environ;

static NOINLINE void *take(void)
{
	return malloc(1009);
}

static NOINLINE int takes(int n)
{
	int i;

	for (i = 0; i < n; i++)
		must(take() != NULL, "malloc failed");
	return 0;
}

static NOINLINE int execd(int n)
{
	takes(n);
	return 0;
}

static void reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == 0, "a child failed");
}

static void execute(char *calls)
{
	char *args[] = { "births", "execd", calls, NULL };

	execv("/proc/self/exe", args);
	_exit(98);
}

static NOINLINE void clone3_child(void)
{
	takes(CLONE3_CALLS);
	_exit(0);
}

static int by_clone3(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	must(pid >= 0, "clone3 failed");
	if (!pid)
		clone3_child();
	reap(pid);
	return 0;
}

static int borrow_memory(void *arg)
{
	execute(arg);
	return 0;
}

/* Memory is the parent's until exec, the stack its own; glibc's clone() has the assembly for it. */
static int by_clone_vm(void)
{
	char *stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	pid_t pid;

	must(stack != MAP_FAILED, "mmap failed");
	pid = clone(borrow_memory, stack + CHILD_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, "223");
	must(pid >= 0, "clone failed");
	reap(pid);
	return 0;
}

static int by_spawn(void)
{
	char *args[] = { "births", "execd", "227", NULL };
	pid_t pid;

	must(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ), "spawn failed");
	reap(pid);
	return 0;
}

static int by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		execute("229");
	must(pid > 0, "vfork failed");
	reap(pid);
	return 0;
}

static pthread_barrier_t together;

static NOINLINE void *one_thread(void *arg)
{
	pthread_barrier_wait(&together);
	takes(THREAD_CALLS);
	pthread_barrier_wait(&together);
	return arg;
}

static int by_threads(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 2 * CHILD_STACK);
	pthread_barrier_init(&together, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], &attr, one_thread, NULL), "no thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static NOINLINE void daemon_work(void)
{
	struct timespec pause = { .tv_nsec = 700000000 };

	/* The parents are gone, and whoever waited for them has gone on. */
	nanosleep(&pause, NULL);
	takes(DAEMON_CALLS);
	close(open("daemon-done", O_CREAT | O_WRONLY, 0644));
	_exit(0);
}

static int by_daemon(void)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0;
	setsid();
	pid = fork();
	if (pid)
		_exit(pid < 0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	daemon_work();
	return 0;
}

static int wait_for_file(void)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	while (access("go", F_OK))
		nanosleep(&pause, NULL);
	return takes(241);
}

static void *exec_in_thread(void *arg)
{
	execute("233");
	return arg;
}

static int by_thread_exec(void)
{
	pthread_t thread;

	takes(101);
	must(!pthread_create(&thread, NULL, exec_in_thread, NULL), "no thread");
	pthread_join(thread, NULL);
	return 1;
}

/* Over in a few milliseconds, with a library mapped meanwhile. */
static NOINLINE void brief_child(const char *library)
{
	void *plug = dlopen(library, RTLD_NOW);
	void *(*plug_take)(unsigned long) = plug ? dlsym(plug, "plug_take") : NULL;
	int i;

	must(plug_take != NULL, "no library");
	for (i = 0; i < 17; i++)
		must(plug_take(19) != NULL, "malloc failed");
	_exit(0);
}

static int by_brief(const char *library)
{
	int i;

	for (i = 0; i < BRIEF_CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			brief_child(library);
		reap(pid);
	}
	return 0;
}

static NOINLINE void bomb_child(void)
{
	takes(BOMB_CALLS);
	_exit(0);
}

static int by_bomb(int n)
{
	int i, status;

	for (i = 0; i < n + BOMB_ALIVE; i++) {
		if (i >= BOMB_ALIVE)
			must(wait(&status) > 0 && status == 0, "a child failed");
		if (i < n && fork() == 0)
			bomb_child();
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (strcmp(way, "execd") == 0 && argc > 2)
		return execd(atoi(argv[2]));
	if (strcmp(way, "clone3") == 0)
		return by_clone3();
	if (strcmp(way, "clone-vm") == 0)
		return by_clone_vm();
	if (strcmp(way, "spawn") == 0)
		return by_spawn();
	if (strcmp(way, "vfork") == 0)
		return by_vfork();
	if (strcmp(way, "threads") == 0)
		return by_threads();
	if (strcmp(way, "daemon") == 0)
		return by_daemon();
	if (strcmp(way, "wait") == 0)
		return wait_for_file();
	if (strcmp(way, "thread-exec") == 0)
		return by_thread_exec();
	if (strcmp(way, "bomb") == 0 && argc > 2)
		return by_bomb(atoi(argv[2]));
	if (strcmp(way, "brief") == 0 && argc > 2)
		return by_brief(argv[2]);
	return 64;
}
