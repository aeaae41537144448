#include "record/stopped.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/clock.h"
#include "record/guardian.h"
#include "record/process_state.h"
#include "record/programs.h"

/* Stand for the loaded programs: what they know of a process. */
static uint64_t flags;
static int unstopped;

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
	flags &= ~(uint64_t)MT_PROCESS_STOPPED;
}

static struct mt_stop_table table;
static struct mt_stopped *stopped;
static pid_t child;
static int told;

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

static int in_table(void)
{
	int i, n = 0;

	for (i = 0; i < MT_STOP_SLOTS; i++)
		n += table.pids[i] == child;
	return n;
}

/* It goes on when the last reason is gone, and not before. */
Test(record_stopped, two_reasons)
{
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX), 0);
	cr_assert_eq(mt_stopped_add(stopped, child, MT_STOP_ATTACH, mt_now()), 0);
	cr_assert_eq(mt_stopped_count(stopped), 1);
	cr_assert_eq(in_table(), 1);

	mt_stopped_release(stopped, MT_STOP_ATTACH);
	cr_assert_eq(told, 0);
	cr_assert_eq(mt_process_state(child), 'T');
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(state_soon('S'), 'S');
	cr_assert_eq(told, 1);
	cr_assert_eq(unstopped, 1);
	cr_assert_eq(in_table(), 0);
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
	cr_assert_eq(mt_stopped_wait(stopped, child, UINT64_MAX), 0);
	flags = MT_PROCESS_HELD | MT_PROCESS_STOPPED;
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(unstopped, 1);
	usleep(100000);
	cr_assert_eq(mt_process_state(child), 'T');
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
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX), 0);
	mt_stopped_release(stopped, MT_STOP_ATTACH);
	cr_assert_eq(mt_stopped_count(stopped), 0);
	cr_assert_eq(mt_stopped_add(stopped, child, MT_STOP_ATTACH, mt_now()), -ESRCH);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}

/* Without a slot for the guardian it is stopped and resumed all the same. */
Test(record_stopped, full_table)
{
	int i;

	for (i = 0; i < MT_STOP_SLOTS; i++)
		table.pids[i] = 1;
	cr_assert_eq(mt_stopped_stop(stopped, child, MT_STOP_PRESSURE), 1);
	cr_assert_eq(mt_stopped_wait(stopped, 0, UINT64_MAX), 0);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert_eq(state_soon('S'), 'S');
	for (i = 0; i < MT_STOP_SLOTS; i++)
		cr_assert_eq(table.pids[i], 1);
}
