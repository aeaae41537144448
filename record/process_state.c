#include "record/process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#define START_FIELD 22
#define STATE_FIELD 3

/* A stat file from the state on. -ESRCH: there is none. */
static int read_stat(const char *path, char *text, size_t size, const char **ret_state)
{
	char *after_comm;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		err = -errno;
	close(fd);
	if (n <= 0)
		return err ? err : -ESRCH;
	text[n] = '\0';
	/* The name may hold spaces and parentheses. */
	after_comm = strrchr(text, ')');
	if (!after_comm || after_comm[1] != ' ' || !after_comm[2])
		return -EINVAL;
	*ret_state = after_comm + 2;
	return 0;
}

int mt_process_look(int pid, char *ret_state, uint64_t *ret_start)
{
	char path[32], text[512];
	const char *at, *state;
	int err, field;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	err = read_stat(path, text, sizeof(text), &state);
	if (err)
		return err;
	for (at = state, field = STATE_FIELD; at && field < START_FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return -EINVAL;
	*ret_start = strtoull(at, NULL, 10);
	*ret_state = *state;
	return 0;
}

char mt_process_state(int pid)
{
	uint64_t start;
	char state;

	return mt_process_look(pid, &state, &start) ? 0 : state;
}

/* As a number, or -ESRCH, -errno. */
static int look_at_thread(int pid, int tid)
{
	char path[64], text[512];
	const char *state;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	err = read_stat(path, text, sizeof(text), &state);
	return err ? err : *state;
}

char mt_thread_state(int pid, int tid)
{
	int state = look_at_thread(pid, tid);

	return state < 0 ? 0 : (char)state;
}

/* A line of a status file. It may be of any length: there can be thousands of groups. */
static void read_pending(const char *line, struct mt_pending *pending)
{
	if (strncmp(line, "SigPnd:", 7) == 0)
		pending->thread = strtoull(line + 7, NULL, 16);
	else if (strncmp(line, "ShdPnd:", 7) == 0)
		pending->process = strtoull(line + 7, NULL, 16);
	else if (strncmp(line, "Threads:", 8) == 0)
		pending->n_threads = strtoull(line + 8, NULL, 10);
}

int mt_thread_pending(int pid, int tid, struct mt_pending *ret_pending)
{
	struct mt_pending pending = {};
	char text[1024], *at, *end;
	size_t kept = 0;
	ssize_t n;
	int fd;

	snprintf(text, sizeof(text), "/proc/%d/task/%d/status", pid, tid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((n = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
		text[kept + n] = '\0';
		for (at = text; (end = strchr(at, '\n')); at = end + 1)
			read_pending(at, &pending);
		/* What follows belongs to the rest of the line, unless that is too long. */
		kept = strlen(at) < sizeof(text) / 2 ? strlen(at) : 1;
		memmove(text, at, kept);
	}
	n = n < 0 ? -errno : 0;
	close(fd);
	if (n)
		return (int)n;
	*ret_pending = pending;
	return 0;
}

/* Has SIGSTOP been sent, and not been taken yet? */
static bool stop_is_pending(int pid)
{
	struct mt_pending pending;

	return !mt_thread_pending(pid, pid, &pending) &&
	       (pending.thread | pending.process) >> (SIGSTOP - 1) & 1;
}

int mt_process_each_thread(int pid, mt_thread_fn fn, void *arg)
{
	struct dirent *entry;
	char path[32];
	int result = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!result && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			result = fn(arg, atoi(entry->d_name));
	closedir(dir);
	return result;
}

struct stillness {
	int pid;
	bool any;
	bool any_stopped;
};

/* 1: it runs. */
static int look_whether_still(void *arg, int tid)
{
	struct stillness *stillness = arg;
	int state = look_at_thread(stillness->pid, tid);

	if (state == -ESRCH || state == 'Z' || state == 'X')
		return 0;
	if (state < 0)
		return state;
	stillness->any = true;
	stillness->any_stopped |= state == 'T' || state == 't';
	return state != 'T' && state != 't' && state != 'D';
}

int mt_process_all_stopped(int pid)
{
	struct stillness stillness = { .pid = pid };
	int result = mt_process_each_thread(pid, look_whether_still, &stillness);

	if (result)
		return result < 0 ? result : 0;
	/* No thread that could be read is not the same as all stopped. */
	if (!stillness.any)
		return -ESRCH;
	/* Who sleeps in the kernel (vfork) meets a stop that was sent before it runs any code. */
	return stillness.any_stopped || stop_is_pending(pid);
}
