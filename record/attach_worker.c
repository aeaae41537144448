#include "record/attach_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/error.h"
#include "common/grow.h"
#include "record/allocators.h"
#include "record/attach.h"
#include "record/clock.h"
#include "record/file_notes.h"
#include "record/exec_answer.h"
#include "record/file_prober.h"
#include "record/mmap_events.h"
#include "record/proc_maps.h"
#include "record/programs.h"
#include "record/ring.h"
#include "record/stopped.h"
#include "record/wait_places.h"
#include "record/witness.h"

#define PROBED_MAX 65536u	/* as many as there can be sources */
#define STOP_DEADLINE_NS 1000000000ull

struct probed {
	struct mt_inode_key key;
	bool linker;		/* who maps files through it waits */
};

struct mt_attach_worker {
	struct mt_programs *programs;
	struct mt_attacher *attacher;
	struct mt_file_prober *prober;
	struct mt_ring *requests;
	struct mt_stopped *stopped;
	struct mt_mmap_events *mappings;
	struct mt_file_notes *notes;
	struct mt_witness *witness;
	mt_attach_notify_fn notify;
	void *arg;
	struct mt_attach_report report;
	struct probed *probed;	/* the others are in the kernel side's map only */
	uint32_t n_probed, cap_probed;
	bool given_up;
};

int mt_attach_worker_new(const struct mt_attach_worker_config *config,
			 struct mt_attach_worker **ret_worker)
{
	struct mt_attach_worker *worker = calloc(1, sizeof(*worker));
	int err;

	if (!worker)
		return -ENOMEM;
	worker->programs = config->programs;
	worker->attacher = config->attacher;
	worker->stopped = config->stopped;
	worker->mappings = config->mappings;
	worker->notify = config->notify;
	worker->arg = config->arg;
	err = mt_ring_open(mt_programs_requests_fd(config->programs), &worker->requests);
	if (!err)
		err = mt_file_prober_new(config->specs, config->move_sites, config->programs,
					 config->attacher, config->coverage, &worker->prober);
	if (err) {
		mt_attach_worker_free(worker);
		return err;
	}
	mt_file_prober_tell(worker->prober, config->told, config->told_arg);
	*ret_worker = worker;
	return 0;
}

void mt_attach_worker_free(struct mt_attach_worker *worker)
{
	if (!worker)
		return;
	mt_ring_free(worker->requests);
	mt_file_prober_free(worker->prober);
	free(worker->probed);
	free(worker);
}

void mt_attach_worker_note(struct mt_attach_worker *worker, struct mt_file_notes *notes)
{
	worker->notes = notes;
}

void mt_attach_worker_witness(struct mt_attach_worker *worker, struct mt_witness *witness)
{
	worker->witness = witness;
}

int mt_attach_worker_fd(const struct mt_attach_worker *worker)
{
	return mt_programs_requests_fd(worker->programs);
}

/* Probes are on inodes and stay there, whereas the kernel side's map may forget one. */
static const struct probed *find_probed(const struct mt_attach_worker *worker,
					const struct mt_inode_key *key)
{
	uint32_t i;

	for (i = 0; i < worker->n_probed; i++)
		if (memcmp(&worker->probed[i].key, key, sizeof(*key)) == 0)
			return &worker->probed[i];
	return NULL;
}

static int remember_probed(struct mt_attach_worker *worker, const struct mt_inode_key *key,
			   bool linker)
{
	int err = mt_grow(&worker->probed, worker->n_probed, &worker->cap_probed,
			  sizeof(*worker->probed), PROBED_MAX);

	if (err)
		return err;
	worker->probed[worker->n_probed++] = (struct probed){ *key, linker };
	return 0;
}

/* Who cannot be made to wait is stopped: that is no failure. true: something is attached. */
static bool attach_waits(struct mt_attach_worker *worker, int fd, const struct mt_inode_key *key,
			 bool *ret_linker)
{
	struct mt_wait_places places;

	if (mt_wait_places_find(fd, &places) || !places.n ||
	    mt_attacher_attach(worker->attacher, fd, places.probes, places.n))
		return false;
	*ret_linker = places.linker &&
		      !mt_programs_know_linker(worker->programs, key, places.linker);
	return true;
}

/*
 * Attach to the file at fd. 1: done before; 0; -errno only if it has allocators that stay
 * unprobed. path is the mapping's; NULL: not mapped yet. ret_key is set in all cases but an
 * error to identify the file.
 */
static int attach_file(struct mt_attach_worker *worker, int fd, const char *path,
		       struct mt_inode_key *ret_key, size_t *ret_functions)
{
	struct mt_file_probes probes = {};
	int err = mt_programs_identify(worker->programs, fd, ret_key);
	bool linker = false;

	if (err)
		return err;
	if (mt_programs_knows_inode(worker->programs, ret_key))
		return 1;
	if (worker->notes)
		mt_file_notes_add(worker->notes, fd, path, ret_key);
	if (!find_probed(worker, ret_key)) {
		err = mt_file_prober_probe(worker->prober, fd, path, &probes);
		if ((attach_waits(worker, fd, ret_key, &linker) || probes.attached) &&
		    remember_probed(worker, ret_key, linker) && !err)
			err = -ENOMEM;
	}
	if (worker->witness)
		mt_witness_known(worker->witness,
				 (struct mt_witness_file){ ret_key->ino, ret_key->dev, 0 },
				 mt_now());
	mt_programs_know_inode(worker->programs, ret_key, MT_INODE_MAPPED);
	*ret_functions = probes.functions;
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

/* An overlay's file goes by this name, where it does not by that of what is mapped. */
static struct mt_witness_file file_by_stat(const struct stat *st)
{
	return (struct mt_witness_file){
		.ino = st->st_ino, .dev = major(st->st_dev) << 20 | minor(st->st_dev),
	};
}

int mt_attach_worker_learn_open(struct mt_attach_worker *worker, int pid, int fd, const char *path,
				bool *ret_linker)
{
	const struct probed *probed;
	struct mt_inode_key key = {};
	struct stat st;
	size_t probes = 0;
	int err = attach_file(worker, fd, NULL, &key, &probes);

	if (worker->witness && !fstat(fd, &st))
		mt_witness_known(worker->witness, file_by_stat(&st), mt_now());
	probed = find_probed(worker, &key);
	*ret_linker = probed && probed->linker;
	if (err > 0)
		return 0;
	report_file(worker, pid, path, probes, err);
	return err;
}

int mt_attach_worker_learn(struct mt_attach_worker *worker, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	bool linker;

	if (fd < 0)
		return -errno;
	err = mt_attach_worker_learn_open(worker, 0, fd, path, &linker);
	close(fd);
	return err;
}

struct visit {
	struct mt_attach_worker *worker;
	const struct mt_ring_request *request;
};

/*
 * The file a request is about has been looked at. An overlay's inode is made known beside the one
 * that is mapped, for when the kernel side cannot look at the mapping.
 */
static void answer(struct mt_attach_worker *worker, const struct mt_ring_request *request,
		   const struct mt_inode_key *key)
{
	if (!request->opened.ino || memcmp(&request->opened, key, sizeof(*key)) == 0)
		return;
	if (memcmp(&request->mapped, key, sizeof(*key)) == 0 ||
	    memcmp(&request->mapped, &request->opened, sizeof(*key)) == 0)
		mt_programs_know_inode(worker->programs, &request->opened, MT_INODE_OPENED);
}

/* An overlay's file is another one to /proc and perf than to the kernel side. */
static void testify(struct mt_attach_worker *worker, uint32_t pid, const struct mt_proc_map *map)
{
	struct mt_witness_file file = {
		.ino = map->ino, .dev = map->dev_major << 20 | map->dev_minor,
	};

	if (!worker->witness)
		return;
	mt_witness_known(worker->witness, file, mt_now());
	mt_witness_stopped(worker->witness, pid, file);
}

static int visit_map(void *arg, const struct mt_proc_map *map)
{
	struct visit *visit = arg;
	const struct mt_ring_request *request = visit->request;
	struct mt_inode_key key = {};
	bool asked = request->addr >= map->start && request->addr < map->end;
	size_t probes = 0;
	int fd, err;

	/* Every other mapping has a request of its own. */
	if (!map->ino || (request->mapped.ino && !asked))
		return 0;
	fd = mt_proc_map_open(request->pid, map);
	if (fd == -ESRCH)	/* who maps it next asks */
		return 0;
	err = fd < 0 ? fd : attach_file(visit->worker, fd, map->path, &key, &probes);
	if (fd >= 0)
		close(fd);
	testify(visit->worker, request->pid, map);
	if (asked && key.ino)
		answer(visit->worker, request, &key);
	else if (asked && request->mapped.ino)	/* told below; asking again would not help */
		mt_programs_know_inode(visit->worker->programs, &request->mapped, MT_INODE_MAPPED);
	if (err <= 0)
		report_file(visit->worker, request->pid, map->path, probes, err);
	return 0;
}

void mt_attach_worker_visit(struct mt_attach_worker *worker, int pid)
{
	const struct mt_ring_request request = { .pid = (uint32_t)pid };
	struct visit visit = { worker, &request };

	mt_proc_maps_each(pid, visit_map, &visit);
}

static void attach_asked(struct mt_attach_worker *worker, const struct mt_ring_request *request)
{
	struct visit visit = { worker, request };

	if (worker->given_up)
		return;
	if (request->kind == MT_REQUEST_FOLLOW)
		mt_mmap_events_regain(worker->mappings, (int)request->pid, request->time);
	else if (request->kind == MT_REQUEST_EXEC)
		mt_exec_answer(worker, worker->programs, (const void *)request);
	else
		mt_proc_maps_each((int)request->pid, visit_map, &visit);
}

static void handle_waiting(struct mt_attach_worker *worker, const struct mt_ring_request *request)
{
	uint64_t took;

	attach_asked(worker, request);
	mt_programs_answer(worker->programs, request->ticket);
	took = mt_now() - request->time;
	if (took > worker->report.longest_wait)
		worker->report.longest_wait = took;
	worker->report.waits++;
}

static void handle_stopped(struct mt_attach_worker *worker, const struct mt_ring_request *request)
{
	int pid = (int)request->pid;
	int err = mt_stopped_add(worker->stopped, pid, MT_STOP_ATTACH, request->time);

	if (err < 0)
		return;
	worker->report.stops += err;
	if (request->kind == MT_REQUEST_RESUME)
		return;
	/* Attaching late is better than not at all; the file's own mapper stands still anyway. */
	if (!worker->given_up)
		mt_stopped_wait(worker->stopped, pid, mt_now() + STOP_DEADLINE_NS, NULL, NULL);
	attach_asked(worker, request);
}

struct unasked {
	struct mt_attach_worker *worker;
	uint32_t what;
};

static void visit_stopped(void *arg, int pid, uint64_t flags)
{
	const struct unasked *unasked = arg;
	struct mt_ring_request request = {
		.pid = (uint32_t)pid, .kind = MT_REQUEST_MAPPING, .time = mt_now(),
	};

	if (!(flags & MT_PROCESS_STOPPED))
		return;
	handle_stopped(unasked->worker, &request);
	request.kind = MT_REQUEST_FOLLOW;
	if (unasked->what & MT_UNASKED_FOLLOW)
		attach_asked(unasked->worker, &request);
}

/* Some found no room for their requests, and stand still for it. */
static bool answer_unasked(struct mt_attach_worker *worker)
{
	struct unasked unasked = { worker, mt_programs_take_unasked(worker->programs) };

	if (unasked.what)
		mt_programs_each_process(worker->programs, visit_stopped, &unasked);
	return unasked.what != 0;
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
		if (len < sizeof(*request) || (request->kind == MT_REQUEST_EXEC &&
					       len < sizeof(struct mt_ring_exec_request)))
			;
		else if (request->kind == MT_REQUEST_PRESSURE)
			pressure = true;
		else if (request->ticket)
			handle_waiting(worker, request);
		else
			handle_stopped(worker, request);
		mt_ring_release(worker->requests);
	}
	if (answer_unasked(worker))
		pressure = true;
	longest = mt_stopped_release(worker->stopped, MT_STOP_ATTACH);
	if (longest > worker->report.longest_stop)
		worker->report.longest_stop = longest;
	return pressure;
}

void mt_attach_worker_give_up(struct mt_attach_worker *worker)
{
	worker->given_up = true;
}

void mt_attach_worker_report_missing(struct mt_attach_worker *worker)
{
	mt_file_prober_finish(worker->prober);
}

const struct mt_attach_report *mt_attach_worker_report(const struct mt_attach_worker *worker)
{
	return &worker->report;
}
