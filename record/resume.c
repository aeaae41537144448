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
struct lost {
	uint64_t process;
	size_t n;
	struct {
		int tid;
		uint64_t signals;
	} threads[MT_RESUME_THREADS_MAX];
};

static void look_at_thread(int pid, int tid, struct lost *lost, uint64_t *ret_n_threads)
{
	struct mt_pending pending;

	if (mt_thread_pending(pid, tid, &pending))
		return;
	*ret_n_threads = pending.n_threads;
	lost->process |= pending.process & THEIRS;
	if (!(pending.thread & THEIRS))
		return;
	if (lost->n == MT_RESUME_THREADS_MAX) {
		lost->process |= pending.thread & THEIRS;
		return;
	}
	lost->threads[lost->n].tid = tid;
	lost->threads[lost->n++].signals = pending.thread & THEIRS;
}

/* What SIGCONT will discard. Who cannot be looked at is taken to have nothing pending. */
static void look(int pid, struct lost *lost)
{
	uint64_t n_threads = 1;
	struct dirent *entry;
	char path[32];
	DIR *dir;
	int tid;

	look_at_thread(pid, pid, lost, &n_threads);
	if (n_threads == 1 || n_threads > MT_RESUME_THREADS_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid > 0 && tid != pid)
			look_at_thread(pid, tid, lost, &n_threads);
	}
	closedir(dir);
}

static int send_to_process(int pid, int pidfd, int sig)
{
	int err = pidfd < 0 ? kill(pid, sig) :
		  (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);

	return err ? -errno : 0;
}

int mt_resume(int pid, int pidfd, mt_held_fn held, void *arg)
{
	struct lost lost = {};
	bool stopped;
	size_t i, k;
	int err;

	look(pid, &lost);
	/* Only now, and again afterwards: to look has taken a while, and SIGCONT undoes SIGSTOP. */
	if (held(arg, pid))
		return 0;
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
	stopped = held(arg, pid);
	if (stopped)
		send_to_process(pid, pidfd, SIGSTOP);
	/* Whoever held it may have let it go before that. */
	if (stopped && !held(arg, pid)) {
		send_to_process(pid, pidfd, SIGCONT);
		stopped = false;
	}
	return stopped || lost.process || lost.n;
}
