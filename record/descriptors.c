#include "record/descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEPT_FREE 12

void mt_descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int mt_descriptor_keep(int fd)
{
	struct rlimit limit;

	if (fd < 0)
		return -errno;
	if (fd < MT_DESCRIPTORS_MAX &&
	    (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	     (rlim_t)fd + KEPT_FREE < limit.rlim_cur))
		return fd;
	close(fd);
	return -EMFILE;
}

const char *mt_descriptor_path(int fd, char buf[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, PATH_MAX - 1);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}
