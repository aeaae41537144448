#include "record/stopped.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct one {
	int pid;
	int pidfd;
	uint64_t since;
};

struct mt_stopped {
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

int mt_stopped_new(struct mt_stopped **ret_stopped)
{
	struct mt_stopped *stopped = calloc(1, sizeof(*stopped));

	if (!stopped)
		return -ENOMEM;
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

/* State letter of a thread, proc(5); 0 if it is gone. */
static char thread_state(int pid, const char *tid)
{
	char path[64], line[512], *after_comm;
	FILE *file;
	char state = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file)) {
		/* The name may hold spaces and parentheses. */
		after_comm = strrchr(line, ')');
		if (after_comm && after_comm[1] == ' ')
			state = after_comm[2];
	}
	fclose(file);
	return state;
}

/* 1: every thread stands still, 0: not yet, -ESRCH: the process is gone. */
static int all_stopped(int pid)
{
	char path[32];
	struct dirent *entry;
	bool any = false, any_stopped = false;
	int result = 1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (result && (entry = readdir(dir))) {
		char state;

		if (entry->d_name[0] == '.')
			continue;
		state = thread_state(pid, entry->d_name);
		if (state == 0 || state == 'Z' || state == 'X')
			continue;
		any = true;
		if (state == 'T' || state == 't')
			any_stopped = true;
		else if (state != 'D')
			result = 0;
	}
	closedir(dir);
	/* No thread that could be read is not the same as all stopped. */
	if (result && !any)
		return -ESRCH;
	/* One that sleeps in the kernel (vfork) meets the stop before it runs any code again. */
	return result && any_stopped;
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
	stopped->processes[stopped->n++] = (struct one){ pid, pidfd, since };
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
		err = all_stopped(pid);
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
		took = now() - one->since;
		if (took > longest)
			longest = took;
	}
	return longest;
}
