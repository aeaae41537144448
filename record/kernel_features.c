#include "record/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/mt_ring.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, helper, NULL) != 0;
}

static bool has_cookies(void)
{
	return has_helper(BPF_FUNC_get_attach_cookie);
}

static bool has_areas(void)
{
	return has_helper(BPF_FUNC_find_vma);
}

static bool has_callbacks(void)
{
	return has_helper(BPF_FUNC_loop);
}

static bool has_task_storage(void)
{
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) != 0;
}

static bool has_sleep(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "mt_sleep", "GPL", insns,
			       MT_ARRAY_SIZE(insns), &opts);

	/* Not allowed at all is not for this to say. */
	if (fd < 0)
		return fd != -EINVAL;
	close(fd);
	return true;
}

static bool has_lost_count(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_LOST,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno != EINVAL;
	close(fd);
	return true;
}

static const struct {
	const char *what;
	const char *since;	/* Linux version */
	bool (*is_there)(void);
	bool needed;		/* by the programs for later kernels */
	const char *without;	/* what cannot be had then; NULL: nothing, it is done otherwise */
} features[] = {
	{ "programs that sleep", "6.0", has_sleep, true,
	  "a process that loads a library while it runs is stopped until it has been looked at, "
	  "which its parent can see" },
	{ "count of lost mappings", "6.0", has_lost_count, false,
	  "mappings of code that the kernel loses last of all are not noticed" },
	{ "callbacks", "5.17", has_callbacks, true, NULL },
	{ "look at memory areas", "5.17", has_areas, true, NULL },
	{ "cookies", "5.15", has_cookies, true, NULL },
	{ "task storage", "5.11", has_task_storage, true,
	  "at most " TEXT(MT_OLD_THREADS) " threads are recorded at a time" },
};

bool mt_kernel_is_old(void)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(features); i++)
		if (features[i].needed && !features[i].is_there())
			return true;
	return false;
}

void mt_kernel_each_lack(mt_kernel_line_fn fn, void *arg)
{
	struct utsname uts;
	char line[320];
	size_t i;

	if (uname(&uts))
		return;
	for (i = 0; i < MT_ARRAY_SIZE(features); i++) {
		if (!features[i].without || features[i].is_there())
			continue;
		snprintf(line, sizeof(line), "Linux %.64s has no %s (since %s): %s", uts.release,
			 features[i].what, features[i].since, features[i].without);
		fn(arg, line);
	}
}

bool mt_kernel_in_pid_namespace(void)
{
	struct stat st;

	/* The machine's own has a number that is fixed: Linux, proc_ns.h. */
	return stat("/proc/self/ns/pid", &st) || st.st_ino != 0xeffffffc;
}
