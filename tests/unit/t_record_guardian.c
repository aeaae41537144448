#include "record/guardian.h"

#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/stop_table.h"
#include "tests/unit/process_fixture.h"

/*
 * What stands for mt-record, and three processes that stand still: in the table of stops, in the
 * map of processes as stopped by the programs, and in both, but stopped by somebody else too.
 */
static pid_t recorder, listed, marked, held;
static int ready, go;	/* the recorder says it is ready, we say that it may end well */
static uint32_t *no_stops;	/* shared by all */

static pid_t start_stopped(void)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_assert_eq(state_soon(pid, 'T'), 'T');
	return pid;
}

static void run_recorder(int ring, int processes, int ready_fd, int go_fd)
{
	struct mt_guardian *guardian;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mt_guardian_start(ring, processes, no_stops, &guardian))
		_exit(1);
	mt_stop_table_set(mt_guardian_table(guardian), MT_STOP_PIDS - 1, true);
	mt_stop_table_set(mt_guardian_table(guardian), listed, true);
	mt_stop_table_set(mt_guardian_table(guardian), held, true);
	if (write(ready_fd, "", 1) != 1 || read(go_fd, &byte, 1) != 1)
		_exit(2);
	mt_guardian_free(guardian);
	_exit(0);
}

static void mark(int processes, pid_t pid, uint64_t flags)
{
	uint32_t key = (uint32_t)pid;

	cr_assert_eq(bpf_map_update_elem(processes, &key, &flags, BPF_ANY), 0);
}

static void setup(void)
{
	int ready_fds[2], go_fds[2], ring, processes;
	char byte;

	if (geteuid() != 0)
		cr_skip_test("a ring needs root");
	ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "t_guardian", 0, 0, 4096, NULL);
	cr_assert_geq(ring, 0, "no ring: %s", strerror(errno));
	processes = bpf_map_create(BPF_MAP_TYPE_HASH, "t_guardian", 4, 8, 16, NULL);
	cr_assert_geq(processes, 0, "no map: %s", strerror(errno));
	no_stops = mmap(NULL, sizeof(*no_stops), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	cr_assert(no_stops != MAP_FAILED);
	/* A guardian that is left alone becomes our child. */
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	listed = start_stopped();
	marked = start_stopped();
	held = start_stopped();
	mark(processes, marked, MT_PROCESS_PAUSED);
	mark(processes, held, MT_PROCESS_STOPPED | MT_PROCESS_HELD);
	cr_assert_eq(pipe(ready_fds), 0);
	cr_assert_eq(pipe(go_fds), 0);
	recorder = fork();
	cr_assert_geq(recorder, 0);
	if (recorder == 0)
		run_recorder(ring, processes, ready_fds[1], go_fds[0]);
	close(ready_fds[1]);
	close(go_fds[0]);
	close(ring);
	close(processes);
	ready = ready_fds[0];
	go = go_fds[1];
	cr_assert_eq(read(ready, &byte, 1), 1);
}

static void teardown(void)
{
	int i;

	if (!listed)
		return;
	kill(listed, SIGKILL);
	kill(marked, SIGKILL);
	kill(held, SIGKILL);
	/* They and, if it has not been waited for, the guardian. */
	for (i = 0; i < 5 && waitpid(-1, NULL, 0) > 0; i++)
		;
	close(ready);
	close(go);
}

Test(guardian, resumes_what_a_killed_recorder_had_stopped, .init = setup, .fini = teardown)
{
	int status;
	pid_t pid;

	pause_ms(100);
	cr_assert_eq(mt_process_state(listed), 'T');
	cr_assert_eq(kill(recorder, SIGKILL), 0);
	cr_expect_eq(state_soon(listed, 'S'), 'S');
	cr_expect_eq(state_soon(marked, 'S'), 'S');
	cr_assert_eq(waitpid(recorder, &status, 0), recorder);
	cr_expect_eq(*no_stops, 1);

	/* When it has looked long enough it ends; who was not ours stands still as before. */
	pid = waitpid(-1, &status, 0);
	cr_expect_gt(pid, 0);
	cr_expect(pid != listed && pid != marked && pid != held);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_expect_eq(mt_process_state(held), 'T');
}

/* A stop signal of somebody else's is not lost with ours, and what it does is left alone. */
Test(guardian, leaves_stopped_who_was_told_to_stop_meanwhile, .init = setup, .fini = teardown,
     .timeout = 60)
{
	siginfo_t info = {};
	int status;

	/* Not in an orphaned group, where the signal would do nothing. */
	cr_assert_eq(setpgid(listed, listed), 0);
	cr_assert_eq(waitid(P_PID, listed, &info, WSTOPPED), 0);
	cr_assert_eq(kill(listed, SIGTSTP), 0);
	cr_assert_eq(kill(recorder, SIGKILL), 0);
	cr_assert_eq(waitid(P_PID, listed, &info, WSTOPPED), 0);
	cr_expect_eq(info.si_status, SIGTSTP);
	cr_assert_eq(waitpid(recorder, &status, 0), recorder);
	/* It looks for a while whether somebody stands still. */
	cr_expect_gt(waitpid(-1, &status, 0), 0);
	cr_expect_eq(mt_process_state(listed), 'T');
	cr_expect_eq(mt_process_state(marked), 'S');
}

Test(guardian, does_nothing_if_the_recorder_ends_well, .init = setup, .fini = teardown)
{
	int status;

	cr_assert_eq(write(go, "", 1), 1);
	cr_assert_eq(waitpid(recorder, &status, 0), recorder);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	/* mt_guardian_free() has waited for it: whatever it did is done. */
	cr_expect_eq(mt_process_state(listed), 'T');
	cr_expect_eq(mt_process_state(marked), 'T');
	cr_expect_eq(mt_process_state(held), 'T');
	cr_expect_eq(*no_stops, 0);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), 0, "a process is left");
}
