/*
 * record/proc_maps.h - executable mappings of a process, from /proc/PID/maps.
 */
#ifndef MT_PROC_MAPS_H
#define MT_PROC_MAPS_H

#include <stdint.h>

struct mt_proc_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t ino;		/* 0: no file */
	const char *path;	/* valid during the callback */
};

/* Return non-zero to stop; mt_proc_maps_each() then returns it. */
typedef int (*mt_proc_map_fn)(void *arg, const struct mt_proc_map *map);

/* Each executable mapping in address order: 0, what fn returned, -errno (-ENOENT: no process). */
int mt_proc_maps_each(int pid, mt_proc_map_fn fn, void *arg);

/*
 * Open the very file behind a mapping, through map_files, whatever has become of its path; else,
 * where map_files is not permitted, by path inside the process's root if the inode agrees. An fd
 * or -errno; -ESRCH: nothing of it is mapped any more, or the process has ended.
 */
int mt_proc_map_open(int pid, const struct mt_proc_map *map);

#endif
