#include "record/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* "start-end perms offset major:minor inode   path"; proc(5). */
static int parse_line(char *line, struct mt_proc_map *map, char ret_perms[5])
{
	int path_at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
		   &map->start, &map->end, ret_perms, &map->offset, &map->dev_major,
		   &map->dev_minor, &map->ino, &path_at) < 7)
		return -EINVAL;
	map->path = path_at ? line + path_at : "";
	return 0;
}

int mt_proc_maps_each(int pid, mt_proc_map_fn fn, void *arg)
{
	char name[32], perms[5], *line = NULL;
	struct mt_proc_map map;
	size_t cap = 0;
	FILE *file;
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (!err && getline(&line, &cap, file) > 0) {
		if (parse_line(line, &map, perms) || perms[2] != 'x')
			continue;
		err = fn(arg, &map);
	}
	free(line);
	fclose(file);
	return err;
}

static int open_as_listed(int pid, const struct mt_proc_map *map)
{
	char name[PATH_MAX + 32];
	struct stat st;
	int fd, err;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		 map->end);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	if (err != -EPERM && err != -EACCES)
		return err;

	snprintf(name, sizeof(name), "/proc/%d/root%s", pid, map->path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_ino != map->ino) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

struct search {
	const struct mt_proc_map *map;
	uint64_t start, end;	/* 0: not found */
};

static int find_file(void *arg, const struct mt_proc_map *map)
{
	struct search *search = arg;
	const struct mt_proc_map *old = search->map;

	if (map->ino != old->ino || map->dev_major != old->dev_major ||
	    map->dev_minor != old->dev_minor || map->start >= old->end || map->end <= old->start)
		return 0;
	search->start = map->start;
	search->end = map->end;
	return 1;
}

int mt_proc_map_open(int pid, const struct mt_proc_map *map)
{
	struct mt_proc_map now = *map;
	struct search search = { .map = map };
	int fd = open_as_listed(pid, map), err;

	if (fd >= 0)
		return fd;
	/* Unless it stands still, the process goes on meanwhile, or has come to its end. */
	err = mt_proc_maps_each(pid, find_file, &search);
	if (!search.end)
		return err && err != -ENOENT && err != -ESRCH ? fd : -ESRCH;
	now.start = search.start;
	now.end = search.end;
	return open_as_listed(pid, &now);
}
