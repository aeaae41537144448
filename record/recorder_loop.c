#include "record/recorder_impl.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/control.h"
#include "record/programs.h"
#include "record/record_opts.h"

#define IDLE_MS 500
#define TREE_POLL_MS 20
#define PING_POLL_MS 1
#define FORGET_POLLS 50

/* Our child's end is reaped; of a process that is not ours only the end is known. */
static void look_at_root(struct mt_recorder *rec, bool ended)
{
	if (rec->root_gone)
		return;
	if (!rec->target) {
		rec->root_gone = ended;
	} else if (waitpid(rec->root_pid, &rec->root_status, WNOHANG) > 0) {
		rec->root_gone = true;
		rec->status_known = true;
	}
	if (rec->root_gone) {
		close(rec->root_fd);
		rec->root_fd = -1;
	}
}

/*
 * A signal from the terminal has reached the command too; one sent to us alone is passed on.
 * The second ends the recording, and the first does if there is no command to end it.
 */
static void take_signal(struct mt_recorder *rec)
{
	struct signalfd_siginfo info;

	if (read(rec->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	rec->interrupts++;
	if (!rec->target || rec->root_gone)
		rec->interrupts++;
	else if (info.ssi_code != SI_KERNEL)
		syscall(SYS_pidfd_send_signal, rec->root_fd, info.ssi_signo, NULL, 0);
}

static void answer_requests(struct mt_recorder *rec)
{
	if (!mt_attach_worker_run(rec->worker))
		return;
	if (mt_pressure_episode(rec->programs, rec->stopped, rec->worker, rec->pipeline,
				rec->opts->pressure_timeout, &rec->pressure))
		rec->pressure_timeout = true;
}

/* Milliseconds until there is something to look at without being told. */
static int poll_timeout(const struct mt_recorder *rec)
{
	uint64_t left = IDLE_MS, end, now;

	if (rec->commands_left)
		return 0;
	if (rec->pinged)
		return PING_POLL_MS;
	if (rec->root_gone)
		return TREE_POLL_MS;
	if (rec->opts->duration) {
		end = rec->start_time + rec->opts->duration;
		now = mt_now();
		left = end > now ? (end - now) / 1000000 + 1 : 0;
	}
	return left < IDLE_MS ? (int)left : IDLE_MS;
}

static bool is_over(struct mt_recorder *rec)
{
	if (rec->opts->duration && mt_now() - rec->start_time >= rec->opts->duration)
		rec->duration_over = true;
	if (rec->interrupts >= 2 || rec->duration_over || rec->stop)
		return true;
	/* Nothing more can be written: there is only the command's end to wait for. */
	if (!rec->attacher)
		return rec->root_gone || !rec->target;
	if (!rec->root_gone)
		return false;
	if (++rec->tree_polls % FORGET_POLLS == 0)
		mt_programs_forget_gone(rec->programs);
	return rec->opts->follow == MT_FOLLOW_ROOT || mt_programs_tracked(rec->programs) <= 0;
}

void mt_recorder_loop(struct mt_recorder *rec)
{
	struct pollfd fds[] = {
		{ .fd = mt_attach_worker_fd(rec->worker), .events = POLLIN },
		{ .fd = rec->signal_fd, .events = POLLIN },
		{ .fd = rec->root_fd, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};

	while (!is_over(rec)) {
		/* A command that waits for its answer holds up those behind it. */
		fds[3].fd = rec->control && !rec->pinged ? mt_control_fd(rec->control) : -1;
		if (poll(fds, MT_ARRAY_SIZE(fds), poll_timeout(rec)) < 0 && errno != EINTR)
			break;
		answer_requests(rec);
		if (fds[1].revents & POLLIN)
			take_signal(rec);
		look_at_root(rec, fds[2].revents & POLLIN);
		fds[2].fd = rec->root_fd;
		if (rec->control)
			mt_recorder_take_commands(rec);
		/* The file is full or gone: leave the command alone from here on. */
		if (rec->attacher && mt_pipeline_failed(rec->pipeline)) {
			mt_attacher_free(rec->attacher);
			rec->attacher = NULL;
		}
	}
}
