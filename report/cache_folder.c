#include "report/cache_folder.h"

#include "common/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME "memtrack"
#define LEFT_S 3600	/* a file half written for so long is not being written any more */

bool mt_cache_folder_is_ours(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Is path a folder of this user's own? Root who was given a user's HOME has none there. */
static bool is_own_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int join(const char *folder, const char *name, char **ret_path)
{
	return asprintf(ret_path, "%s/%s", folder, name) < 0 ? -ENOMEM : 0;
}

int mt_cache_folder_find(const char *dir, char **ret_path)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder;
	int err;

	if (dir) {
		*ret_path = strdup(dir);
		return *ret_path ? 0 : -ENOMEM;
	}
	/* The specification: what is not absolute is to be ignored. */
	if (base && base[0] == '/')
		return is_own_folder(base) ? join(base, NAME, ret_path) : -ENOENT;
	if (!home || home[0] != '/' || !is_own_folder(home))
		return -ENOENT;
	err = join(home, ".cache", &folder);
	if (err)
		return err;
	if (mkdir(folder, 0700) && errno != EEXIST)
		err = -errno;
	else
		err = is_own_folder(folder) ? join(folder, NAME, ret_path) : -EPERM;
	free(folder);
	return err;
}

int mt_cache_folder_open(const char *path, int *ret_fd, bool *ret_may_write)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST && errno != EROFS && errno != EACCES)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !mt_cache_folder_is_ours(&st)) {
		close(fd);
		return -EPERM;
	}
	*ret_may_write = st.st_uid == geteuid();
	*ret_fd = fd;
	return 0;
}

struct entry {
	char name[NAME_MAX + 1];
	struct timespec time;
	uint64_t size;
};

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n > m && !strcmp(s + n - m, tail);
}

static bool is_entry(const char *name)
{
	return name[0] != '.' && (ends_with(name, ".cfi") || ends_with(name, ".names"));
}

/* What mt_temporary_name() makes of an entry's name. */
static bool is_left(const char *name, const struct stat *st)
{
	return name[0] == '.' && (strstr(name, ".cfi.") || strstr(name, ".names.")) &&
	       st->st_mtime < time(NULL) - LEFT_S;
}

static int by_time(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;

	if (a->time.tv_sec != b->time.tv_sec)
		return a->time.tv_sec < b->time.tv_sec ? -1 : 1;
	if (a->time.tv_nsec != b->time.tv_nsec)
		return a->time.tv_nsec < b->time.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The entries, in *entries: how many. Out of memory: those there was room for. */
static size_t list(int fd, DIR *dir, struct entry **entries)
{
	struct entry *more;
	struct dirent *at;
	size_t n = 0, cap = 0;
	struct stat st;

	while ((at = readdir(dir))) {
		if (fstatat(fd, at->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (is_left(at->d_name, &st))
			unlinkat(fd, at->d_name, 0);
		if (!is_entry(at->d_name))
			continue;
		if (n == cap) {
			cap = cap ? 2 * cap : 64;
			more = reallocarray(*entries, cap, sizeof(*more));
			if (!more)
				return n;
			*entries = more;
		}
		snprintf((*entries)[n].name, sizeof((*entries)[n].name), "%s", at->d_name);
		(*entries)[n].time = st.st_mtim;
		(*entries)[n++].size = (uint64_t)st.st_size;
	}
	return n;
}

void mt_cache_folder_trim(int fd, uint64_t max)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct entry *entries = NULL;
	uint64_t total = 0;
	size_t n, i;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	n = list(fd, dir, &entries);
	for (i = 0; i < n; i++)
		total += entries[i].size;
	if (n && total > max)
		qsort(entries, n, sizeof(*entries), by_time);
	for (i = 0; i < n && total > max; i++) {
		unlinkat(fd, entries[i].name, 0);
		total -= entries[i].size;
	}
	free(entries);
	closedir(dir);
}
