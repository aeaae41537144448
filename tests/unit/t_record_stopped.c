#include "record/stopped.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/clock.h"
#include "record/process_state.h"
#include "record/programs.h"
#include "record/stop_table.h"

/* Stand for the loaded programs: what they know of a process. */
static uint64_t flags;
static int unstopped;
static bool episode;
static uint32_t no_stops;

uint64_t mt_programs_process_flags(const struct mt_programs *programs, int pid)
{
	(void)programs;
	(void)pid;
	return flags;
}

void mt_programs_unstop(struct mt_programs *programs, int pid)
{
	(void)programs;
	(void)pid;
	unstopped++;
	flags &= ~(uint64_t)(MT_PROCESS_STOPPED | MT_PROCESS_PAUSED);
}

uint32_t *mt_programs_no_stops(struct mt_programs *programs)
{
	(void)programs;
	return &no_stops;
}

bool mt_programs_in_episode(const struct mt_programs *programs)
{
	(void)programs;
	return episode;
}

static struct mt_stop_table table;
static struct mt_stopped *stopped;
static pid_t child;
static int told;

void mt_programs_each_process(const struct mt_programs *programs, mt_process_fn fn, void *arg)
{
	(void)programs;
	fn(arg, child, flags);
}

static void tell(void *arg, int pid, uint64_t took)
{
	(void)arg;
	(void)took;
	cr_assert_eq(pid, child);
	told++;
}

static void setup(void)
{
	cr_assert_eq(mt_stopped_new(NULL, &table, &stopped), 0);
	mt_stopped_tell(stopped, tell, NULL);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void teardown(void)
{
	mt_stopped_free(stopped);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TestSuite(record_stopped, .init = setup, .fini = teardown, .timeout = 60);

/* Waits at most 20 s. */
static char state_soon(char want)
{
	static const struct timespec pause = { .tv_nsec = 5000000 };
	int i;

	for (i = 0; i < 4000 && mt_process_state(child) != want; i++)
		nanosleep(&pause, NULL);
	return mt_process_state(child);
}

/* It goes on when the last reason is gone, and not before. */
Test(record_stopped, two_reasons)
{
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX, NULL, NULL), 0);
	cr_assert_eq(mt_stopped_add(stopped, child, MT_STOP_ATTACH, mt_now()), 0);
	cr_assert_eq(mt_stopped_count(stopped), 1);
	cr_assert_eq(mt_stop_table_has(&table, child), true);

	mt_stopped_release(stopped, MT_STOP_ATTACH);
	cr_assert_eq(told, 0);
	cr_assert_eq(mt_process_state(child), 'T');
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(state_soon('S'), 'S');
	cr_assert_eq(told, 1);
	cr_assert_eq(mt_stop_table_has(&table, child), false);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}

/* Whoever has been stopped by somebody else, then or meanwhile, stays so. */
Test(record_stopped, held_before)
{
	flags = MT_PROCESS_HELD;
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 0);
	cr_assert_eq(mt_stopped_count(stopped), 0);

	flags = 0;
	cr_assert_eq(kill(child, SIGSTOP), 0);
	cr_assert_eq(state_soon('T'), 'T');
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 0);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}

Test(record_stopped, held_meanwhile)
{
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(mt_stopped_wait(stopped, child, UINT64_MAX, NULL, NULL), 0);
	flags = MT_PROCESS_HELD | MT_PROCESS_STOPPED;
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(unstopped, 1);
	usleep(100000);
	cr_assert_eq(mt_process_state(child), 'T');
}

/* Somebody else's stop signal that came meanwhile is not lost with ours. */
Test(record_stopped, told_to_stop_meanwhile)
{
	siginfo_t info = {};

	/* Not in an orphaned group, where the signal would do nothing. */
	cr_assert_eq(setpgid(child, child), 0);
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(mt_stopped_wait(stopped, child, UINT64_MAX, NULL, NULL), 0);
	cr_assert_eq(waitid(P_PID, child, &info, WSTOPPED), 0);
	cr_assert_eq(kill(child, SIGTSTP), 0);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(waitid(P_PID, child, &info, WSTOPPED), 0);
	cr_expect_eq(info.si_status, SIGTSTP);
	cr_assert_eq(kill(child, SIGCONT), 0);
	cr_expect_eq(state_soon('S'), 'S');
}

/* The kernel side's own stop is not somebody else's. */
Test(record_stopped, stopped_by_the_programs)
{
	cr_assert_eq(kill(child, SIGSTOP), 0);
	cr_assert_eq(state_soon('T'), 'T');
	flags = MT_PROCESS_STOPPED;
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(state_soon('S'), 'S');
	cr_assert_eq(flags, 0);
}

Test(record_stopped, killed_while_it_stands)
{
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_ATTACH), 1);
	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX, NULL, NULL), 0);
	mt_stopped_release(stopped, MT_STOP_ATTACH);
	cr_assert_eq(mt_stopped_count(stopped), 0);
	cr_assert_eq(mt_stopped_add(stopped, child, MT_STOP_ATTACH, mt_now()), -ESRCH);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}

/* All descriptors are in use: it is stopped, told from a gone one, and resumed all the same. */
Test(record_stopped, no_descriptors)
{
	struct rlimit old, none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_assert_eq(mt_process_all_stopped(child), -EMFILE);
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	/* Nobody can see that it stands still. */
	cr_assert_eq(mt_stopped_wait(stopped, 0, mt_now() + 1000000, NULL, NULL), -ETIMEDOUT);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX, NULL, NULL), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	cr_assert_eq(state_soon('T'), 'T');

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(mt_stopped_count(stopped), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	cr_assert_eq(state_soon('S'), 'S');
}

/* Somebody else's SIGCONT does not make us wait for ever. */
Test(record_stopped, continued_meanwhile)
{
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX, NULL, NULL), 0);
	cr_assert_eq(kill(child, SIGCONT), 0);
	cr_assert_eq(state_soon('S'), 'S');
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX, NULL, NULL), 0);
	cr_assert_eq(mt_process_state(child), 'T');
}

static bool enough(void *arg)
{
	return ++*(int *)arg == 3;
}

Test(record_stopped, nobody_waits_any_more)
{
	int asked = 0;

	/* Whoever is not stopped once it has been told to be is asked about again. */
	cr_assert_eq(mt_stopped_add(stopped, child, MT_STOP_PRESSURE, mt_now()), 1);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX, enough, &asked), -ECANCELED);
	cr_assert_eq(asked, 3);
}

/* The programs have stopped it when nobody looked any more. */
Test(record_stopped, sweep)
{
	cr_assert_eq(kill(child, SIGSTOP), 0);
	cr_assert_eq(state_soon('T'), 'T');
	mt_stopped_sweep(stopped);
	flags = MT_PROCESS_PAUSED | MT_PROCESS_STOPPED;	/* a request tells of it */
	mt_stopped_sweep(stopped);
	flags = MT_PROCESS_PAUSED;
	episode = true;
	mt_stopped_sweep(stopped);
	usleep(100000);
	cr_assert_eq(mt_process_state(child), 'T');
	cr_assert_eq(unstopped, 0);

	episode = false;
	mt_stopped_sweep(stopped);
	cr_assert_eq(state_soon('S'), 'S');
	cr_assert_eq(unstopped, 1);
}

/* Another address space does not make it another process. */
Test(record_stopped, exec_before_it_stopped)
{
	uint64_t space = 5;

	flags = MT_PROCESS_PAUSED | space << MT_PROCESS_SPACE_SHIFT;
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(state_soon('T'), 'T');
	flags = (space + 1) << MT_PROCESS_SPACE_SHIFT;
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(state_soon('S'), 'S');
}
