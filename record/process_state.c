#include "record/process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
	/* One that sleeps in the kernel (vfork) meets the stop before it runs any code again. */
	return result && any_stopped;
}
