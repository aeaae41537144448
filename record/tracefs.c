#include "record/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

/* A folder descriptor of a mount that no path leads to. Needs CAP_SYS_ADMIN. -errno. */
static int open_detached(void)
{
	int context = fsopen("tracefs", FSOPEN_CLOEXEC), folder;

	if (context < 0)
		return -errno;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		folder = -errno;
	else
		folder = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
	if (folder == -1)
		folder = -errno;
	close(context);
	return folder;
}

static int read_id(int folder, const char *path, uint64_t *ret_id)
{
	char text[24], *end;
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	*ret_id = strtoull(text, &end, 10);
	return end == text ? -EINVAL : 0;
}

int mt_tracefs_id(const char *category, const char *name, uint64_t *ret_id)
{
	static const char *const places[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[128];
	int folder, err;
	size_t i;

	if (snprintf(path, sizeof(path), "events/%s/%s/id", category, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (i = 0; i < MT_ARRAY_SIZE(places); i++) {
		folder = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0)
			continue;
		err = read_id(folder, path, ret_id);
		close(folder);
		if (!err)
			return 0;
	}
	folder = open_detached();
	if (folder < 0)
		return folder;
	err = read_id(folder, path, ret_id);
	close(folder);
	return err;
}
