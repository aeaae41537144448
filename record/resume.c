#include "record/resume.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/process_state.h"

#define BIT(sig) (1ULL << ((sig) - 1))

static const int stop_signals[] = { SIGTSTP, SIGTTIN, SIGTTOU };

#define THEIRS (BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))
#define THREADS_MAX 8	/* that have one of their own: more than one is odd enough */

struct lost {
	uint64_t process;
	size_t n;
	struct {
		int tid;
		uint64_t signals;
	} threads[THREADS_MAX];
};

/* What SIGCONT will discard. Who cannot be looked at is taken to have nothing pending. */
static void look(int pid, struct lost *lost)
{
	struct mt_pending pending;
	struct dirent *entry;
	char path[32];
	DIR *dir;
	int tid;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid <= 0 || mt_thread_pending(pid, tid, &pending))
			continue;
		lost->process |= pending.process & THEIRS;
		if (!(pending.thread & THEIRS))
			continue;
		if (lost->n == THREADS_MAX) {
			lost->process |= pending.thread & THEIRS;
			continue;
		}
		lost->threads[lost->n].tid = tid;
		lost->threads[lost->n++].signals = pending.thread & THEIRS;
	}
	closedir(dir);
}

static int send_to_process(int pid, int pidfd, int sig)
{
	int err = pidfd < 0 ? kill(pid, sig) :
		  (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);

	return err ? -errno : 0;
}

int mt_resume(int pid, int pidfd)
{
	struct lost lost = {};
	size_t i, k;
	int err;

	look(pid, &lost);
	err = send_to_process(pid, pidfd, SIGCONT);
	if (err)
		return err;
	for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++) {
		if (lost.process & BIT(stop_signals[i]))
			send_to_process(pid, pidfd, stop_signals[i]);
		for (k = 0; k < lost.n; k++)
			if (lost.threads[k].signals & BIT(stop_signals[i]))
				syscall(SYS_tgkill, pid, lost.threads[k].tid, stop_signals[i]);
	}
	return lost.process || lost.n;
}
