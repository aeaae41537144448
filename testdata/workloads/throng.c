/*
 * throng.c - many threads and processes at once, or for a moment; each makes a number of calls that
 * is known.
 *
 *	throng attached	200 threads, and three children with ten threads each, that were there
 *			before: once there is a file "go", each allocates, with a file
 *			"done.N" of each process, and again once there is a file "end"
 *	throng vfork	children by vfork() that allocate and free in their parent's memory
 *	throng brief	children, by fork and by exec, that live for 5 ms
 *	throng moment	5 ms
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

#define CHILDREN 3
#define CALLS 7
#define KEPT 4
#define THREADS_MAX 200

static pthread_barrier_t barrier;
static unsigned char *kept[THREADS_MAX][KEPT];
static long wrong;

static void nap(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static NOINLINE void *throng_take(size_t size)
{
	void *p = malloc(size);

	must(p != NULL, "malloc failed");
	memset(p, (int)(size & 0xff), size);
	return p;
}

static NOINLINE void *later_take(size_t size)
{
	void *p = malloc(size);

	must(p != NULL, "malloc failed");
	return p;
}

static void *member(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	unsigned int i, k;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < CALLS; i++) {
		unsigned char *p = throng_take(1000 + me);

		if (i < KEPT)
			kept[me][i] = p;
		else
			free(p);
	}
	pthread_barrier_wait(&barrier);
	/* Nobody records any more. */
	pthread_barrier_wait(&barrier);
	for (i = 0; i < KEPT; i++) {
		free(later_take(50));
		for (k = 0; k < 1000 + me; k++)
			__atomic_fetch_add(&wrong, kept[me][i][k] != ((1000 + me) & 0xff),
					   __ATOMIC_RELAXED);
		free(kept[me][i]);
	}
	return NULL;
}

static int run_process(unsigned int number, unsigned int threads)
{
	pthread_t ids[THREADS_MAX];
	char name[32];
	unsigned int i;
	int fd;

	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (i = 0; i < threads; i++)
		must(!pthread_create(&ids[i], NULL, member, (void *)(uintptr_t)i), "no thread");
	snprintf(name, sizeof(name), "ready.%u", number);
	fd = open(name, O_CREAT | O_WRONLY, 0666);
	must(fd >= 0 && !close(fd), "cannot write");
	while (access("go", F_OK))
		nap(10);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	snprintf(name, sizeof(name), "done.%u", number);
	fd = open(name, O_CREAT | O_WRONLY, 0666);
	must(fd >= 0 && !close(fd), "cannot write");
	while (access("end", F_OK))
		nap(10);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < threads; i++)
		must(!pthread_join(ids[i], NULL), "no thread to wait for");
	return wrong != 0;
}

static void reap(pid_t pid)
{
	int status;

	must(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a child failed");
}

static int run_attached(void)
{
	pid_t pids[CHILDREN];
	unsigned int i;
	int failed;

	for (i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(run_process(i + 1, 10));
	}
	failed = run_process(0, THREADS_MAX);
	for (i = 0; i < CHILDREN; i++)
		reap(pids[i]);
	printf("%ld bytes wrong\n", wrong);
	return failed;
}

/* In the parent's memory: what one of them leaves is the next one's, and the parent's. */
static void *volatile left[5];

static NOINLINE void vfork_child(int n)
{
	int i;

	for (i = 0; i < 11; i++) {
		left[n] = throng_take(500);
		free(left[n]);
	}
	left[n] = throng_take(600 + (size_t)n);
	if (n)
		free(left[n - 1]);
}

static int run_vfork(void)
{
	int i;

	for (i = 0; i < 5; i++) {
		pid_t pid = vfork();

		if (!pid) {
			vfork_child(i);
			_exit(0);
		}
		reap(pid);
		free(throng_take(700));
	}
	return 0;
}

static int run_moment(void)
{
	struct timespec start, now;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < 13; i++)
		throng_take(300);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 5000000);
	return 0;
}

static int run_brief(void)
{
	char *args[] = { "throng", "moment", NULL };
	int i;

	for (i = 0; i < 11; i++) {
		pid_t pid = fork();

		if (!pid && i % 2)
			_exit(run_moment());
		if (!pid) {
			execv("/proc/self/exe", args);
			_exit(98);
		}
		reap(pid);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "attached"))
		return run_attached();
	if (!strcmp(what, "vfork"))
		return run_vfork();
	if (!strcmp(what, "brief"))
		return run_brief();
	if (!strcmp(what, "moment"))
		return run_moment();
	return 64;
}
