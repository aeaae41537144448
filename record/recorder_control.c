/* The recorder's part in --control: what each command does. */
#include "record/recorder_impl.h"

#include <errno.h>
#include <time.h>

#include "common/error.h"
#include "record/clock.h"
#include "record/control.h"
#include "record/marks.h"
#include "record/programs.h"

#define COMMANDS_A_TURN 64	/* then others have a turn, however many are sent */
#define COMMANDS_AT_END 65536	/* more than a FIFO holds */

/*
 * The moment lies in the time in which calls are not recorded, so that all that is recorded is
 * on the right side of it.
 */
static int set_paused(struct mt_recorder *rec, bool pause)
{
	int err;

	if (rec->paused == pause)
		return 0;
	if (pause)
		mt_programs_pause(rec->programs, true);
	err = mt_marks_add(rec->marks, pause ? MT_MARK_DISABLE : MT_MARK_ENABLE, mt_now(), "");
	if (err) {
		mt_programs_pause(rec->programs, rec->paused);
		return err;
	}
	mt_programs_pause(rec->programs, pause);
	rec->paused = pause;
	return 0;
}

static void refuse(struct mt_recorder *rec, const char *error)
{
	char line[MT_CONTROL_ERROR_MAX + 16];

	snprintf(line, sizeof(line), "--control: %s", error);
	rec->complain(rec->notify_arg, line);
	mt_control_answer(rec->control, error);
}

static void answer(struct mt_recorder *rec, int err)
{
	const char *error = err == -E2BIG ? "there are too many marks" :
			    err ? mt_strerror(err) : NULL;

	/* Such marks are many: the first is told of, each is answered. */
	if (error && !rec->marks_refused)
		refuse(rec, error);
	else
		mt_control_answer(rec->control, error);
	rec->marks_refused |= err != 0;
}

static void take_command(struct mt_recorder *rec, const struct mt_control_command *command)
{
	switch (command->kind) {
	case MT_CONTROL_ENABLE:
	case MT_CONTROL_DISABLE:
		answer(rec, set_paused(rec, command->kind == MT_CONTROL_DISABLE));
		return;
	case MT_CONTROL_MARK:
		answer(rec, mt_marks_add(rec->marks, MT_MARK_NAME, mt_now(), command->name));
		return;
	case MT_CONTROL_PING:
		rec->pinged = true;
		rec->ping_ticket = mt_pipeline_sync(rec->pipeline);
		return;
	case MT_CONTROL_STOP:
		rec->stop = rec->stop_taken = true;
		return;
	}
}

static void answer_ping(struct mt_recorder *rec)
{
	rec->pinged = false;
	if (mt_pipeline_failed(rec->pipeline))
		mt_control_answer(rec->control, "the recording cannot be written any more");
	else
		answer(rec, 0);
}

/* By a ping, or by marks that nothing more is to be added to until some have been written. */
static bool are_held_up(const struct mt_recorder *rec)
{
	return rec->pinged ||
	       (!mt_marks_have_room(rec->marks) && !mt_pipeline_failed(rec->pipeline));
}

static void take_commands(struct mt_recorder *rec)
{
	struct mt_control_command command;
	char error[MT_CONTROL_ERROR_MAX];
	int ret, n;

	rec->commands_left = false;
	if (rec->pinged && mt_pipeline_synced(rec->pipeline, rec->ping_ticket))
		answer_ping(rec);
	for (n = 0; !rec->stop_taken; n++) {
		rec->commands_held_up = are_held_up(rec);
		if (rec->commands_held_up)
			return;
		rec->commands_left = n == COMMANDS_A_TURN;
		if (rec->commands_left)
			return;
		ret = mt_control_next(rec->control, &command, error);
		if (!ret)
			return;
		if (ret < 0)
			refuse(rec, error);
		else
			take_command(rec, &command);
	}
}

void mt_recorder_heed_commands(struct mt_recorder *rec)
{
	if (!rec->control || !rec->pipeline)
		return;
	take_commands(rec);
	if (rec->commands_held_up && mt_control_stop_waits(rec->control))
		rec->stop = true;
}

void mt_recorder_finish_commands(struct mt_recorder *rec)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	int turns = COMMANDS_AT_END / COMMANDS_A_TURN;

	if (!rec->control)
		return;
	/* What has been sent before the command's end is done, not lost. */
	do {
		take_commands(rec);
		if (rec->commands_held_up)
			nanosleep(&pause, NULL);
	} while (rec->commands_held_up || (rec->commands_left && --turns));
}
