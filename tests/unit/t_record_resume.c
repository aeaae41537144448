#include "record/resume.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/process_fixture.h"

static const int stop_signals[] = { SIGTSTP, SIGTTIN, SIGTTOU };

/* What a child tells. */
struct told {
	volatile int ready;
	volatile int tid;
	volatile int handled[NSIG];
};

static struct told *told;

static int soon(volatile int *value, int want)
{
	int i;

	for (i = 0; i < SOON_TRIES && *value != want; i++)
		pause_ms(5);
	return *value;
}

static void handle(int sig)
{
	told->handled[sig]++;
}

static void *second_thread(void *arg)
{
	(void)arg;
	told->tid = (int)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

enum how { DEFAULT, HANDLER, IGNORE, BLOCK };

/* A child in a group of its own, which is not orphaned: there stop signals would do nothing. */
static pid_t start(enum how how)
{
	pthread_t thread;
	sigset_t set;
	size_t i;
	pid_t pid;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(told != MAP_FAILED);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		sigemptyset(&set);
		for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++) {
			signal(stop_signals[i], how == HANDLER ? handle :
						how == IGNORE ? SIG_IGN : SIG_DFL);
			sigaddset(&set, stop_signals[i]);
		}
		sigprocmask(how == BLOCK ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
		if (pthread_create(&thread, NULL, second_thread, NULL))
			_exit(1);
		told->ready = 1;
		for (;;)
			pause();
	}
	cr_assert_eq(soon(&told->ready, 1), 1);
	for (i = 0; i < SOON_TRIES && !told->tid; i++)
		pause_ms(5);
	cr_assert_neq(told->tid, 0);
	return pid;
}

static pid_t start_stopped(enum how how)
{
	pid_t pid = start(how);

	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_assert_eq(state_soon(pid, 'T'), 'T');
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	munmap(told, sizeof(*told));
}

/* By which signal the child stands still; waits for that. */
static int stopped_by(pid_t pid)
{
	siginfo_t info = {};

	cr_assert_eq(waitid(P_PID, pid, &info, WSTOPPED), 0);
	return info.si_status;
}

/* Held from the look of this number on. */
static bool held_from(void *arg, int pid)
{
	int *look = arg;

	(void)pid;
	return --*look < 0;
}

static int never = INT_MAX;

/* At the second look alone. */
static bool held_once(void *arg, int pid)
{
	int *looks = arg;

	(void)pid;
	return ++*looks == 2;
}

Test(record_resume, nothing_pending, .timeout = 60)
{
	pid_t pid = start_stopped(DEFAULT);

	cr_expect_eq(mt_resume(pid, -1, held_from, &never), 0);
	cr_expect_eq(state_soon(pid, 'S'), 'S');
	end(pid);
}

Test(record_resume, a_stop_signal_stops, .timeout = 60)
{
	size_t i;
	pid_t pid;

	for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++) {
		pid = start_stopped(DEFAULT);
		cr_expect_eq(stopped_by(pid), SIGSTOP);
		kill(pid, stop_signals[i]);
		cr_expect_eq(mt_resume(pid, -1, held_from, &never), 1);
		cr_expect_eq(stopped_by(pid), stop_signals[i]);
		cr_expect_eq(mt_process_state(pid), 'T');
		end(pid);
	}
}

Test(record_resume, a_handler_runs_once, .timeout = 60)
{
	pid_t pid = start_stopped(HANDLER);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	size_t i;

	cr_assert_geq(pidfd, 0);
	for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++)
		kill(pid, stop_signals[i]);
	/* Sent twice is taken once, as ever. */
	kill(pid, SIGTTIN);
	cr_expect_eq(mt_resume(pid, pidfd, held_from, &never), 1);
	for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++)
		cr_expect_eq(soon(&told->handled[stop_signals[i]], 1), 1);
	cr_expect_eq(state_soon(pid, 'S'), 'S');
	pause_ms(50);
	for (i = 0; i < MT_ARRAY_SIZE(stop_signals); i++)
		cr_expect_eq(told->handled[stop_signals[i]], 1);
	close(pidfd);
	end(pid);
}

Test(record_resume, ignored_ones_are_not_pending, .timeout = 60)
{
	pid_t pid = start_stopped(IGNORE);

	kill(pid, SIGTSTP);
	cr_expect_eq(mt_resume(pid, -1, held_from, &never), 0);
	cr_expect_eq(state_soon(pid, 'S'), 'S');
	end(pid);
}

/* It was sent to one thread, and stays with it. A long list of groups does not hide it. */
Test(record_resume, blocked_ones_stay_pending, .timeout = 60)
{
	struct mt_pending pending;
	gid_t groups[4000];
	size_t i;
	pid_t pid;

	for (i = 0; i < MT_ARRAY_SIZE(groups); i++)
		groups[i] = (gid_t)(1000000 + i);
	if (setgroups(MT_ARRAY_SIZE(groups), groups))
		cr_log_info("without many groups: %s", strerror(errno));
	pid = start_stopped(BLOCK);
	cr_assert_eq(syscall(SYS_tgkill, pid, told->tid, SIGTTOU), 0);
	kill(pid, SIGTSTP);
	cr_expect_eq(mt_resume(pid, -1, held_from, &never), 1);
	cr_expect_eq(state_soon(pid, 'S'), 'S');
	cr_assert_eq(mt_thread_pending(pid, told->tid, &pending), 0);
	cr_expect_eq(pending.thread, 1ULL << (SIGTTOU - 1));
	cr_expect_eq(pending.process, 1ULL << (SIGTSTP - 1));
	cr_assert_eq(mt_thread_pending(pid, pid, &pending), 0);
	cr_expect_eq(pending.thread, 0);
	end(pid);
}

/* Our own, sent once more while it stood still already. */
Test(record_resume, sigstop_is_ours, .timeout = 60)
{
	pid_t pid = start_stopped(DEFAULT);

	kill(pid, SIGSTOP);
	cr_expect_eq(mt_resume(pid, -1, held_from, &never), 0);
	cr_expect_eq(state_soon(pid, 'S'), 'S');
	end(pid);
}

Test(record_resume, who_is_held_stays_so, .timeout = 60)
{
	pid_t pid = start_stopped(DEFAULT);
	int look = 0;

	cr_expect_eq(mt_resume(pid, -1, held_from, &look), 0);
	pause_ms(50);
	cr_expect_eq(state_soon(pid, 'T'), 'T');

	/* By a SIGSTOP that came right before SIGCONT, and is gone with it. */
	look = 1;
	cr_expect_eq(mt_resume(pid, -1, held_from, &look), 1);
	cr_expect_eq(state_soon(pid, 'T'), 'T');
	pause_ms(50);
	cr_expect_eq(state_soon(pid, 'T'), 'T');

	/* Which whoever sent it takes back meanwhile. */
	look = 0;
	cr_expect_eq(mt_resume(pid, -1, held_once, &look), 0);
	cr_expect_eq(look, 3);
	cr_expect_eq(state_soon(pid, 'S'), 'S');
	end(pid);
}

Test(record_resume, nobody, .timeout = 60)
{
	pid_t pid = start(DEFAULT);

	end(pid);
	cr_expect_eq(mt_resume(pid, -1, held_from, &never), -ESRCH);
}
