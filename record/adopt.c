#include "record/adopt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "record/attach_worker.h"
#include "record/clock.h"
#include "record/decode.h"
#include "record/mmap_events.h"
#include "record/proc_maps.h"
#include "record/programs.h"

#define COMM_MAX 16

struct adopted_thread {
	int tid;
	char comm[COMM_MAX];
};

struct adopted {
	int pid;
	uint64_t time;		/* just before its mappings were listed */
	struct adopted_thread *threads;
	size_t n_threads;
	struct mt_mmap_record *maps;	/* paths are owned */
	size_t n_maps;
};

struct mt_adoption {
	struct mt_programs *programs;
	struct mt_mmap_events *mappings;
	struct adopted *processes;
	size_t n;
	uint64_t end;		/* when all were adopted */
};

void mt_adoption_free(struct mt_adoption *adoption)
{
	struct adopted *one;
	size_t i;

	if (!adoption)
		return;
	while (adoption->n) {
		one = &adoption->processes[--adoption->n];
		for (i = 0; i < one->n_maps; i++)
			free((char *)(uintptr_t)one->maps[i].path);
		free(one->maps);
		free(one->threads);
	}
	free(adoption->processes);
	free(adoption);
}

static void read_comm(int pid, int tid, char comm[COMM_MAX])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, comm, COMM_MAX - 1);
	if (fd >= 0)
		close(fd);
	comm[n > 0 ? n : 0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
}

static bool has_thread(const struct adopted *one, int tid)
{
	size_t i;

	for (i = 0; i < one->n_threads; i++)
		if (one->threads[i].tid == tid)
			return true;
	return false;
}

static int add_thread(struct mt_adoption *adoption, struct adopted *one, int tid)
{
	struct adopted_thread *threads;
	int err = mt_mmap_events_follow(adoption->mappings, tid);

	if (err == -ESRCH)	/* it has ended meanwhile */
		return 0;
	if (err)
		return err;
	threads = reallocarray(one->threads, one->n_threads + 1, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	one->threads = threads;
	threads[one->n_threads].tid = tid;
	read_comm(one->pid, tid, threads[one->n_threads].comm);
	one->n_threads++;
	return 1;
}

/* All threads, until a pass finds no new one: then all are followed, and their children. */
static int follow_threads(struct mt_adoption *adoption, struct adopted *one)
{
	struct dirent *entry;
	char path[32];
	bool found;
	DIR *dir;
	int err = 0, tid;

	snprintf(path, sizeof(path), "/proc/%d/task", one->pid);
	do {
		found = false;
		dir = opendir(path);
		if (!dir)
			return errno == ENOENT ? -ESRCH : -errno;
		while (err >= 0 && (entry = readdir(dir))) {
			tid = atoi(entry->d_name);
			if (tid <= 0 || has_thread(one, tid))
				continue;
			err = add_thread(adoption, one, tid);
			found |= err > 0;
		}
		closedir(dir);
	} while (err >= 0 && found);
	return err < 0 ? err : 0;
}

static int add_map(void *arg, const struct mt_proc_map *map)
{
	struct adopted *one = arg;
	struct mt_mmap_record *maps = reallocarray(one->maps, one->n_maps + 1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	one->maps = maps;
	maps[one->n_maps] = (struct mt_mmap_record){
		.pid = one->pid, .start = map->start, .end = map->end, .offset = map->offset,
		.dev_major = map->dev_major, .dev_minor = map->dev_minor, .ino = map->ino,
		.path = strdup(map->path),
	};
	if (!maps[one->n_maps].path)
		return -ENOMEM;
	one->n_maps++;
	return 0;
}

static int list_maps(struct mt_adoption *adoption, struct adopted *one)
{
	struct mt_code_range *ranges;
	size_t i;
	int err = mt_proc_maps_each(one->pid, add_map, one);

	/* What has ended still has a list, an empty one. */
	if (!err && !one->n_maps)
		err = -ESRCH;
	if (err)
		return err;
	ranges = calloc(one->n_maps + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	for (i = 0; i < one->n_maps; i++)
		ranges[i] = (struct mt_code_range){ one->maps[i].start, one->maps[i].end };
	err = mt_programs_adopt_code(adoption->programs, one->pid, ranges, one->n_maps);
	free(ranges);
	return err;
}

static int adopt_one(struct mt_adoption *adoption, int pid)
{
	struct adopted *processes, *one;
	int err;

	processes = reallocarray(adoption->processes, adoption->n + 1, sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	adoption->processes = processes;
	one = &processes[adoption->n++];
	*one = (struct adopted){ .pid = pid };

	err = follow_threads(adoption, one);
	if (!err)
		err = mt_programs_adopt(adoption->programs, pid);
	/* Threads created between the last look and the adoption are followed by inheritance. */
	one->time = mt_now();
	if (!err)
		err = list_maps(adoption, one);
	return err;
}

static int parent_of(int pid)
{
	char path[32], line[512], *after;
	int fd, parent = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	line[n] = '\0';
	after = strrchr(line, ')');
	return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* Adopt untracked children of tracked processes: 1 if any were found. */
static int adopt_children(struct mt_adoption *adoption)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	int found = 0, pid, err;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid = atoi(entry->d_name);
		/* Not ourselves, below a shell or so: we could not answer our own requests. */
		if (pid <= 0 || pid == getpid() ||
		    mt_programs_is_tracked(adoption->programs, pid) ||
		    !mt_programs_is_tracked(adoption->programs, parent_of(pid)))
			continue;
		err = adopt_one(adoption, pid);
		if (err == -ESRCH || err == -ENOENT)	/* it has ended meanwhile */
			continue;
		if (err) {
			closedir(dir);
			return err;
		}
		found = 1;
	}
	closedir(dir);
	return found;
}

int mt_adopt(struct mt_programs *programs, struct mt_mmap_events *mappings, int pid,
	     struct mt_adoption **ret_adoption)
{
	struct mt_adoption *adoption = calloc(1, sizeof(*adoption));
	int err;

	if (!adoption)
		return -ENOMEM;
	adoption->programs = programs;
	adoption->mappings = mappings;
	err = adopt_one(adoption, pid);
	if (!err)
		while ((err = adopt_children(adoption)) > 0)
			;
	if (err) {
		mt_adoption_free(adoption);
		return err == -ENOENT ? -ESRCH : err;
	}
	adoption->end = mt_now();
	*ret_adoption = adoption;
	return 0;
}

void mt_adoption_attach(const struct mt_adoption *adoption, struct mt_attach_worker *worker)
{
	size_t i;

	for (i = 0; i < adoption->n; i++)
		mt_attach_worker_visit(worker, adoption->processes[i].pid);
}

int mt_adoption_introduce(const struct mt_adoption *adoption, struct mt_decoder *decoder)
{
	size_t i, k;
	int err = 0;

	mt_decoder_begin(decoder, adoption->end);
	for (i = 0; i < adoption->n && !err; i++) {
		struct adopted *one = &adoption->processes[i];
		const char *comm = one->n_threads ? one->threads[0].comm : "";
		uint64_t time = one->time;

		err = mt_decoder_start_process(decoder, one->pid, time, comm);
		for (k = 0; k < one->n_threads && !err; k++)
			if (one->threads[k].tid != one->pid)
				err = mt_decoder_start_thread(decoder, one->pid,
							      one->threads[k].tid,
							      time, one->threads[k].comm);
		for (k = 0; k < one->n_maps && !err; k++) {
			one->maps[k].time = time;
			err = mt_decoder_mapping(decoder, &one->maps[k]);
		}
	}
	return err;
}
