#include "report/jit_file.h"

#include "report/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file's times come from the kernel's tick, up to this much behind its clock. */
#define CLOCK_STEP (10 * 1000000ull)
/* How much the two clocks may drift apart, as a part of the time that passed. */
#define DRIFT 2000

bool mt_jit_is_dump(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits;

	if (strncmp(name, "jit-", 4))
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && !strcmp(name + 4 + digits, ".dump");
}

/* The moment by the wall clock, some time later or earlier as drift is 1 or -1. */
static uint64_t wall_clock(const struct mt_module_options *options, uint64_t time, int drift)
{
	uint64_t since = time > options->start_time ? time - options->start_time : 0;
	uint64_t slack = CLOCK_STEP + since / DRIFT, at;

	if (since > UINT64_MAX / 2 || options->start_realtime > UINT64_MAX / 4)
		return drift < 0 ? 0 : UINT64_MAX;
	at = options->start_realtime + since;
	if (drift < 0)
		return at > slack ? at - slack : 0;
	return at + slack;
}

static bool is_believed(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid() || geteuid() == 0;
}

enum mt_module_status mt_jit_open_map(const struct mt_module_options *options, const char *path,
				      uint64_t start, uint64_t end, int *ret_fd,
				      char reason[MT_REASON_MAX])
{
	enum mt_module_status status = MT_MODULE_UNREADABLE;
	struct stat st;
	int fd;

	if (options->sysroot) {
		fd = mt_module_file_open_in(options->sysroot, path);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
		if (fd < 0)
			fd = -errno;
	}
	if (fd < 0) {
		snprintf(reason, MT_REASON_MAX, "%s", fd == -ELOOP ? "a link" : strerror(-fd));
		return fd == -ENOENT || fd == -ENOTDIR ? MT_MODULE_GONE : MT_MODULE_UNREADABLE;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		snprintf(reason, MT_REASON_MAX, "not a file");
	} else if (!is_believed(&st)) {
		snprintf(reason, MT_REASON_MAX, "owned by user %u, whom only root believes",
			 st.st_uid);
	} else if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(reason, MT_REASON_MAX, "others may write to it");
	} else if (!mt_module_file_is_after(&st.st_mtim, wall_clock(options, start, -1))) {
		snprintf(reason, MT_REASON_MAX, "last written before the process was recorded");
		status = MT_MODULE_CHANGED;
	} else if (end != UINT64_MAX &&
		   mt_module_file_is_after(&st.st_mtim, wall_clock(options, end, 1))) {
		snprintf(reason, MT_REASON_MAX, "written to after the process had ended");
		status = MT_MODULE_CHANGED;
	} else {
		*ret_fd = fd;
		return MT_MODULE_VERIFIED;
	}
	close(fd);
	return status;
}
