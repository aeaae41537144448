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

/* Takes fd. */
static int open_stream(struct mt_new_file *file, int fd)
{
	int err;

	if (fd < 0)
		return -errno;
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

static int open_at_once(struct mt_new_file *file, const char *path)
{
	bool standard = !strcmp(path, "-");

	return open_stream(file, standard ? dup(STDOUT_FILENO) :
					    open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
}

static int open_beside(struct mt_new_file *file)
{
	int fd, err = mt_temporary_name(file->path, file->temporary);

	if (err)
		return err;
	fd = mkostemp(file->temporary, O_CLOEXEC);
	err = open_stream(file, fd);
	if (err && fd >= 0)
		unlink(file->temporary);
	return err;
}

int mt_new_file_open(struct mt_new_file *file, const char *path)
{
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(file->path, path, strlen(path) + 1);
	return open_beside(file);
}

int mt_new_file_open_output(struct mt_new_file *file, const char *path)
{
	file->temporary[0] = 0;
	if (!strcmp(path, "-") || is_written_to(path))
		return open_at_once(file, path);
	if (!realpath(path, file->path))
		return mt_new_file_open(file, path);
	return open_beside(file);
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
