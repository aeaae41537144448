#include "record/pressure.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/attach_worker.h"
#include "record/pipeline.h"
#include "record/process_state.h"
#include "record/programs.h"
#include "record/stop_table.h"
#include "record/stopped.h"

/*
 * Real processes; the programs, the worker and the pipeline are stood for by what follows. All of
 * them ask whether everybody stands still, which is what an episode is for.
 */
#define CHILDREN 3

static pid_t children[CHILDREN];
static int looks;	/* at the tree: the last child is there from the second on */
static int runs, begins, ends, asks, asks_needed, recording_ends;
static bool failed, given_up;
static struct mt_stop_table table;
static struct mt_stopped *stopped;

static bool all_stand(void)
{
	int i;

	for (i = 0; i < CHILDREN; i++)
		if (mt_process_state(children[i]) != 'T')
			return false;
	return true;
}

void mt_programs_each_process(const struct mt_programs *programs, mt_process_fn fn, void *arg)
{
	int i, n = looks++ ? CHILDREN : CHILDREN - 1;

	(void)programs;
	for (i = 0; i < n; i++)
		fn(arg, children[i], 0);
}

uint64_t mt_programs_process_flags(const struct mt_programs *programs, int pid)
{
	(void)programs;
	(void)pid;
	return 0;
}

void mt_programs_unstop(struct mt_programs *programs, int pid)
{
	(void)programs;
	(void)pid;
	cr_assert_eq(ends, 1, "resumed before the latch was cleared");
}

void mt_programs_begin_pressure(struct mt_programs *programs)
{
	(void)programs;
	cr_assert_eq(looks, 0, "somebody is stopped while others are not");
	begins++;
}

bool mt_programs_in_episode(const struct mt_programs *programs)
{
	(void)programs;
	return begins > ends;
}

bool mt_programs_take_paused(struct mt_programs *programs)
{
	(void)programs;
	cr_assert_eq(ends, 1, "looked for the rest while there can be more");
	return true;
}

uint32_t *mt_programs_no_stops(struct mt_programs *programs)
{
	(void)programs;
	return NULL;
}

void mt_programs_end_pressure(struct mt_programs *programs)
{
	(void)programs;
	ends++;
}

bool mt_attach_worker_run(struct mt_attach_worker *worker)
{
	(void)worker;
	cr_assert(all_stand());
	cr_assert_eq(asks, 0, "rings are drained before requests are answered");
	runs++;
	return false;
}

bool mt_pipeline_idle(const struct mt_pipeline *pipeline)
{
	(void)pipeline;
	cr_assert(all_stand());
	return ++asks > asks_needed;
}

bool mt_pipeline_failed(const struct mt_pipeline *pipeline)
{
	(void)pipeline;
	return failed;
}

void mt_pipeline_end(struct mt_pipeline *pipeline)
{
	(void)pipeline;
	cr_assert_eq(ends, 0, "resumed while all is still recorded");
	recording_ends++;
}

static bool give_up(void *arg)
{
	(void)arg;
	return given_up;
}

static void setup(void)
{
	int i;

	cr_assert_eq(mt_stopped_new(NULL, &table, &stopped), 0);
	for (i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		cr_assert_geq(children[i], 0);
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
}

static void teardown(void)
{
	int i;

	mt_stopped_free(stopped);
	for (i = 0; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

TestSuite(record_pressure, .init = setup, .fini = teardown, .timeout = 60);

static struct mt_pressure_report report;

static int episode(uint64_t timeout)
{
	const struct mt_pressure_config config = {
		.stopped = stopped, .timeout = timeout, .give_up = give_up,
	};

	return mt_pressure_episode(&config, &report);
}

/* Waits at most 20 s until nobody stands still. */
static bool all_go_on(void)
{
	static const struct timespec pause = { .tv_nsec = 5000000 };
	int i, k;

	for (k = 0; k < 4000; k++) {
		for (i = 0; i < CHILDREN && mt_process_state(children[i]) == 'S'; i++)
			;
		if (i == CHILDREN)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* A process that was created while the others were being stopped stands still as well. */
Test(record_pressure, until_the_rings_are_empty)
{
	asks_needed = 20;
	cr_assert_eq(episode(MT_PRESSURE_FOREVER), 0);
	cr_assert_eq(asks, 21);
	cr_assert_eq(begins, 1);
	cr_assert_eq(runs, 1);
	cr_assert_eq(ends, 1);
	cr_assert_eq(recording_ends, 0);
	cr_assert_geq(looks, 2);
	cr_assert(all_go_on());
	cr_assert_eq(mt_stopped_count(stopped), 0);
	cr_assert_eq(report.episodes, 1);
	cr_assert_gt(report.total, 0);
	cr_assert_eq(report.longest, report.total);
}

Test(record_pressure, past_the_time_all_are_killed)
{
	int i, status;

	asks_needed = INT32_MAX;
	cr_assert_eq(episode(50000000), -ETIMEDOUT);
	cr_assert_eq(ends, 1);
	for (i = 0; i < CHILDREN; i++) {
		cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
		cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	cr_assert_geq(report.longest, 50000000);
}

Test(record_pressure, nobody_waits_any_more)
{
	asks_needed = INT32_MAX;
	given_up = true;
	cr_assert_eq(episode(MT_PRESSURE_FOREVER), 0);
	cr_assert_eq(recording_ends, 1);
	cr_assert(all_go_on());
}

Test(record_pressure, nobody_writes_any_more)
{
	asks_needed = INT32_MAX;
	failed = true;
	cr_assert_eq(episode(MT_PRESSURE_FOREVER), 0);
	cr_assert(all_go_on());
}
