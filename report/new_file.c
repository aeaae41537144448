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

int mt_new_file_open(struct mt_new_file *file, const char *path)
{
	mode_t mask = umask(0);
	int fd, err;

	umask(mask);
	file->path = path;
	err = mt_temporary_name(path, file->temporary);
	if (err)
		return err;
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file->out = fdopen(fd, "w");
	err = !file->out || fchmod(fd, 0666 & ~mask) ? -errno : 0;
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
	if (!err && rename(file->temporary, file->path))
		err = -errno;
	if (err)
		unlink(file->temporary);
	return err;
}
