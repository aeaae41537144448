#include "record/recorder_impl.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/mmap_events.h"
#include "record/control.h"
#include "record/programs.h"
#include "record/record_opts.h"
#include "record/stopped.h"

#define IDLE_MS 500
#define TREE_POLL_MS 20
#define HELD_UP_POLL_MS 1
#define FORGET_POLLS 50
#define TOGETHER_NS 20000000
#define SAME_NS 100000000	/* nobody presses Ctrl-C twice within this */

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

/* Has the command been sent it in one go with us, through a process group? */
static bool sent_to_both(const struct mt_recorder *rec, int sig)
{
	static const struct timespec pause = { .tv_nsec = TOGETHER_NS };
	uint64_t own = mt_programs_own_signal(rec->programs, sig), root;

	/* It may be next. */
	nanosleep(&pause, NULL);
	root = mt_programs_root_signal(rec->programs, sig);
	return root && (root > own ? root - own : own - root) < TOGETHER_NS;
}

/*
 * Would it have been the command's? What is typed the kernel sends to the foreground group: either
 * the command has got it or it has left that group. But a terminal that goes away is told to the
 * session's leader alone, which the command would be in our place.
 */
static bool is_to_pass_on(const struct mt_recorder *rec, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;

	if (info->ssi_code == SI_KERNEL && (sig != SIGHUP || getsid(0) != getpid()))
		return false;
	return !sent_to_both(rec, sig);
}

/*
 * A signal from the terminal or to our process group has reached the command too; one sent to us
 * alone is passed on. The second ends the recording, and the first does if there is no command to
 * end it. timeout(1) sends each twice, to us and to the group: that is one.
 */
static void take_signal(struct mt_recorder *rec)
{
	struct signalfd_siginfo info;
	uint64_t now = mt_now(), before = rec->last_signal_time;
	int sig;

	if (read(rec->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	sig = (int)info.ssi_signo;
	rec->last_signal_time = now;
	if (sig == rec->last_signal && now - before < SAME_NS)
		return;
	rec->last_signal = sig;
	rec->interrupts++;
	if (!rec->target || rec->root_gone)
		rec->interrupts++;
	else if (rec->interrupts < 2 && is_to_pass_on(rec, &info))
		syscall(SYS_pidfd_send_signal, rec->root_fd, sig, NULL, 0);
}

/* Whatever the command does: twice by signals, by --duration or by a command to us. */
static bool is_to_end(struct mt_recorder *rec)
{
	if (rec->opts->duration && mt_now() - rec->start_time >= rec->opts->duration)
		rec->duration_over = true;
	return mt_recorder_asked_to_end(rec);
}

/* Asked while the command stands still, which may be for as long as nobody reads our output. */
static bool has_enough(void *arg)
{
	struct mt_recorder *rec = arg;

	take_signal(rec);
	mt_recorder_heed_commands(rec);
	return is_to_end(rec);
}

static void answer_requests(struct mt_recorder *rec)
{
	const struct mt_pressure_config config = {
		.programs = rec->programs, .stopped = rec->stopped, .worker = rec->worker,
		.pipeline = rec->pipeline, .timeout = rec->opts->pressure_timeout,
		.give_up = has_enough, .arg = rec,
	};

	bool pressure = mt_attach_worker_run(rec->worker);

	if (rec->opts->pressure_timeout && mt_mmap_events_crowded(rec->mappings))
		pressure = true;
	/* Once the recording has been given up nobody empties the rings, and nothing is lost. */
	if (pressure && rec->attacher && mt_pressure_episode(&config, &rec->pressure))
		rec->pressure_timeout = true;
	if (rec->opts->pressure_timeout && mt_programs_take_paused(rec->programs))
		mt_stopped_sweep(rec->stopped);
}

/* Milliseconds until there is something to look at without being told. */
static int poll_timeout(const struct mt_recorder *rec)
{
	uint64_t left = IDLE_MS, end, now;

	if (rec->commands_left)
		return 0;
	if (rec->commands_held_up)
		return HELD_UP_POLL_MS;
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
	if (is_to_end(rec))
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

void mt_recorder_detach(struct mt_recorder *rec)
{
	/* Whoever waits in a probe holds it up; but until all are gone others may be stopped. */
	if (rec->programs)
		mt_stopped_end(rec->programs);
	mt_attacher_free(rec->attacher);
	rec->attacher = NULL;
	if (rec->programs)
		mt_stopped_end(rec->programs);
}

void mt_recorder_give_up(struct mt_recorder *rec)
{
	mt_attach_worker_give_up(rec->worker);
	mt_recorder_detach(rec);
}

/*
 * Whoever waits for an answer looks for it again and again and so wants a CPU all the time: many
 * of them would leave this thread, which answers, none. If it may not go first, it takes longer.
 * Not before threads that do other work, and the command, have been made: they would inherit it.
 */
static void go_first(void)
{
	setpriority(PRIO_PROCESS, 0, -20);
}

void mt_recorder_loop(struct mt_recorder *rec)
{
	struct pollfd fds[] = {
		{ .fd = mt_attach_worker_fd(rec->worker), .events = POLLIN },
		{ .fd = rec->signal_fd, .events = POLLIN },
		{ .fd = rec->root_fd, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};

	go_first();
	if (rec->opts->pressure_timeout)
		fds[4].fd = mt_mmap_events_fd(rec->mappings);
	while (!is_over(rec)) {
		/* A command that waits for its answer holds up those behind it. */
		fds[3].fd = rec->control && !rec->commands_held_up ?
			    mt_control_fd(rec->control) : -1;
		if (poll(fds, MT_ARRAY_SIZE(fds), poll_timeout(rec)) < 0 && errno != EINTR)
			break;
		answer_requests(rec);
		mt_programs_forget_blocks(rec->programs);
		if (fds[1].revents & POLLIN)
			take_signal(rec);
		look_at_root(rec, fds[2].revents & POLLIN);
		fds[2].fd = rec->root_fd;
		mt_recorder_heed_commands(rec);
		if (rec->attacher && mt_pipeline_failed(rec->pipeline))
			mt_recorder_give_up(rec);
	}
}
