#include "record/seccomp_hazard.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_URETPROBE 335
#define REFUSED E2BIG	/* nothing else gives this */

bool mt_seccomp_hazard_possible(const char *release)
{
	unsigned int major, minor;

	return sscanf(release, "%u.%u", &major, &minor) == 2 && major == 6 && minor >= 11 &&
	       minor <= 13;
}

static bool refuse_uretprobe(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_URETPROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | REFUSED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = MT_ARRAY_SIZE(code), .filter = code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* What the call does to a child: its exit status is errno; ended by SIGILL if the call is there. */
static int try_uretprobe(bool filter)
{
	static const struct rlimit no_core = {};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		if (filter && !refuse_uretprobe())
			_exit(0);
		_exit(syscall(NR_URETPROBE) == -1 ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 0;
	return status;
}

bool mt_seccomp_hazard(void)
{
	struct utsname uts;
	int status;

#ifndef __x86_64__
	return false;
#endif
	if (uname(&uts) || !mt_seccomp_hazard_possible(uts.release))
		return false;
	if (!WIFSIGNALED(try_uretprobe(false)))
		return false;
	status = try_uretprobe(true);
	return WIFEXITED(status) && WEXITSTATUS(status) == REFUSED;
}

/* Is the process under a filter? If so, its name. */
static bool has_filter(const char *pid, char comm[MT_SECCOMP_COMM_MAX])
{
	char path[64], line[128];
	int mode = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	comm[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Name: %15[^\n]", comm) != 1 &&
		    sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	fclose(file);
	return mode == SECCOMP_MODE_FILTER;
}

uint32_t mt_seccomp_filtered(int *ret_pid, char ret_comm[MT_SECCOMP_COMM_MAX])
{
	char comm[MT_SECCOMP_COMM_MAX];
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	uint32_t n = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !has_filter(entry->d_name, comm))
			continue;
		*ret_pid = atoi(entry->d_name);
		memcpy(ret_comm, comm, sizeof(comm));
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}
