#include "record/as_user.h"

#include <errno.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/target.h"

int mt_as_user(const struct mt_identity *identity, int (*fn)(void *arg), void *arg)
{
	gid_t groups[128];
	int n_groups, ret;

	if (!identity->change)
		return fn(arg);
	n_groups = getgroups(MT_ARRAY_SIZE(groups), groups);
	if (n_groups < 0)
		return -errno;
	if (initgroups(identity->name, identity->gid) || setegid(identity->gid) ||
	    seteuid(identity->uid))
		ret = -errno;
	else
		ret = fn(arg);
	if (seteuid(0) || setegid(0) || setgroups(n_groups, groups)) {
		if (ret > STDERR_FILENO)
			close(ret);
		return -EPERM;
	}
	return ret;
}

struct removal {
	int fd;
	const char *path;
};

static int do_remove(void *arg)
{
	const struct removal *removal = arg;
	struct stat ours, there;

	if (!fstat(removal->fd, &ours) && !lstat(removal->path, &there) &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlink(removal->path);
	return 0;
}

void mt_remove_as_user(const struct mt_identity *identity, int fd, const char *path)
{
	struct removal removal = { fd, path };

	mt_as_user(identity, do_remove, &removal);
}
