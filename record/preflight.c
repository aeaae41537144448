#include "record/preflight.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BTF_PATH "/sys/kernel/btf/vmlinux"

static const struct {
	int number;
	const char *name;
} capabilities[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_KILL, "CAP_KILL" },
};

/* Effective capabilities, proc(5); all if they cannot be read: then the kernel will say. */
static uint64_t effective_capabilities(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t set = UINT64_MAX;
	char line[256];

	if (!file)
		return set;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %" SCNx64, &set) == 1)
			break;
	fclose(file);
	return set;
}

static bool has_all(uint64_t set, char *ret_missing, size_t size)
{
	size_t i, used = 0;

	ret_missing[0] = '\0';
	if (set >> CAP_SYS_ADMIN & 1)	/* stands in for the two BPF needs */
		set |= 1ull << CAP_BPF | 1ull << CAP_PERFMON;
	for (i = 0; i < MT_ARRAY_SIZE(capabilities); i++) {
		if (set >> capabilities[i].number & 1)
			continue;
		used += snprintf(ret_missing + used, size - used, "%s%s", used ? ", " : "",
				 capabilities[i].name);
	}
	return used == 0;
}

/* Processes are looked up in /proc by the numbers that the kernel gives us. */
static bool sees_itself(void)
{
	char link[32];
	ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);

	if (n <= 0)
		return false;
	link[n] = '\0';
	return atoi(link) == getpid();
}

int mt_preflight(char ret_line[MT_PREFLIGHT_MAX])
{
	char missing[128];

	if (!has_all(effective_capabilities(), missing, sizeof(missing))) {
		snprintf(ret_line, MT_PREFLIGHT_MAX,
			 "recording needs %s; %s", missing,
			 geteuid() == 0 ? "give them to this container: --cap-add=..." :
					  "run it as root: sudo mt-record ...");
		return -EPERM;
	}
	if (!sees_itself()) {
		snprintf(ret_line, MT_PREFLIGHT_MAX,
			 "/proc does not show this pid namespace; mount one that does: "
			 "unshare --mount-proc, or mount -t proc proc /proc");
		return -ESRCH;
	}
	if (access(BTF_PATH, R_OK)) {
		snprintf(ret_line, MT_PREFLIGHT_MAX,
			 "%s: %s; the kernel must be built with CONFIG_DEBUG_INFO_BTF=y "
			 "(Debian's are: apt install linux-image-amd64)",
			 BTF_PATH, strerror(errno));
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Names what not even the programs for old kernels can do without. False: it is there. */
static bool too_old(char ret_line[MT_PREFLIGHT_MAX])
{
	struct utsname uts;

	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) != 0 || uname(&uts))
		return false;
	snprintf(ret_line, MT_PREFLIGHT_MAX,
		 "Linux %.64s is too old to record under, it lacks ring buffers and maybe more; "
		 "5.10 is the oldest that works", uts.release);
	return true;
}

void mt_preflight_explain(int err, const char *log, bool fentry, char ret_line[MT_PREFLIGHT_MAX])
{
	const char *hint;

	if (too_old(ret_line))
		return;
	if (fentry) {
		snprintf(ret_line, MT_PREFLIGHT_MAX,
			 "--watch fentry does not work here: %s; --watch auto takes what does, "
			 "and -v shows what the kernel said", strerror(-err));
		return;
	}
	/* The verifier ends its log with what it has cost. */
	if (strstr(log, "\nprocessed ")) {
		snprintf(ret_line, MT_PREFLIGHT_MAX,
			 "this kernel's BPF verifier refuses a program: %s; -v shows its words "
			 "(Linux 5.10 is the oldest kernel supported)", strerror(-err));
		return;
	}
	switch (-err) {
	case EPERM:
	case EACCES:
		hint = "the kernel refuses BPF here (container, lockdown or seccomp); "
		       "run it on the host as root, and see `cat /sys/kernel/security/lockdown`";
		break;
	case ENOMEM:
		hint = "no memory for the rings; try a smaller --ring-size and --stack-ring-size";
		break;
	default:
		hint = "-v shows what the kernel said";
	}
	snprintf(ret_line, MT_PREFLIGHT_MAX, "cannot load the BPF programs: %s%s; %s",
		 strerror(-err), *log ? "" : " (nothing logged)", hint);
}
