#include "record/mmap_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/descriptors.h"
#include "record/proc_maps.h"
#include "record/regained.h"

struct cpu_ring {
	int fd;		/* of the first event, whose ring all others of this CPU write to; -1 */
	struct perf_event_mmap_page *page;
};

struct mt_mmap_events {
	size_t page_size;
	size_t ring_size;
	size_t n_cpus;
	uint64_t lost;
	struct cpu_ring *cpus;
	int *more_fds;
	size_t n_more;
	size_t cap_more;
	int wake_fd;		/* epoll of the rings */
	struct mt_regained regained;
	uint8_t record[65536];	/* a record that wraps; header.size is 16 bits wide */
};

/* PERF_RECORD_MMAP2 without build-id, up to the file name. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr;
	uint64_t len;
	uint64_t pgoff;
	uint32_t maj, min;
	uint64_t ino;
	uint64_t ino_generation;
	uint32_t prot, flags;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct lost {
	struct perf_event_header header;
	uint64_t id;
	uint64_t lost;
};

/* What sample_id_all appends to every record for PERF_SAMPLE_TID | PERF_SAMPLE_TIME. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

static int open_event(const struct mt_mmap_events *events, int tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = PERF_FORMAT_LOST,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(events->ring_size / 2),
	};
	int fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	/* Before Linux 6.0. What is lost is told when there is room again, and else not. */
	if (fd < 0 && errno == EINVAL) {
		attr.read_format = 0;
		fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return mt_descriptor_keep(fd);
}

static int map_ring(struct mt_mmap_events *events, struct cpu_ring *ring, int fd)
{
	struct epoll_event readable = { .events = EPOLLIN | EPOLLET };
	void *page = mmap(NULL, events->page_size + events->ring_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	if (epoll_ctl(events->wake_fd, EPOLL_CTL_ADD, fd, &readable)) {
		int err = -errno;

		munmap(page, events->page_size + events->ring_size);
		return err;
	}
	ring->fd = fd;
	ring->page = page;
	return 0;
}

/* Another event for a CPU that has a ring. */
static int share_ring(struct mt_mmap_events *events, const struct cpu_ring *ring, int fd)
{
	size_t cap = events->cap_more ? 2 * events->cap_more : 64;
	int *fds;

	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
		return -errno;
	if (events->n_more == events->cap_more) {
		fds = reallocarray(events->more_fds, cap, sizeof(*fds));
		if (!fds)
			return -ENOMEM;
		events->more_fds = fds;
		events->cap_more = cap;
	}
	events->more_fds[events->n_more++] = fd;
	return 0;
}

int mt_mmap_events_new(size_t ring_size, struct mt_mmap_events **ret_events)
{
	struct mt_mmap_events *events = calloc(1, sizeof(*events));
	size_t i;

	if (!events)
		return -ENOMEM;
	mt_regained_init(&events->regained);
	events->page_size = sysconf(_SC_PAGESIZE);
	events->ring_size = ring_size;
	events->n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	events->cpus = calloc(events->n_cpus, sizeof(*events->cpus));
	events->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!events->cpus || events->wake_fd < 0) {
		if (events->wake_fd >= 0)
			close(events->wake_fd);
		free(events->cpus);
		free(events);
		return -ENOMEM;
	}
	for (i = 0; i < events->n_cpus; i++)
		events->cpus[i].fd = -1;
	*ret_events = events;
	return 0;
}

int mt_mmap_events_follow(struct mt_mmap_events *events, int tid)
{
	bool any = false;
	size_t i;
	int err, fd;

	for (i = 0; i < events->n_cpus; i++) {
		struct cpu_ring *ring = &events->cpus[i];

		fd = open_event(events, tid, (int)i);
		if (fd == -ENODEV)	/* this CPU is offline */
			continue;
		if (fd < 0)
			return fd;
		err = ring->page ? share_ring(events, ring, fd) : map_ring(events, ring, fd);
		if (err) {
			close(fd);
			return err;
		}
		any = true;
	}
	return any ? 0 : -ENODEV;
}

/* An event is of no more use when its thread is gone and none that inherited it is left. */
static void close_ended(struct mt_mmap_events *events)
{
	size_t i = 0;

	while (i < events->n_more) {
		struct pollfd look = { .fd = events->more_fds[i] };

		if (poll(&look, 1, 0) > 0 && look.revents & (POLLHUP | POLLERR)) {
			close(events->more_fds[i]);
			events->more_fds[i] = events->more_fds[--events->n_more];
		} else {
			i++;
		}
	}
}

struct regain {
	struct mt_mmap_events *events;
	uint32_t pid;
	uint64_t time;
};

static int regain_map(void *arg, const struct mt_proc_map *map)
{
	const struct regain *regain = arg;
	const struct mt_mmap_record record = {
		.time = regain->time, .pid = regain->pid, .start = map->start, .end = map->end,
		.offset = map->offset, .dev_major = map->dev_major, .dev_minor = map->dev_minor,
		.ino = map->ino, .path = map->path,
	};

	return mt_regained_add(&regain->events->regained, &record);
}

void mt_mmap_events_regain(struct mt_mmap_events *events, int pid, uint64_t time)
{
	struct regain regain = { .events = events, .pid = pid, .time = time };
	int err;

	close_ended(events);
	err = mt_mmap_events_follow(events, pid);
	if (!err)
		err = mt_proc_maps_each(pid, regain_map, &regain);
	/* Nothing was missed of one that has been killed meanwhile. */
	if (err && err != -ESRCH && err != -ENOENT)
		__atomic_add_fetch(&events->lost, 1, __ATOMIC_RELAXED);
}

void mt_mmap_events_free(struct mt_mmap_events *events)
{
	size_t i;

	if (!events)
		return;
	for (i = 0; i < events->n_cpus; i++) {
		if (events->cpus[i].page)
			munmap(events->cpus[i].page, events->page_size + events->ring_size);
		if (events->cpus[i].fd >= 0)
			close(events->cpus[i].fd);
	}
	while (events->n_more)
		close(events->more_fds[--events->n_more]);
	mt_regained_release(&events->regained);
	close(events->wake_fd);
	free(events->more_fds);
	free(events->cpus);
	free(events);
}

/* The record at tail, copied if it wraps; NULL if its size is nonsense. */
static const struct perf_event_header *record_at(struct mt_mmap_events *events,
						 const uint8_t *data, uint64_t tail, uint64_t head)
{
	size_t mask = events->ring_size - 1, at = tail & mask, first;
	const struct perf_event_header *header = (const void *)(data + at);

	/* Records are 8-byte aligned, so a header never wraps. */
	if (header->size < sizeof(*header) || header->size > head - tail)
		return NULL;
	first = events->ring_size - at;
	if (header->size <= first)
		return header;
	memcpy(events->record, data + at, first);
	memcpy(events->record + first, data, header->size - first);
	return (const void *)events->record;
}

/* Fill *ret from a record; false: it is of no interest. */
static bool parse_record(struct mt_mmap_events *events, const struct perf_event_header *header,
			 struct mt_mmap_record *ret)
{
	const uint8_t *end = (const uint8_t *)header + header->size;
	const struct sample_id *id = (const void *)(end - sizeof(*id));
	const struct mmap2 *map = (const void *)header;
	const char *path = (const char *)(map + 1);

	if (header->type == PERF_RECORD_LOST && header->size >= sizeof(struct lost)) {
		__atomic_add_fetch(&events->lost, ((const struct lost *)header)->lost,
				   __ATOMIC_RELAXED);
		return false;
	}
	if (header->size < sizeof(struct comm) + sizeof(*id))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->time = id->time;
	ret->path = "";
	if (header->type == PERF_RECORD_COMM) {
		ret->pid = ((const struct comm *)header)->pid;
		ret->exec_clear = 1;
		return header->misc & PERF_RECORD_MISC_COMM_EXEC;
	}
	if (header->type != PERF_RECORD_MMAP2 || header->size <= sizeof(*map) + sizeof(*id) ||
	    !memchr(path, '\0', (const char *)id - path))
		return false;
	ret->pid = map->pid;
	ret->start = map->addr;
	ret->end = map->addr + map->len;
	ret->offset = map->pgoff;
	ret->dev_major = map->maj;
	ret->dev_minor = map->min;
	ret->ino = map->ino;
	ret->generation = map->ino_generation;
	ret->path = path;
	return true;
}

size_t mt_mmap_events_read(struct mt_mmap_events *events, size_t max, mt_mmap_record_fn fn,
			   void *arg)
{
	struct mt_mmap_record record;
	size_t i, n = mt_regained_take(&events->regained, fn, arg);

	for (i = 0; i < events->n_cpus; i++) {
		struct perf_event_mmap_page *page = events->cpus[i].page;
		const struct perf_event_header *header;
		uint64_t head, tail;

		if (!page)
			continue;
		head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		tail = page->data_tail;
		while (tail < head && n < max) {
			header = record_at(events, (const uint8_t *)page + events->page_size, tail,
					   head);
			if (!header) {
				__atomic_add_fetch(&events->lost, 1, __ATOMIC_RELAXED);
				tail = head;
				break;
			}
			if (parse_record(events, header, &record)) {
				fn(arg, &record);
				n++;
			}
			tail += header->size;
		}
		__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return n;
}

int mt_mmap_events_fd(const struct mt_mmap_events *events)
{
	return events->wake_fd;
}

bool mt_mmap_events_crowded(struct mt_mmap_events *events)
{
	const struct perf_event_mmap_page *page;
	struct epoll_event ready[8];
	size_t i;

	/* Take the wake-ups back: each is for another half. */
	while (epoll_wait(events->wake_fd, ready, MT_ARRAY_SIZE(ready), 0) > 0)
		;
	for (i = 0; i < events->n_cpus; i++) {
		page = events->cpus[i].page;
		if (page && __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) -
			    __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) >=
			    events->ring_size / 2)
			return true;
	}
	return false;
}

bool mt_mmap_events_empty(const struct mt_mmap_events *events)
{
	const struct perf_event_mmap_page *page;
	size_t i;

	if (!mt_regained_empty(&events->regained))
		return false;
	for (i = 0; i < events->n_cpus; i++) {
		page = events->cpus[i].page;
		if (page && __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) <
			    __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

static uint64_t lost_by(int fd)
{
	uint64_t values[2];	/* of the event, and what it lost */

	return fd >= 0 && read(fd, values, sizeof(values)) == sizeof(values) ? values[1] : 0;
}

void mt_mmap_events_end(struct mt_mmap_events *events)
{
	uint64_t lost = 0;
	size_t i;

	for (i = 0; i < events->n_cpus; i++)
		lost += lost_by(events->cpus[i].fd);
	for (i = 0; i < events->n_more; i++)
		lost += lost_by(events->more_fds[i]);
	if (lost > events->lost)
		events->lost = lost;
}

uint64_t mt_mmap_events_lost(const struct mt_mmap_events *events)
{
	return __atomic_load_n(&events->lost, __ATOMIC_RELAXED);
}
