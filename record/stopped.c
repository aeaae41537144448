#include "record/stopped.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/guardian.h"
#include "record/process_state.h"

struct one {
	int pid;
	int slot;	/* in the shared table, -1 if it is full */
	int pidfd;
	uint64_t since;
};

struct mt_stopped {
	struct mt_stop_table *table;
	struct one *processes;
	uint32_t n;
	uint32_t cap;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int mt_stopped_new(struct mt_stop_table *table, struct mt_stopped **ret_stopped)
{
	struct mt_stopped *stopped = calloc(1, sizeof(*stopped));

	if (!stopped)
		return -ENOMEM;
	stopped->table = table;
	*ret_stopped = stopped;
	return 0;
}

void mt_stopped_free(struct mt_stopped *stopped)
{
	if (!stopped)
		return;
	mt_stopped_resume_all(stopped);
	free(stopped->processes);
	free(stopped);
}

static int take_slot(struct mt_stop_table *table, int pid)
{
	int i;

	for (i = 0; i < MT_STOP_SLOTS; i++) {
		if (!table->pids[i]) {
			table->pids[i] = pid;
			return i;
		}
	}
	return -1;
}

/* 1: it was remembered already. */
static int remember(struct mt_stopped *stopped, int pid, uint64_t since)
{
	uint32_t cap = stopped->cap ? 2 * stopped->cap : 16, i;
	struct one *processes;
	int pidfd;

	for (i = 0; i < stopped->n; i++)
		if (stopped->processes[i].pid == pid)
			return 1;
	if (stopped->n == stopped->cap) {
		processes = realloc(stopped->processes, cap * sizeof(*processes));
		if (!processes)
			return -ENOMEM;
		stopped->processes = processes;
		stopped->cap = cap;
	}
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	stopped->processes[stopped->n++] = (struct one){
		.pid = pid, .slot = take_slot(stopped->table, pid), .pidfd = pidfd, .since = since,
	};
	return 0;
}

int mt_stopped_add(struct mt_stopped *stopped, int pid, uint64_t since, uint64_t deadline_ns)
{
	static const struct timespec pause = { .tv_nsec = 20000 };
	uint64_t start = now();
	int err = remember(stopped, pid, since);

	if (err > 0)
		return 1;
	if (err < 0) {
		/* Without a pidfd the number is all there is. */
		if (err != -ESRCH)
			kill(pid, SIGCONT);
		return err;
	}
	for (;;) {
		err = mt_process_all_stopped(pid);
		if (err)
			return err < 0 ? err : 0;
		if (now() - start > deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

uint64_t mt_stopped_resume_all(struct mt_stopped *stopped)
{
	uint64_t longest = 0, took;
	struct one *one;

	while (stopped->n) {
		one = &stopped->processes[--stopped->n];
		syscall(SYS_pidfd_send_signal, one->pidfd, SIGCONT, NULL, 0);
		close(one->pidfd);
		if (one->slot >= 0)
			stopped->table->pids[one->slot] = 0;
		took = now() - one->since;
		if (took > longest)
			longest = took;
	}
	return longest;
}
