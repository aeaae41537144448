#include "record/watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/tracefs.h"

#define CALL_TRACEPOINT "tp/syscalls/"

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char *mt_watch_name(enum mt_watch watch)
{
	return watch == MT_WATCH_FENTRY ? "fentry" : "tracepoint";
}

int mt_watch_try(enum mt_watch watch)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int id, fd;

	if (watch != MT_WATCH_FENTRY)
		return 0;
	id = libbpf_find_vmlinux_btf_id("security_mmap_file", BPF_TRACE_FENTRY);
	if (id < 0)
		return id;
	opts.attach_btf_id = id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "mt_try", "GPL", insns, MT_ARRAY_SIZE(insns),
			   &opts);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The way a program of this section belongs to; AUTO: to all of them. */
static enum mt_watch way_of(const char *section)
{
	if (begins(section, "fentry/") || begins(section, "fexit/"))
		return MT_WATCH_FENTRY;
	if (begins(section, CALL_TRACEPOINT))
		return MT_WATCH_TRACEPOINT;
	return begins(section, "tp_btf/sys_e") ? MT_WATCH_RAW : MT_WATCH_AUTO;
}

/* Is it of use for mmap's events alone? */
static bool is_for_regions(const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);

	return begins(name, "region_") || begins(name, "after_brk") || begins(name, "exit_brk");
}

void mt_watch_choose(struct bpf_object *object, enum mt_watch watch, bool regions)
{
	struct bpf_program *program;
	enum mt_watch way;

	bpf_object__for_each_program(program, object) {
		way = way_of(bpf_program__section_name(program));
		bpf_program__set_autoload(program, (way == MT_WATCH_AUTO || way == watch) &&
						  (regions || !is_for_regions(program)));
	}
}

static struct bpf_link *attach_call(const struct bpf_program *program)
{
	const char *name = bpf_program__section_name(program) + strlen(CALL_TRACEPOINT);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
	};
	struct bpf_link *link;
	uint64_t id;
	int fd, err;

	err = mt_tracefs_id("syscalls", name, &id);
	if (err) {
		errno = -err;
		return NULL;
	}
	attr.config = id;
	/* One is enough: the program runs on all CPUs. */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		err = errno;
		close(fd);
		errno = err;
	}
	return link;
}

int mt_watch_attach(struct bpf_object *object, struct mt_watch_links *links)
{
	struct bpf_program *program;
	const char *section;
	struct bpf_link *link;

	bpf_object__for_each_program(program, object) {
		section = bpf_program__section_name(program);
		if (!bpf_program__autoload(program) || begins(section, "uprobe") ||
		    strcmp(section, "raw_tp") == 0)
			continue;
		if (links->n == MT_WATCH_LINKS_MAX)
			return -E2BIG;
		link = begins(section, CALL_TRACEPOINT) ? attach_call(program) :
							  bpf_program__attach(program);
		if (!link)
			return -errno;
		links->links[links->n++] = link;
	}
	return 0;
}

void mt_watch_detach(struct mt_watch_links *links)
{
	while (links->n)
		bpf_link__destroy(links->links[--links->n]);
}

static uint64_t left_out(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_program__fd(program);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.recursion_misses;
}

enum mt_missed mt_watch_kind(const char *section, const char *name)
{
	if (begins(section, "uprobe"))
		return begins(name, "wait_") ? MT_MISSED_NOTHING : MT_MISSED_EVENT;
	if (strcmp(section, "raw_tp") == 0)	/* run by mt-record itself */
		return MT_MISSED_NOTHING;
	/* What these would have said is found out at the call's end, where it counts as loss. */
	if (begins(section, "fentry/") || begins(name, "region_"))
		return MT_MISSED_NOTHING;
	return way_of(section) == MT_WATCH_AUTO ? MT_MISSED_STEP : MT_MISSED_CALL;
}

uint64_t mt_watch_missed(const struct bpf_object *object, enum mt_missed what)
{
	struct bpf_program *program, *other;
	uint64_t sum = 0, n, n_other;
	char name[64];

	bpf_object__for_each_program(program, object) {
		if (mt_watch_kind(bpf_program__section_name(program),
				  bpf_program__name(program)) != what)
			continue;
		n = left_out(program);
		if (!n)
			continue;
		snprintf(name, sizeof(name), "%s_2", bpf_program__name(program));
		other = bpf_object__find_program_by_name(object, name);
		if (other) {
			n_other = left_out(other);
			sum += n < n_other ? n : n_other;
		} else if (!begins(name + strlen(name) - 4, "_2_2")) {
			sum += n;
		}
	}
	return sum;
}
