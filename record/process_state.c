#include "record/process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static char state_in(const char *path)
{
	char line[512], *after_comm;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	line[n] = '\0';
	/* The name may hold spaces and parentheses. */
	after_comm = strrchr(line, ')');
	return after_comm && after_comm[1] == ' ' ? after_comm[2] : 0;
}

char mt_process_state(int pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return state_in(path);
}

char mt_thread_state(int pid, int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	return state_in(path);
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
	char path[32], state;
	int result = 1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (result && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		state = mt_thread_state(pid, atoi(entry->d_name));
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
	/* Who sleeps in the kernel (vfork) meets a stop that was sent before it runs any code. */
	return result && (any_stopped || stop_is_pending(pid));
}
