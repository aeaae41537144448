#include "record/attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/allocators.h"
#include "record/uprobe_multi.h"

struct mt_attacher {
	struct mt_probe_programs programs;
	enum mt_attach_mode mode;
	uint32_t uprobe_type;		/* perf: dynamic PMU type */
	uint64_t uprobe_ret_bit;	/* perf: config bit that makes a return probe */
	int *fds;
	size_t n_fds;
	size_t cap_fds;
};

enum mt_attach_mode mt_attach_detect(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = MT_BPF_TRACE_UPROBE_MULTI);
	uint64_t offset = 0, cookie = 0;
	int prog_fd, link_fd;

	prog_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "mt_detect", "GPL", insns,
				MT_ARRAY_SIZE(insns), &opts);
	if (prog_fd < 0)
		return MT_ATTACH_PERF;
	/* A folder is no file to probe: a kernel that gets as far as noticing has such links. */
	link_fd = mt_uprobe_multi_link(prog_fd, "/", &offset, &cookie, 1, false);
	close(prog_fd);
	if (link_fd >= 0)
		close(link_fd);
	return link_fd == -EBADF ? MT_ATTACH_MULTI : MT_ATTACH_PERF;
}

const char *mt_attach_mode_name(enum mt_attach_mode mode)
{
	return mode == MT_ATTACH_MULTI ? "multi" : "perf";
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

void mt_attacher_free(struct mt_attacher *attacher)
{
	if (!attacher)
		return;
	while (attacher->n_fds)
		close(attacher->fds[--attacher->n_fds]);
	free(attacher->fds);
	free(attacher);
}

static int keep_fd(struct mt_attacher *attacher, int fd)
{
	size_t cap = attacher->cap_fds ? 2 * attacher->cap_fds : 64;
	int *fds;

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

static int attach_multi(struct mt_attacher *attacher, int prog_fd, const char *path,
			const struct mt_probe *probes, size_t n, bool is_return)
{
	uint64_t *offsets = calloc(n, sizeof(*offsets)), *cookies = calloc(n, sizeof(*cookies));
	size_t i;
	int fd = -ENOMEM;

	if (offsets && cookies) {
		for (i = 0; i < n; i++) {
			offsets[i] = probes[i].offset;
			cookies[i] = probes[i].cookie;
		}
		fd = mt_uprobe_multi_link(prog_fd, path, offsets, cookies, n, is_return);
	}
	free(offsets);
	free(cookies);
	return fd < 0 ? fd : keep_fd(attacher, fd);
}

static int attach_perf(struct mt_attacher *attacher, int prog_fd, const char *path,
		       const struct mt_probe *probe, bool is_return)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = probe->cookie);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = attacher->uprobe_type,
		.config = is_return ? attacher->uprobe_ret_bit : 0,
		.uprobe_path = (uintptr_t)path,
		.probe_offset = probe->offset,
	};
	int event_fd, link_fd, err;

	event_fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event_fd < 0)
		return -errno;
	link_fd = bpf_link_create(prog_fd, event_fd, BPF_PERF_EVENT, &opts);
	if (link_fd < 0) {
		close(event_fd);
		return link_fd;
	}
	if (ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0)) {
		err = -errno;
		close(link_fd);
		close(event_fd);
		return err;
	}
	err = keep_fd(attacher, event_fd);
	if (err) {
		close(link_fd);
		return err;
	}
	return keep_fd(attacher, link_fd);
}

static int attach_all(struct mt_attacher *attacher, int prog_fd, const char *path,
		      const struct mt_probe *probes, size_t n, bool is_return)
{
	size_t i;
	int err = 0;

	if (n == 0)
		return 0;
	if (attacher->mode == MT_ATTACH_MULTI)
		return attach_multi(attacher, prog_fd, path, probes, n, is_return);
	for (i = 0; i < n && !err; i++)
		err = attach_perf(attacher, prog_fd, path, &probes[i], is_return);
	return err;
}

/* What is attached to the probes of some roles, in the order of attaching. */
struct step {
	uint32_t roles;		/* bits of 1 << enum mt_probe_role */
	int prog_fd;
	bool is_return;
};

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
	err = attach_all(attacher, step->prog_fd, path, chosen, n_chosen, step->is_return);
	free(chosen);
	return err;
}

int mt_attacher_attach(struct mt_attacher *attacher, int fd, const struct mt_probe *probes,
		       size_t n)
{
	const struct mt_probe_programs *programs = &attacher->programs;
	/* Frees before allocations too: a block that is seen must be seen to go. */
	const struct step steps[] = {
		{ 1u << MT_PROBE_CALL, programs->return_fd, true },
		{ 1u << MT_PROBE_RET_SITE, programs->ret_site_fd, false },
		{ 1u << MT_PROBE_LEAVE, programs->leave_fd, false },
		{ 1u << MT_PROBE_FREE, programs->free_fd, false },
		{ 1u << MT_PROBE_CALL | 1u << MT_PROBE_ENTRY, programs->alloc_fd, false },
	};
	size_t before = attacher->n_fds, i;
	char path[32];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (i = 0; i < MT_ARRAY_SIZE(steps) && !err; i++)
		err = attach_step(attacher, path, probes, n, &steps[i]);
	if (err)
		while (attacher->n_fds > before)
			close(attacher->fds[--attacher->n_fds]);
	return err;
}
