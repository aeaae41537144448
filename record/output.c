#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/as_user.h"
#include "record/target.h"

/* Raw stack memory is nobody else's business: mode 0600, as perf does. */
static int open_file(const char *path, int flags, bool *ret_created)
{
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
	struct stat st;

	if (fd >= 0) {
		*ret_created = true;
		return fd;
	}
	if (errno != EEXIST)
		return -errno;
	fd = open(path, flags);
	/* What exists and yet is not there is a symbolic link to nothing: make what it names. */
	if (fd < 0 && errno == ENOENT && !(flags & O_NOFOLLOW))
		fd = open(path, flags | O_CREAT, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || S_ISDIR(st.st_mode)) {
		close(fd);
		return -EISDIR;
	}
	*ret_created = false;
	return fd;
}

struct opening {
	const char *path;
	int flags;
	bool *ret_created;
};

static int do_open(void *arg)
{
	const struct opening *opening = arg;

	return open_file(opening->path, opening->flags, opening->ret_created);
}

static int open_as(const char *path, int flags, const struct mt_identity *identity,
		   bool *ret_created)
{
	struct opening opening = {
		path, flags | (identity->change ? O_NOFOLLOW : 0), ret_created,
	};

	return mt_as_user(identity, do_open, &opening);
}

/* Two recordings into one file would be neither. Where files cannot be locked nobody can tell. */
static int claim(int fd, bool *created)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !flock(fd, LOCK_EX | LOCK_NB) ||
	    errno != EWOULDBLOCK)
		return fd;
	close(fd);
	*created = false;	/* whoever has locked it uses it */
	return -EBUSY;
}

/* What is said there, by the command as well, would be in the middle of the artifact. */
static bool shared_with_errors(void)
{
	struct stat out, err;

	return !fstat(STDOUT_FILENO, &out) && !fstat(STDERR_FILENO, &err) &&
	       !S_ISCHR(out.st_mode) && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

int mt_output_open(const char *path, const struct mt_identity *identity, bool *ret_created)
{
	int fd;

	if (!mt_output_is_stdout(path))
		return claim(open_as(path, O_WRONLY | O_CLOEXEC | O_NOCTTY, identity, ret_created),
			     ret_created);
	if (isatty(STDOUT_FILENO))
		return -ENOTTY;
	if (shared_with_errors())
		return -ENOTUNIQ;
	*ret_created = false;
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

static int copy_all(int from, int to)
{
	ssize_t n;

	do {
		n = sendfile(to, from, NULL, 1 << 20);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

int mt_output_restore(int fd, const char *path, const struct mt_identity *identity)
{
	char removed[32];
	struct stat st;
	bool created;
	int from, to, err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink)
		return 0;
	snprintf(removed, sizeof(removed), "/proc/self/fd/%d", fd);
	from = open(removed, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	to = open_as(path, O_WRONLY | O_CLOEXEC, identity, &created);
	/* Something else stands there by now. */
	if (to >= 0 && !created) {
		close(to);
		to = -EEXIST;
	}
	err = to < 0 ? to : copy_all(from, to);
	close(from);
	if (to >= 0)
		close(to);
	return err ? err : 1;
}
