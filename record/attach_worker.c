#include "record/attach_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/error.h"
#include "record/allocators.h"
#include "record/attach.h"
#include "record/clock.h"
#include "record/proc_maps.h"
#include "record/programs.h"
#include "record/ring.h"
#include "record/stopped.h"

#define STOP_DEADLINE_NS 1000000000ull
#define SEEN_MAX 65536	/* as many as the kernel side's map holds */

struct mt_attach_worker {
	struct mt_programs *programs;
	struct mt_attacher *attacher;
	struct mt_ring *requests;
	struct mt_stopped *stopped;
	mt_attach_notify_fn notify;
	void *arg;
	struct mt_attach_report report;
	struct mt_inode_key *seen;
	uint32_t n_seen;
};

int mt_attach_worker_new(struct mt_programs *programs, struct mt_attacher *attacher,
			 struct mt_stopped *stopped,
			 mt_attach_notify_fn notify, void *arg,
			 struct mt_attach_worker **ret_worker)
{
	struct mt_attach_worker *worker = calloc(1, sizeof(*worker));
	int err;

	if (!worker)
		return -ENOMEM;
	worker->programs = programs;
	worker->attacher = attacher;
	worker->stopped = stopped;
	worker->notify = notify;
	worker->arg = arg;
	err = mt_ring_open(mt_programs_requests_fd(programs), &worker->requests);
	if (!err) {
		worker->seen = calloc(SEEN_MAX, sizeof(*worker->seen));
		if (!worker->seen)
			err = -ENOMEM;
	}
	if (err) {
		mt_attach_worker_free(worker);
		return err;
	}
	*ret_worker = worker;
	return 0;
}

void mt_attach_worker_free(struct mt_attach_worker *worker)
{
	if (!worker)
		return;
	mt_ring_free(worker->requests);
	free(worker->seen);
	free(worker);
}

int mt_attach_worker_fd(const struct mt_attach_worker *worker)
{
	return mt_programs_requests_fd(worker->programs);
}

static bool already_seen(const struct mt_attach_worker *worker, uint32_t dev, uint64_t ino)
{
	uint32_t i;

	for (i = 0; i < worker->n_seen; i++)
		if (worker->seen[i].ino == ino && worker->seen[i].dev == dev)
			return true;
	return false;
}

static void remember_seen(struct mt_attach_worker *worker, uint32_t dev, uint64_t ino)
{
	if (worker->n_seen < SEEN_MAX)
		worker->seen[worker->n_seen++] = (struct mt_inode_key){ .ino = ino, .dev = dev };
	mt_programs_know_inode(worker->programs, dev, ino);
}

/*
 * Attach to the file at fd, unless its inode (as stat sees it) has been dealt with under another
 * device number. -errno only if it has allocators that stay unprobed.
 */
static int attach_file(struct mt_attach_worker *worker, int fd, size_t *ret_probes)
{
	struct mt_probe probes[MT_PROBES_MAX];
	struct stat st;
	uint32_t dev;
	size_t n = 0;
	int err;

	if (fstat(fd, &st))
		return -errno;
	dev = major(st.st_dev) << 20 | minor(st.st_dev);
	if (already_seen(worker, dev, st.st_ino))
		return 0;
	err = mt_allocators_find(fd, probes, &n);
	if (err == -MT_E_NOT_ELF)
		err = n = 0;
	if (!err && n)
		err = mt_attacher_attach(worker->attacher, fd, probes, n);
	remember_seen(worker, dev, st.st_ino);
	*ret_probes = n;
	return err;
}

static void report_file(struct mt_attach_worker *worker, int pid, const char *path, size_t probes,
			int err)
{
	struct mt_attach_report *report = &worker->report;

	report->files++;
	if (err) {
		report->failed++;
		if (!report->failure[0])
			snprintf(report->failure, sizeof(report->failure), "%.180s: %s", path,
				 mt_strerror(err));
	} else if (probes) {
		report->probed++;
	}
	if (worker->notify)
		worker->notify(worker->arg, pid, path, probes, err);
}

int mt_attach_worker_learn(struct mt_attach_worker *worker, const char *path)
{
	size_t probes = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = attach_file(worker, fd, &probes);
	close(fd);
	report_file(worker, 0, path, probes, err);
	return err;
}

struct visit {
	struct mt_attach_worker *worker;
	const struct mt_ring_request *request;
};

static int visit_map(void *arg, const struct mt_proc_map *map)
{
	struct visit *visit = arg;
	struct mt_attach_worker *worker = visit->worker;
	const struct mt_ring_request *request = visit->request;
	uint32_t dev = map->dev_major << 20 | map->dev_minor;
	uint64_t ino = map->ino;
	size_t probes = 0;
	int fd, err;

	if (!ino)
		return 0;
	/* On overlay filesystems /proc and the kernel's mapping name different devices. */
	if (request->ino && request->addr >= map->start && request->addr < map->end) {
		dev = request->dev;
		ino = request->ino;
	}
	if (already_seen(worker, dev, ino))
		return 0;
	fd = mt_proc_map_open(request->pid, map);
	err = fd < 0 ? fd : attach_file(worker, fd, &probes);
	if (fd >= 0)
		close(fd);
	if (!already_seen(worker, dev, ino))
		remember_seen(worker, dev, ino);
	report_file(worker, request->pid, map->path, probes, err);
	return 0;
}

void mt_attach_worker_visit(struct mt_attach_worker *worker, int pid)
{
	const struct mt_ring_request request = { .pid = (uint32_t)pid };
	struct visit visit = { worker, &request };

	mt_proc_maps_each(pid, visit_map, &visit);
}

static void handle(struct mt_attach_worker *worker, const struct mt_ring_request *request)
{
	struct visit visit = { worker, request };
	int pid = (int)request->pid;
	int err = mt_stopped_add(worker->stopped, pid, MT_STOP_ATTACH, request->time);

	if (err < 0)
		return;
	worker->report.stops += err;
	/* Attaching late is better than not at all; the file's own mapper stands still anyway. */
	mt_stopped_wait(worker->stopped, pid, mt_now() + STOP_DEADLINE_NS);
	mt_proc_maps_each(pid, visit_map, &visit);
}

bool mt_attach_worker_run(struct mt_attach_worker *worker)
{
	const struct mt_ring_request *request;
	bool pressure = false;
	const void *data;
	size_t len;
	uint64_t longest;

	while (mt_ring_next(worker->requests, &data, &len)) {
		request = data;
		if (len >= sizeof(*request) && request->kind == MT_REQUEST_PRESSURE)
			pressure = true;
		else if (len >= sizeof(*request))
			handle(worker, request);
		mt_ring_release(worker->requests);
	}
	longest = mt_stopped_release(worker->stopped, MT_STOP_ATTACH);
	if (longest > worker->report.longest_stop)
		worker->report.longest_stop = longest;
	return pressure;
}

const struct mt_attach_report *mt_attach_worker_report(const struct mt_attach_worker *worker)
{
	return &worker->report;
}
