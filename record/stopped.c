#include "record/stopped.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/guardian.h"
#include "record/process_state.h"
#include "record/programs.h"

#define LOOK_PAUSE_NS 20000

struct one {
	int pid;
	int pidfd;
	int slot;		/* in the shared table, -1 if that is full */
	unsigned int reasons;
	uint64_t since;
};

struct mt_stopped {
	struct mt_programs *programs;
	struct mt_stop_table *table;
	struct one *processes;
	uint32_t n;
	uint32_t cap;
	mt_stopped_fn tell;
	void *arg;
};

int mt_stopped_new(struct mt_programs *programs, struct mt_stop_table *table,
		   struct mt_stopped **ret_stopped)
{
	struct mt_stopped *stopped = calloc(1, sizeof(*stopped));

	if (!stopped)
		return -ENOMEM;
	stopped->programs = programs;
	stopped->table = table;
	*ret_stopped = stopped;
	return 0;
}

void mt_stopped_tell(struct mt_stopped *stopped, mt_stopped_fn fn, void *arg)
{
	stopped->tell = fn;
	stopped->arg = arg;
}

void mt_stopped_free(struct mt_stopped *stopped)
{
	if (!stopped)
		return;
	mt_stopped_release(stopped, MT_STOP_ATTACH);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
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

static struct one *find(struct mt_stopped *stopped, int pid)
{
	uint32_t i;

	for (i = 0; i < stopped->n; i++)
		if (stopped->processes[i].pid == pid)
			return &stopped->processes[i];
	return NULL;
}

static int make_room(struct mt_stopped *stopped)
{
	uint32_t cap = stopped->cap ? 2 * stopped->cap : 64;
	struct one *processes;

	if (stopped->n < stopped->cap)
		return 0;
	processes = reallocarray(stopped->processes, cap, sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	stopped->processes = processes;
	stopped->cap = cap;
	return 0;
}

static int remember(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason,
		    uint64_t since, struct one **ret_one)
{
	struct one *one = find(stopped, pid);
	int err, pidfd;

	if (one) {
		one->reasons |= reason;
		*ret_one = one;
		return 0;
	}
	err = make_room(stopped);
	if (err)
		return err;
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	one = &stopped->processes[stopped->n++];
	*one = (struct one){
		.pid = pid, .pidfd = pidfd, .slot = take_slot(stopped->table, pid),
		.reasons = reason, .since = since,
	};
	*ret_one = one;
	return 1;
}

static void forget(struct mt_stopped *stopped, struct one *one)
{
	close(one->pidfd);
	if (one->slot >= 0)
		stopped->table->pids[one->slot] = 0;
	*one = stopped->processes[--stopped->n];
}

static void resume(struct mt_stopped *stopped, struct one *one)
{
	bool held = mt_programs_process_flags(stopped->programs, one->pid) & MT_PROCESS_HELD;

	mt_programs_unstop(stopped->programs, one->pid);
	if (!held)
		syscall(SYS_pidfd_send_signal, one->pidfd, SIGCONT, NULL, 0);
}

int mt_stopped_add(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason, uint64_t since)
{
	struct one *one;
	int err = remember(stopped, pid, reason, since, &one);

	/* Without a pidfd the number is all there is to resume it by. */
	if (err < 0 && err != -ESRCH)
		kill(pid, SIGCONT);
	return err;
}

int mt_stopped_stop(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason)
{
	uint64_t flags = mt_programs_process_flags(stopped->programs, pid);
	struct one *one;
	int err;

	if (!find(stopped, pid) && !(flags & MT_PROCESS_STOPPED)) {
		char state = mt_process_state(pid);

		if (flags & MT_PROCESS_HELD || state == 'T' || state == 't')
			return 0;
	}
	err = remember(stopped, pid, reason, mt_now(), &one);
	if (err > 0 && syscall(SYS_pidfd_send_signal, one->pidfd, SIGSTOP, NULL, 0)) {
		err = -errno;
		forget(stopped, one);
	}
	return err;
}

int mt_stopped_wait(struct mt_stopped *stopped, int pid, uint64_t deadline)
{
	static const struct timespec pause = { .tv_nsec = LOOK_PAUSE_NS };
	uint32_t i = 0;

	while (i < stopped->n) {
		struct one *one = &stopped->processes[i];

		if ((pid && one->pid != pid) || mt_process_all_stopped(one->pid)) {
			i++;
			continue;
		}
		if (mt_now() > deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

uint32_t mt_stopped_count(const struct mt_stopped *stopped)
{
	return stopped->n;
}

uint64_t mt_stopped_release(struct mt_stopped *stopped, enum mt_stop_reason reason)
{
	uint64_t longest = 0, took;
	uint32_t i = 0;

	while (i < stopped->n) {
		struct one *one = &stopped->processes[i];

		one->reasons &= ~(unsigned int)reason;
		if (one->reasons) {
			i++;
			continue;
		}
		took = mt_now() - one->since;
		longest = took > longest ? took : longest;
		resume(stopped, one);
		if (stopped->tell)
			stopped->tell(stopped->arg, one->pid, took);
		forget(stopped, one);
	}
	return longest;
}
