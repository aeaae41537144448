#include "record/attachable.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FLAGS_KERNEL_THREAD 0x00200000u	/* Linux, sched.h: PF_KTHREAD */

/* A file of /proc, cut where it does not fit. */
static int read_text(int pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		err = -errno;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return err;
}

/* The process of a thread, 0 if there is none. */
static int process_of(int tid)
{
	char text[1024], *at;
	int pid = 0;

	if (read_text(tid, "status", text, sizeof(text)))
		return 0;
	at = strstr(text, "\nTgid:");
	if (at)
		pid = atoi(at + 6);
	return pid;
}

/*
 * Whom we may not trace shows us no mapped files, and those are what probes are put into. Its maps
 * would not tell: Linux 6.14 shows them to everybody with CAP_PERFMON.
 */
static int may_be_traced(int pid, char ret_line[MT_ATTACHABLE_MAX])
{
	char path[64], target[1];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, target, sizeof(target)) >= 0 || (errno != EACCES && errno != EPERM))
		return 0;
	snprintf(ret_line, MT_ATTACHABLE_MAX,
		 "process %d cannot be attached to, the kernel refuses mt-record what tracing it "
		 "takes: %s; run mt-record as root outside of this container or sandbox", pid,
		 strerror(errno));
	return -EPERM;
}

int mt_attachable(int pid, char ret_line[MT_ATTACHABLE_MAX])
{
	char text[1024], *after, state = 0;
	unsigned int flags = 0, threads = 0;
	int process = process_of(pid);

	if (process != pid && process > 0) {
		snprintf(ret_line, MT_ATTACHABLE_MAX,
			 "%d is a thread of process %d; attach to that: -p %d", pid, process,
			 process);
		return -EINVAL;
	}
	/* The name may hold spaces and parentheses. */
	after = read_text(pid, "stat", text, sizeof(text)) ? NULL : strrchr(text, ')');
	if (!after || sscanf(after + 1, " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u "
			     "%*u %*d %*d %*d %*d %u", &state, &flags, &threads) != 3) {
		snprintf(ret_line, MT_ATTACHABLE_MAX, "process %d: %s", pid, strerror(ESRCH));
		return -ESRCH;
	}
	if (pid == getpid()) {
		snprintf(ret_line, MT_ATTACHABLE_MAX, "process %d is this mt-record itself", pid);
		return -EINVAL;
	}
	if (flags & FLAGS_KERNEL_THREAD) {
		snprintf(ret_line, MT_ATTACHABLE_MAX,
			 "process %d is a thread of the kernel, which has no allocator to record",
			 pid);
		return -EINVAL;
	}
	/* The first thread of several may be gone while the others run. */
	if ((state == 'Z' || state == 'X') && threads <= 1) {
		snprintf(ret_line, MT_ATTACHABLE_MAX,
			 "process %d has ended already, only its parent has not waited for it",
			 pid);
		return -ESRCH;
	}
	return may_be_traced(pid, ret_line);
}
