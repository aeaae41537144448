#include "record/resume.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/process_state.h"

#define BIT(sig) (1ULL << ((sig) - 1))

#define THEIRS (BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

static const int stop_signals[] = { SIGTSTP, SIGTTIN, SIGTTOU };

struct lost {
	uint64_t process;
	size_t n;
	struct {
		int tid;
		uint64_t signals;
	} threads[MT_RESUME_THREADS_MAX];
};

struct looking {
	int pid;
	uint64_t n_threads;
	struct lost *lost;
};

static int look_at_thread(void *arg, int tid)
{
	struct looking *looking = arg;
	struct lost *lost = looking->lost;
	struct mt_pending pending;

	if (mt_thread_pending(looking->pid, tid, &pending))
		return 0;
	looking->n_threads = pending.n_threads;
	lost->process |= pending.process & THEIRS;
	if (!(pending.thread & THEIRS))
		return 0;
	if (lost->n == MT_RESUME_THREADS_MAX) {
		lost->process |= pending.thread & THEIRS;
		return 0;
	}
	lost->threads[lost->n].tid = tid;
	lost->threads[lost->n++].signals = pending.thread & THEIRS;
	return 0;
}

static int look_at_other(void *arg, int tid)
{
	const struct looking *looking = arg;

	return tid == looking->pid ? 0 : look_at_thread(arg, tid);
}

/* What SIGCONT will discard. Who cannot be looked at is taken to have nothing pending. */
static void look(int pid, struct lost *lost)
{
	struct looking looking = { .pid = pid, .n_threads = 1, .lost = lost };

	look_at_thread(&looking, pid);
	if (looking.n_threads > 1 && looking.n_threads <= MT_RESUME_THREADS_MAX)
		mt_process_each_thread(pid, look_at_other, &looking);
}

int mt_signal_process(int pid, int pidfd, int sig, const siginfo_t *info)
{
	long err;

	if (pidfd >= 0)
		err = syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0);
	else
		err = info ? syscall(SYS_rt_sigqueueinfo, pid, sig, info) : kill(pid, sig);
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
	err = mt_signal_process(pid, pidfd, SIGCONT, NULL);
	if (err)
		return err;
	for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++) {
		if (lost.process & BIT(stop_signals[i]))
			mt_signal_process(pid, pidfd, stop_signals[i], NULL);
		for (k = 0; k < lost.n; k++)
			if (lost.threads[k].signals & BIT(stop_signals[i]))
				syscall(SYS_tgkill, pid, lost.threads[k].tid, stop_signals[i]);
	}
	stopped = held(arg, pid);
	if (stopped)
		mt_signal_process(pid, pidfd, SIGSTOP, NULL);
	/* Whoever held it may have let it go before that. */
	if (stopped && !held(arg, pid)) {
		mt_signal_process(pid, pidfd, SIGCONT, NULL);
		stopped = false;
	}
	return stopped || lost.process || lost.n;
}
