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

/* Has SIGSTOP been sent, and not been taken yet? */
static bool stop_is_pending(int pid)
{
	static const char *const fields[] = { "\nSigPnd:", "\nShdPnd:" };
	char text[4096], *at;
	unsigned long long pending = 0;
	size_t i;
	ssize_t n;
	int fd;

	snprintf(text, sizeof(text), "/proc/%d/status", pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (i = 0; i < MT_ARRAY_SIZE(fields); i++) {
		at = strstr(text, fields[i]);
		if (at)
			pending |= strtoull(at + strlen(fields[i]), NULL, 16);
	}
	return pending >> (SIGSTOP - 1) & 1;
}

int mt_process_all_stopped(int pid)
{
	bool any = false, any_stopped = false;
	struct dirent *entry;
	char path[32];
	int result = 1, state;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (result > 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		state = look_at_thread(pid, atoi(entry->d_name));
		if (state == -ESRCH || state == 'Z' || state == 'X')
			continue;
		if (state < 0) {
			result = state;
			break;
		}
		any = true;
		if (state == 'T' || state == 't')
			any_stopped = true;
		else if (state != 'D')
			result = 0;
	}
	closedir(dir);
	if (result < 0)
		return result;
	/* No thread that could be read is not the same as all stopped. */
	if (result && !any)
		return -ESRCH;
	/* Who sleeps in the kernel (vfork) meets a stop that was sent before it runs any code. */
	return result && (any_stopped || stop_is_pending(pid));
}
