#include "record/attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/allocators.h"
#include "record/descriptors.h"
#include "record/old_kernel.h"
#include "record/uprobe_multi.h"

#define AGAIN_TRIES 100
#define AGAIN_PAUSE_NS 10000000

struct mt_attacher {
	struct mt_probe_programs programs;
	enum mt_attach_mode mode;
	uint32_t uprobe_type;		/* perf: dynamic PMU type */
	uint64_t uprobe_ret_bit;	/* perf: config bit that makes a return probe */
	int *fds;
	size_t n_fds;
	size_t cap_fds;
};

static bool kernel_has(uint32_t attach_type)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);
	uint64_t offset = 0, cookie = 0;
	int prog_fd, link_fd;

	prog_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "mt_detect", "GPL", insns,
				MT_ARRAY_SIZE(insns), &opts);
	if (prog_fd < 0)
		return false;
	/* A folder is no file to probe: a kernel that gets as far as noticing has such links. */
	link_fd = mt_uprobe_multi_link(prog_fd, attach_type, "/", &offset, &cookie, 1, false);
	close(prog_fd);
	if (link_fd >= 0)
		close(link_fd);
	return link_fd == -EBADF;
}

int mt_attach_choose(enum mt_attach_mode wanted, enum mt_attach_mode *ret_mode)
{
	if ((wanted == MT_ATTACH_AUTO || wanted == MT_ATTACH_SESSION) &&
	    kernel_has(MT_BPF_TRACE_UPROBE_SESSION))
		*ret_mode = MT_ATTACH_SESSION;
	else if ((wanted == MT_ATTACH_AUTO || wanted == MT_ATTACH_MULTI) &&
		 kernel_has(MT_BPF_TRACE_UPROBE_MULTI))
		*ret_mode = MT_ATTACH_MULTI;
	else if (wanted == MT_ATTACH_AUTO || wanted == MT_ATTACH_PERF)
		*ret_mode = MT_ATTACH_PERF;
	else
		return -EOPNOTSUPP;
	return 0;
}

const char *mt_attach_mode_name(enum mt_attach_mode mode)
{
	static const char *const names[] = {
		[MT_ATTACH_AUTO] = "auto", [MT_ATTACH_SESSION] = "session",
		[MT_ATTACH_MULTI] = "multi", [MT_ATTACH_PERF] = "perf",
	};

	return names[mode];
}

/* An unsigned number after prefix in a one-line sysfs file. */
static int read_sysfs(const char *path, const char *prefix, uint64_t *ret_value)
{
	FILE *file = fopen(path, "re");
	char line[64];
	char *end;
	int err = 0;

	if (!file)
		return -errno;
	if (!fgets(line, sizeof(line), file) || strncmp(line, prefix, strlen(prefix)) != 0) {
		err = -EINVAL;
	} else {
		*ret_value = strtoull(line + strlen(prefix), &end, 10);
		if (end == line + strlen(prefix))
			err = -EINVAL;
	}
	fclose(file);
	return err;
}

int mt_attacher_new(const struct mt_probe_programs *programs, enum mt_attach_mode mode,
		    struct mt_attacher **ret_attacher)
{
	struct mt_attacher *attacher = calloc(1, sizeof(*attacher));
	uint64_t type = 0, bit = 0;
	int err = 0;

	if (!attacher)
		return -ENOMEM;
	attacher->programs = *programs;
	attacher->mode = mode;
	if (mode == MT_ATTACH_PERF) {
		err = read_sysfs("/sys/bus/event_source/devices/uprobe/type", "", &type);
		if (!err)
			err = read_sysfs("/sys/bus/event_source/devices/uprobe/format/retprobe",
					 "config:", &bit);
		if (err) {
			mt_attacher_free(attacher);
			return err;
		}
		attacher->uprobe_type = type;
		attacher->uprobe_ret_bit = 1ULL << (bit & 63);
	}
	*ret_attacher = attacher;
	return 0;
}

/* The kernel's wait for everybody to have left a probe is what takes time: many wait together. */
#define CLOSERS 32

struct closer {
	struct mt_attacher *attacher;
	size_t first;
};

static void *close_some(void *arg)
{
	struct closer *closer = arg;
	size_t i;

	for (i = closer->first; i < closer->attacher->n_fds; i += CLOSERS)
		close(closer->attacher->fds[i]);
	return NULL;
}

static void close_all(struct mt_attacher *attacher)
{
	struct closer closers[CLOSERS];
	pthread_t threads[CLOSERS];
	bool started[CLOSERS];
	size_t i;

	for (i = 0; i < CLOSERS; i++) {
		closers[i].attacher = attacher;
		closers[i].first = i;
		started[i] = i + 1 < attacher->n_fds && i + 1 < CLOSERS &&
			     !pthread_create(&threads[i], NULL, close_some, &closers[i]);
		if (!started[i])
			close_some(&closers[i]);
	}
	for (i = 0; i < CLOSERS; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
}

void mt_attacher_free(struct mt_attacher *attacher)
{
	if (!attacher)
		return;
	close_all(attacher);
	free(attacher->fds);
	free(attacher);
}

static int keep_fd(struct mt_attacher *attacher, int fd)
{
	size_t cap = attacher->cap_fds ? 2 * attacher->cap_fds : 64;
	int *fds;

	fd = mt_descriptor_keep(fd);
	if (fd < 0)
		return fd;
	if (attacher->n_fds == attacher->cap_fds) {
		fds = realloc(attacher->fds, cap * sizeof(*fds));
		if (!fds) {
			close(fd);
			return -ENOMEM;
		}
		attacher->fds = fds;
		attacher->cap_fds = cap;
	}
	attacher->fds[attacher->n_fds++] = fd;
	return 0;
}

enum ends { ENTRY, RETURN, BOTH };

/* What is attached to the probes of some roles, in the order of attaching. */
struct step {
	uint32_t roles;		/* bits of 1 << enum mt_probe_role */
	int prog_fd;
	enum ends ends;
	enum mt_old_probe place;
};

static int attach_multi(struct mt_attacher *attacher, const struct step *step, const char *path,
			const struct mt_probe *probes, size_t n)
{
	uint64_t *offsets = calloc(n, sizeof(*offsets)), *cookies = calloc(n, sizeof(*cookies));
	size_t i;
	int fd = -ENOMEM;

	if (offsets && cookies) {
		for (i = 0; i < n; i++) {
			offsets[i] = probes[i].offset;
			cookies[i] = probes[i].cookie;
		}
		fd = mt_uprobe_multi_link(step->prog_fd, step->ends == BOTH ?
					  MT_BPF_TRACE_UPROBE_SESSION :
					  MT_BPF_TRACE_UPROBE_MULTI,
					  path, offsets, cookies, n, step->ends == RETURN);
	}
	free(offsets);
	free(cookies);
	return fd < 0 ? fd : keep_fd(attacher, fd);
}

/* The event itself keeps the program. */
static int set_jump(const struct mt_attacher *attacher, const struct step *step, uint64_t cookie,
		    int event_fd)
{
	const struct mt_probe_programs *programs = &attacher->programs;
	int err = 0, fd = mt_old_kernel_jump(programs->cookies_fd, programs->jumps_fd,
					     step->place, cookie);

	if (fd < 0)
		return fd;
	if (ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, fd))
		err = -errno;
	close(fd);
	return err;
}

static int attach_perf(struct mt_attacher *attacher, const struct step *step, const char *path,
		       const struct mt_probe *probe)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = probe->cookie);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = attacher->uprobe_type,
		.config = step->ends == RETURN ? attacher->uprobe_ret_bit : 0,
		.uprobe_path = (uintptr_t)path,
		.probe_offset = probe->offset,
	};
	int event_fd, link_fd = -1, err = 0;

	event_fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event_fd < 0)
		return -errno;
	if (attacher->programs.jumps_fd >= 0) {
		err = set_jump(attacher, step, probe->cookie, event_fd);
	} else {
		link_fd = bpf_link_create(step->prog_fd, event_fd, BPF_PERF_EVENT, &opts);
		err = link_fd < 0 ? link_fd : 0;
	}
	if (!err && ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err) {
		if (link_fd >= 0)
			close(link_fd);
		close(event_fd);
		return err;
	}
	err = keep_fd(attacher, event_fd);
	if (link_fd < 0)
		return err;
	if (err) {
		close(link_fd);
		return err;
	}
	return keep_fd(attacher, link_fd);
}

static int attach_all(struct mt_attacher *attacher, const struct step *step, const char *path,
		      const struct mt_probe *probes, size_t n)
{
	size_t i;
	int err = 0;

	if (n == 0)
		return 0;
	if (step->prog_fd < 0)
		return -EOPNOTSUPP;
	if (attacher->mode != MT_ATTACH_PERF)
		return attach_multi(attacher, step, path, probes, n);
	for (i = 0; i < n && !err; i++)
		err = attach_perf(attacher, step, path, &probes[i]);
	return err;
}

static int attach_step(struct mt_attacher *attacher, const char *path,
		       const struct mt_probe *probes, size_t n, const struct step *step)
{
	struct mt_probe *chosen = calloc(n + 1, sizeof(*chosen));
	size_t n_chosen = 0, i;
	int err;

	if (!chosen)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (step->roles >> probes[i].role & 1)
			chosen[n_chosen++] = probes[i];
	err = attach_all(attacher, step, path, chosen, n_chosen);
	free(chosen);
	return err;
}

/* All or none. */
static int attach_once(struct mt_attacher *attacher, const char *path,
		       const struct mt_probe *probes, size_t n)
{
	const struct mt_probe_programs *programs = &attacher->programs;
	bool session = attacher->mode == MT_ATTACH_SESSION;
	/*
	 * Before Linux 6.10 an event holds a lock of its CPU while the program runs: who waits in
	 * one for mt-record waits in vain if that meets a probe there, in a malloc of its own.
	 */
	bool exec = attacher->mode != MT_ATTACH_PERF;
	/* Frees before allocations too: a block that is seen must be seen to go. */
	const struct step steps[] = {
		{ session ? 0 : 1u << MT_PROBE_CALL, programs->return_fd, RETURN, MT_OLD_RETURN },
		{ 1u << MT_PROBE_RET_SITE, programs->ret_site_fd, ENTRY, MT_OLD_RET_SITE },
		{ 1u << MT_PROBE_LEAVE, programs->leave_fd, ENTRY, MT_OLD_LEAVE },
		{ 1u << MT_PROBE_WAIT, programs->wait_fd, ENTRY, MT_OLD_PROBES },
		{ exec ? 1u << MT_PROBE_EXEC : 0, programs->exec_fd, ENTRY, MT_OLD_PROBES },
		{ 1u << MT_PROBE_FREE, programs->free_fd, ENTRY, MT_OLD_FREE },
		{ 1u << MT_PROBE_ENTRY | (session ? 0 : 1u << MT_PROBE_CALL), programs->alloc_fd,
		  ENTRY, MT_OLD_ALLOC },
		{ session ? 1u << MT_PROBE_CALL : 0, programs->call_fd, BOTH, MT_OLD_PROBES },
	};
	size_t before = attacher->n_fds, i;
	int err = 0;

	for (i = 0; i < MT_ARRAY_SIZE(steps) && !err; i++)
		err = attach_step(attacher, path, probes, n, &steps[i]);
	if (err)
		while (attacher->n_fds > before)
			close(attacher->fds[--attacher->n_fds]);
	return err;
}

int mt_attacher_attach(struct mt_attacher *attacher, int fd, const struct mt_probe *probes,
		       size_t n)
{
	const struct timespec pause = { .tv_nsec = AGAIN_PAUSE_NS };
	char path[32];
	int tries = 1, err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = attach_once(attacher, path, probes, n);
	/* A signal of ours came, or a filesystem could not read the file's page just now. */
	for (; (err == -EAGAIN || err == -EINTR) && tries < AGAIN_TRIES; tries++) {
		nanosleep(&pause, NULL);
		err = attach_once(attacher, path, probes, n);
	}
	return err;
}
