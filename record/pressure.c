#include "record/pressure.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "record/attach_worker.h"
#include "record/clock.h"
#include "record/pipeline.h"
#include "record/programs.h"
#include "record/stopped.h"

#define LOOK_PAUSE_NS 200000

struct episode {
	struct mt_stopped *stopped;
	uint32_t found;
};

static void stop_one(void *arg, int pid, uint64_t flags)
{
	struct episode *episode = arg;

	(void)flags;
	if (mt_stopped_stop(episode->stopped, pid, MT_STOP_PRESSURE) > 0)
		episode->found++;
}

static void kill_one(void *arg, int pid, uint64_t flags)
{
	(void)arg;
	(void)flags;
	kill(pid, SIGKILL);
}

/* Until nobody is found who still ran: then nobody is left who could create another process. */
static int stop_tree(const struct mt_pressure_config *config, struct episode *episode,
		     uint64_t deadline)
{
	int err;

	do {
		episode->found = 0;
		mt_programs_each_process(config->programs, stop_one, episode);
		err = mt_stopped_wait(episode->stopped, 0, deadline, config->give_up, config->arg);
	} while (!err && episode->found);
	return err;
}

/*
 * Attach requests first: answering them can add mappings, never events. With everybody
 * stopped, what is empty stays empty.
 */
static int drain(const struct mt_pressure_config *config, uint64_t deadline)
{
	static const struct timespec pause = { .tv_nsec = LOOK_PAUSE_NS };

	mt_attach_worker_run(config->worker);
	while (!mt_pipeline_idle(config->pipeline)) {
		/* With nobody to write them, or nobody to wait, records are lost either way. */
		if (mt_pipeline_failed(config->pipeline) || config->give_up(config->arg))
			return 0;
		if (mt_now() > deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int mt_pressure_episode(const struct mt_pressure_config *config,
			struct mt_pressure_report *report)
{
	struct episode episode = { .stopped = config->stopped };
	uint64_t start = mt_now(), took;
	uint64_t deadline = config->timeout > UINT64_MAX - start ? UINT64_MAX :
								   start + config->timeout;
	int err;

	/* It may have been begun by us, for the mappings. */
	mt_programs_begin_pressure(config->programs);
	err = stop_tree(config, &episode, deadline);
	if (!err)
		err = drain(config, deadline);
	if (err == -ETIMEDOUT)
		mt_programs_each_process(config->programs, kill_one, NULL);

	/* Whom we resume adds no more to the recording: the rings can be full, and lose. */
	if (config->give_up(config->arg))
		mt_pipeline_end(config->pipeline);
	/* The latch first: who is resumed would be stopped again at once. */
	mt_programs_end_pressure(config->programs);
	mt_stopped_release(config->stopped, MT_STOP_PRESSURE);
	if (mt_programs_take_paused(config->programs))
		mt_stopped_sweep(config->stopped);
	took = mt_now() - start;
	report->episodes++;
	report->total += took;
	report->longest = took > report->longest ? took : report->longest;
	return err == -ECANCELED ? 0 : err;
}
