#include "record/process_state.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/process_fixture.h"

#define THREADS 3

/* What mt_process_all_stopped() says in the end: waits at most 20 s for it to become want. */
static int all_stopped_soon(int pid, int want)
{
	int got = -1, i;

	/* The value that was waited for: the next one may be of a later moment. */
	for (i = 0; i < SOON_TRIES && (got = mt_process_all_stopped(pid)) != want; i++)
		pause_ms(5);
	return got;
}

static void tell(int fd, int value)
{
	if (write(fd, &value, sizeof(value)) != sizeof(value))
		_exit(1);
}

static int hear(int fd)
{
	int value = 0;

	cr_assert_eq(read(fd, &value, sizeof(value)), sizeof(value));
	return value;
}

static void *tell_tid_and_sleep(void *fd)
{
	tell(*(int *)fd, syscall(SYS_gettid));
	for (;;)
		pause();
	return NULL;
}

/* Its child, which shares its memory, only sleeps; the caller sleeps in the kernel meanwhile. */
static void *tell_tid_and_vfork(void *fd)
{
	pid_t pid;

	tell(*(int *)fd, syscall(SYS_gettid));
	pid = vfork();
	if (pid == 0) {
		tell(*(int *)fd, syscall(SYS_getpid));
		for (;;)
			syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
	}
	for (;;)
		pause();
	return NULL;
}

/* A child that runs body, and what it tells of itself. */
static pid_t start(void *(*body)(void *), bool in_main, int n_threads, int *ret_fd)
{
	pthread_t thread;
	int fds[2], i;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Looks like the end of the name and another state. */
		prctl(PR_SET_NAME, "a) X (b) Z 1");
		for (i = 0; i < n_threads; i++)
			if (pthread_create(&thread, NULL, body, &fds[1]))
				_exit(1);
		if (in_main)
			body(&fds[1]);
		for (;;)
			pause();
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

static void end(pid_t pid, int fd)
{
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	close(fd);
}

Test(process_state, all_threads_of_a_stopped_process_stand_still)
{
	int fd, tids[THREADS], i;
	pid_t pid = start(tell_tid_and_sleep, false, THREADS, &fd);

	for (i = 0; i < THREADS; i++)
		tids[i] = hear(fd);
	for (i = 0; i < THREADS; i++)
		cr_expect_eq(thread_state_soon(pid, tids[i], 'S'), 'S');
	cr_expect_eq(thread_state_soon(pid, pid, 'S'), 'S');
	cr_expect_eq(mt_process_state(pid), 'S');
	cr_expect_eq(mt_process_all_stopped(pid), 0);

	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_expect_eq(all_stopped_soon(pid, 1), 1);
	cr_expect_eq(mt_process_state(pid), 'T');
	for (i = 0; i < THREADS; i++)
		cr_expect_eq(mt_thread_state(pid, tids[i]), 'T');

	cr_assert_eq(kill(pid, SIGCONT), 0);
	cr_expect_eq(all_stopped_soon(pid, 0), 0);
	end(pid, fd);
}

Test(process_state, a_process_that_is_gone_has_not_stopped)
{
	siginfo_t info;
	int fd, tid;
	pid_t pid = start(tell_tid_and_sleep, false, 1, &fd);

	tid = hear(fd);
	kill(pid, SIGKILL);
	/* Dead, but not waited for. */
	cr_assert_eq(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	cr_expect_eq(mt_process_state(pid), 'Z');
	cr_expect_eq(mt_thread_state(pid, tid), 0);
	cr_expect_eq(mt_process_all_stopped(pid), -ESRCH);

	end(pid, fd);
	cr_expect_eq(mt_process_state(pid), 0);
	cr_expect_eq(mt_thread_state(pid, pid), 0);
	cr_expect_eq(mt_process_all_stopped(pid), -ESRCH);
}

static void *leave(void *fd)
{
	tell(*(int *)fd, syscall(SYS_gettid));
	syscall(SYS_exit, 0);
	return NULL;
}

/* main() may end by pthread_exit(): its entry stays, as a zombie, and the others decide. */
Test(process_state, a_dead_first_thread_hides_nothing)
{
	pthread_t thread;
	int fds[2], tid;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, tell_tid_and_sleep, &fds[1]))
			_exit(1);
		leave(&fds[1]);
	}
	tid = hear(fds[0]);
	tid = tid == pid ? hear(fds[0]) : tid;
	cr_assert_eq(thread_state_soon(pid, pid, 'Z'), 'Z');
	cr_expect_eq(mt_process_all_stopped(pid), 0);
	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_expect_eq(all_stopped_soon(pid, 1), 1);
	cr_expect_eq(mt_thread_state(pid, tid), 'T');
	close(fds[1]);
	end(pid, fds[0]);
}

/* A thread in vfork() does not stop, it sleeps until the child is done. The other one stops. */
Test(process_state, a_thread_that_sleeps_in_vfork_counts_as_still)
{
	int fd, tid, child;
	pid_t pid = start(tell_tid_and_vfork, false, 1, &fd);

	tid = hear(fd);
	child = hear(fd);
	cr_assert_eq(thread_state_soon(pid, tid, 'D'), 'D');
	cr_expect_eq(mt_process_all_stopped(pid), 0);
	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_expect_eq(all_stopped_soon(pid, 1), 1);
	cr_expect_eq(mt_thread_state(pid, tid), 'D');
	cr_expect_eq(mt_process_state(pid), 'T');
	kill(child, SIGKILL);
	end(pid, fd);
}

/*
 * Sleeping alone proves nothing: the stop may not have been sent. Once it has been, waiting for the
 * state to change could take for ever: the child may be stopped too.
 */
Test(process_state, one_thread_that_sleeps_in_vfork_is_still_once_the_stop_is_sent)
{
	int fd, child;
	pid_t pid = start(tell_tid_and_vfork, true, 0, &fd);

	cr_assert_eq(hear(fd), pid);
	child = hear(fd);
	cr_assert_eq(thread_state_soon(pid, pid, 'D'), 'D');
	cr_expect_eq(mt_process_all_stopped(pid), 0);
	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_expect_eq(all_stopped_soon(pid, 1), 1);
	cr_expect_eq(mt_process_state(pid), 'D');
	cr_assert_eq(kill(child, SIGKILL), 0);
	/* It meets the stop where vfork() returns. */
	cr_expect_eq(thread_state_soon(pid, pid, 'T'), 'T');
	end(pid, fd);
}
