#include "record/guardian.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/process_state.h"
#include "record/process_walk.h"
#include "record/resume.h"
#include "record/ring.h"
#include "record/stop_table.h"

/* Programs end a moment after the last descriptor is closed; until then they may stop someone. */
#define WATCH_ROUNDS 100
#define WATCH_PAUSE_NS 10000000

/*
 * The recorder holds the lock while it lives. Of all that ends with a process this comes first:
 * descriptors are closed later, and one of them may wait for a program in which somebody waits for
 * us.
 */
struct shared {
	struct mt_stop_table table;
	pthread_mutex_t alive;
};

struct mt_guardian {
	pid_t pid;
	struct shared *shared;
};

/* They have got stop signals of somebody else back, and may stand still for these. */
static struct mt_stop_table passed_on;

/*
 * The programs know mt-record's signals from those of others, not ours: who is held while it gets
 * SIGCONT is held no more.
 */
static bool is_held(void *processes_fd, int pid)
{
	__u32 key = (__u32)pid;
	__u64 flags;

	return !bpf_map_lookup_elem(*(int *)processes_fd, &key, &flags) &&
	       flags & MT_PROCESS_HELD;
}

/* Not whom somebody else has stopped too. */
static void resume(int pid, int processes_fd)
{
	if (pid <= 0 || mt_stop_table_has(&passed_on, pid) || mt_process_state(pid) != 'T')
		return;
	if (mt_resume(pid, -1, is_held, &processes_fd) > 0)
		mt_stop_table_set(&passed_on, pid, true);
}

/* The programs stop whoever writes while a ring is nearly full, without a request for each. */
static void resume_marked(void *processes_fd, int pid, uint64_t flags)
{
	if (flags & (MT_PROCESS_STOPPED | MT_PROCESS_PAUSED))
		resume(pid, *(int *)processes_fd);
}

static void resume_all(struct mt_stop_table *table, struct mt_ring *requests, int processes_fd)
{
	struct timespec pause = { .tv_nsec = WATCH_PAUSE_NS };
	const void *data;
	size_t len;
	int round, pid;

	for (round = 0; round < WATCH_ROUNDS; round++) {
		for (pid = mt_stop_table_next(table, 0); pid;
		     pid = mt_stop_table_next(table, pid + 1))
			resume(pid, processes_fd);
		/* Not released, so that a request whose stop had not taken effect is met again. */
		mt_ring_restart(requests);
		while (mt_ring_next(requests, &data, &len))
			if (len >= sizeof(struct mt_ring_request))
				resume((int)((const struct mt_ring_request *)data)->pid,
				       processes_fd);
		mt_process_walk(processes_fd, resume_marked, &processes_fd);
		nanosleep(&pause, NULL);
	}
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void close_all_but(int *keep, size_t n)
{
	unsigned int first = 0;
	size_t i;

	qsort(keep, n, sizeof(*keep), compare_fds);
	for (i = 0; i < n; i++) {
		if ((unsigned int)keep[i] > first)
			syscall(SYS_close_range, first, keep[i] - 1, 0);
		first = keep[i] + 1;
	}
	syscall(SYS_close_range, first, ~0u, 0);
}

static void run(int requests_fd, int processes_fd, uint32_t *no_stops, struct shared *shared)
{
	int keep[] = { requests_fd, processes_fd };
	struct mt_ring *requests;
	sigset_t all;

	/* A signal for the group, or a closed terminal, is not for the guardian. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "mt-guardian");
	if (mt_ring_open(requests_fd, &requests))
		_exit(1);
	close_all_but(keep, MT_ARRAY_SIZE(keep));
	if (pthread_mutex_lock(&shared->alive) == EOWNERDEAD) {
		__atomic_store_n(no_stops, 1, __ATOMIC_RELEASE);
		resume_all(&shared->table, requests, processes_fd);
	}
	_exit(0);
}

static int share(struct shared **ret_shared)
{
	pthread_mutexattr_t attr;
	struct shared *shared;
	int err;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return -errno;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(&shared->alive, &attr);
	pthread_mutexattr_destroy(&attr);
	if (!err)
		err = pthread_mutex_lock(&shared->alive);
	if (err) {
		munmap(shared, sizeof(*shared));
		return -err;
	}
	*ret_shared = shared;
	return 0;
}

int mt_guardian_start(int requests_fd, int processes_fd, uint32_t *no_stops,
		      struct mt_guardian **ret_guardian)
{
	struct mt_guardian *guardian = calloc(1, sizeof(*guardian));
	int err;

	if (!guardian)
		return -ENOMEM;
	err = share(&guardian->shared);
	if (err) {
		free(guardian);
		return err;
	}
	guardian->pid = fork();
	if (guardian->pid == 0)
		run(requests_fd, processes_fd, no_stops, guardian->shared);
	if (guardian->pid < 0) {
		err = -errno;
		mt_guardian_free(guardian);
		return err;
	}
	*ret_guardian = guardian;
	return 0;
}

struct mt_stop_table *mt_guardian_table(struct mt_guardian *guardian)
{
	return &guardian->shared->table;
}

void mt_guardian_free(struct mt_guardian *guardian)
{
	if (!guardian)
		return;
	pthread_mutex_unlock(&guardian->shared->alive);
	if (guardian->pid > 0)
		waitpid(guardian->pid, NULL, 0);
	munmap(guardian->shared, sizeof(*guardian->shared));
	free(guardian);
}
