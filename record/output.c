#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/target.h"

static int open_file(const char *path, int flags, bool *ret_created)
{
	int fd = open(path, flags | O_CREAT | O_EXCL, 0666);
	struct stat st;

	if (fd >= 0) {
		*ret_created = true;
		return fd;
	}
	if (errno != EEXIST)
		return -errno;
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || S_ISDIR(st.st_mode)) {
		close(fd);
		return -EISDIR;
	}
	*ret_created = false;
	return fd;
}

/*
 * Only the effective ids change, and come back: the kernel checks access and gives ownership by
 * them.
 */
int mt_output_open(const char *path, const struct mt_identity *identity, bool *ret_created)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY, fd, n_groups;
	gid_t groups[128];

	if (mt_output_is_stdout(path)) {
		if (isatty(STDOUT_FILENO))
			return -ENOTTY;
		*ret_created = false;
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	if (!identity->change)
		return open_file(path, flags, ret_created);

	n_groups = getgroups(MT_ARRAY_SIZE(groups), groups);
	if (n_groups < 0)
		return -errno;
	if (initgroups(identity->name, identity->gid) || setegid(identity->gid) ||
	    seteuid(identity->uid))
		fd = -errno;
	else
		fd = open_file(path, flags | O_NOFOLLOW, ret_created);
	if (seteuid(0) || setegid(0) || setgroups(n_groups, groups)) {
		if (fd >= 0)
			close(fd);
		return -EPERM;
	}
	return fd;
}
