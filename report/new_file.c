#include "report/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int mt_temporary_name(const char *path, char ret_name[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int n;

	/* The name is cut so that a long one leaves room for what is added. */
	n = snprintf(ret_name, PATH_MAX, "%.*s.%.200s.XXXXXX", (int)(name - path), path, name);
	return n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Pipes and devices stay what they are. */
static bool is_written_to(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int open_at_once(struct mt_new_file *file, const char *path)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), err;

	if (fd < 0)
		return -errno;
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

int mt_new_file_open(struct mt_new_file *file, const char *path, bool secret)
{
	mode_t mask = umask(0);
	int fd, err;

	umask(mask);
	file->temporary[0] = 0;
	if (!strcmp(path, "-") || is_written_to(path))
		return open_at_once(file, path);
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	/* /dev/stdout is not to be replaced, and neither is a link that the user made. */
	if (!realpath(path, file->path))
		memcpy(file->path, path, strlen(path) + 1);
	err = mt_temporary_name(file->path, file->temporary);
	if (err)
		return err;
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file->out = fdopen(fd, "w");
	err = !file->out || fchmod(fd, (secret ? 0600 : 0666) & ~mask) ? -errno : 0;
	if (!err)
		return 0;
	if (file->out)
		fclose(file->out);
	else
		close(fd);
	unlink(file->temporary);
	return err;
}

int mt_new_file_close(struct mt_new_file *file, int err)
{
	if (fclose(file->out) && !err)
		err = -errno;
	if (!file->temporary[0])
		return err;
	if (!err && rename(file->temporary, file->path))
		err = -errno;
	if (err)
		unlink(file->temporary);
	return err;
}
