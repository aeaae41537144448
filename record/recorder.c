#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/artifact.h"
#include "common/version.h"
#include "record/attach.h"
#include "record/closure.h"
#include "record/guardian.h"
#include "record/mmap_events.h"
#include "record/output.h"
#include "record/preflight.h"
#include "record/pressure.h"
#include "record/programs.h"
#include "record/record_opts.h"
#include "record/stopped.h"
#include "record/target.h"
#include "record/writer.h"

#define IDLE_MS 500
#define TREE_POLL_MS 20

struct recorder {
	const struct mt_record_opts *opts;
	struct mt_identity identity;
	struct mt_target *target;
	struct mt_programs *programs;
	struct mt_attacher *attacher;
	struct mt_guardian *guardian;
	struct mt_stopped *stopped;
	struct mt_attach_worker *worker;
	struct mt_pressure_report pressure;
	bool pressure_timeout;
	struct mt_mmap_events *mappings;
	struct mt_pipeline *pipeline;
	enum mt_attach_mode attach_mode;
	int output_fd;
	bool output_created;
	int signal_fd;
	sigset_t old_mask;
	uint64_t start_time;
	bool root_gone;
	int root_status;
	unsigned int interrupts;
	char *error;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int fail(struct recorder *rec, int status, const char *what, int err)
{
	snprintf(rec->error, MT_RECORDER_ERROR_MAX, "%s: %s", what, strerror(-err));
	return status;
}

/* Signals become readable; the command gets the mask we were started with. */
static int take_signals(struct recorder *rec)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	if (sigprocmask(SIG_BLOCK, &set, &rec->old_mask))
		return -errno;
	rec->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return rec->signal_fd < 0 ? -errno : 0;
}

static int load(struct recorder *rec, char *log)
{
	struct mt_programs_options options = {
		.stack_size = rec->opts->stack_size,
		.ring_size = rec->opts->ring_size,
		.stack_ring_size = rec->opts->stack_ring_size,
		.pressure = rec->opts->pressure_timeout != 0,
	};
	struct mt_probe_programs probes;
	int err;

	options.attach_mode = rec->attach_mode = mt_attach_detect();
	err = mt_programs_load(&options, log, &rec->programs);
	if (err) {
		mt_preflight_explain(err, log, rec->error);
		return MT_EXIT_FAILED;
	}
	probes = mt_programs_probes(rec->programs);
	err = mt_attacher_new(&probes, rec->attach_mode, &rec->attacher);
	if (err)
		return fail(rec, MT_EXIT_FAILED, "cannot use uprobes", err);
	return 0;
}

static void learn(void *arg, const char *path)
{
	struct recorder *rec = arg;

	/* A failure is in the worker's report; the mapping itself will ask again if it must. */
	mt_attach_worker_learn(rec->worker, path);
}

/* Everything that must be in place before the command runs. */
static int arm(struct recorder *rec, mt_attach_notify_fn notify, void *arg)
{
	int err;

	err = mt_mmap_events_open(mt_target_pid(rec->target), &rec->mappings);
	if (err)
		return fail(rec, MT_EXIT_FAILED,
			    "perf_event_open is refused, mappings cannot be recorded; "
			    "run as root, or: sysctl kernel.perf_event_paranoid=1", err);
	err = mt_guardian_start(mt_programs_requests_fd(rec->programs), &rec->guardian);
	if (!err)
		err = mt_stopped_new(rec->programs, mt_guardian_table(rec->guardian),
				     &rec->stopped);
	if (!err)
		err = mt_attach_worker_new(rec->programs, rec->attacher, rec->stopped, notify, arg,
					   &rec->worker);
	if (!err)
		err = mt_closure_each(rec->opts->command[0], learn, rec);
	if (!err)
		err = mt_programs_track(rec->programs, mt_target_pidfd(rec->target),
					mt_target_pid(rec->target));
	if (err)
		return fail(rec, MT_EXIT_FAILED, "cannot track the command", err);
	return 0;
}

static int execute(struct recorder *rec)
{
	int err;

	rec->start_time = clock_ns(CLOCK_MONOTONIC);
	err = mt_target_open_gate(rec->target);
	if (!err)
		return 0;
	return fail(rec, err == -ENOENT ? MT_EXIT_NOT_FOUND : MT_EXIT_NOT_EXECUTABLE,
		    rec->opts->command[0], err);
}

static int start_writing(struct recorder *rec)
{
	struct mt_header header = {
		.format_version = MT_FORMAT_VERSION,
		.min_reader_version = 1,
		.producer = "mt-record " MT_VERSION,
		.byte_order = "little",
		.clock = "monotonic",
		.start_time = rec->start_time,
		.start_realtime = clock_ns(CLOCK_REALTIME),
		.page_size = sysconf(_SC_PAGESIZE),
		.code_mask = UINT64_MAX,
		.stack_size = rec->opts->stack_size,
		.ring_size = rec->opts->ring_size,
		.stack_ring_size = rec->opts->stack_ring_size,
		.watch = "tracepoint",
		.attach = mt_attach_mode_name(rec->attach_mode),
		.mapping_source = "perf",
		.n_args = rec->opts->n_command,
		.args = (const char **)rec->opts->command,
	};
	struct mt_pipeline_sources sources = { rec->programs, rec->mappings };
	struct mt_writer *writer = NULL;
	struct utsname uts;
	char *cwd;
	int err;

	if (uname(&uts))
		return -errno;
	header.kernel = uts.release;
	header.hostname = uts.nodename;
	header.arch = uts.machine;
	cwd = getcwd(NULL, 0);
	header.cwd = cwd ? cwd : "";

	/* Only now is an older recording of this name given up. Fails for pipes, which is fine. */
	if (ftruncate(rec->output_fd, 0) && errno != EINVAL)
		err = -errno;
	else
		err = mt_writer_open(rec->output_fd, &header, &writer);
	free(cwd);
	if (err)
		return err;
	rec->output_fd = -1;
	err = mt_pipeline_start(&sources, writer, mt_target_pid(rec->target), rec->start_time,
				&rec->pipeline);
	if (err)
		mt_writer_free(writer);
	return err;
}

static void reap(struct recorder *rec)
{
	if (!rec->root_gone &&
	    waitpid(mt_target_pid(rec->target), &rec->root_status, WNOHANG) > 0)
		rec->root_gone = true;
}

/*
 * A signal from the terminal has reached the command too; one sent to us alone is passed on.
 * The second ends the recording, and the first does if only descendants are left.
 */
static void take_signal(struct recorder *rec)
{
	struct signalfd_siginfo info;

	if (read(rec->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	rec->interrupts++;
	if (!rec->root_gone && info.ssi_code != SI_KERNEL)
		syscall(SYS_pidfd_send_signal, mt_target_pidfd(rec->target), info.ssi_signo, NULL,
			0);
	if (rec->root_gone)
		rec->interrupts++;
}

static void answer_requests(struct recorder *rec)
{
	if (!mt_attach_worker_run(rec->worker))
		return;
	if (mt_pressure_episode(rec->programs, rec->stopped, rec->worker, rec->pipeline,
				rec->opts->pressure_timeout, &rec->pressure))
		rec->pressure_timeout = true;
}

static void watch_tree(struct recorder *rec)
{
	struct pollfd fds[] = {
		{ .fd = mt_attach_worker_fd(rec->worker), .events = POLLIN },
		{ .fd = rec->signal_fd, .events = POLLIN },
		{ .fd = mt_target_pidfd(rec->target), .events = POLLIN },
	};

	while (rec->interrupts < 2) {
		if (poll(fds, MT_ARRAY_SIZE(fds), rec->root_gone ? TREE_POLL_MS : IDLE_MS) < 0 &&
		    errno != EINTR)
			break;
		answer_requests(rec);
		if (fds[1].revents & POLLIN)
			take_signal(rec);
		reap(rec);
		if (rec->root_gone)
			fds[2].fd = -1;
		if (rec->root_gone && mt_programs_tracked(rec->programs) <= 0)
			break;
		/* The file is full or gone: leave the command alone from here on. */
		if (rec->attacher && mt_pipeline_failed(rec->pipeline)) {
			mt_attacher_free(rec->attacher);
			rec->attacher = NULL;
			if (rec->root_gone)
				break;
		}
	}
}

static const char *end_reason(const struct recorder *rec)
{
	if (rec->pressure_timeout)
		return "pressure_timeout";
	if (rec->interrupts >= 2)
		return "interrupted";
	return rec->root_gone ? "exited" : "failed";
}

static void finish(struct recorder *rec, struct mt_recording *ret)
{
	struct mt_recording recording = {
		.started = true,
		.status_known = rec->root_gone,
		.status = rec->root_status,
		.interrupted = rec->interrupts >= 2,
		.watch = "tracepoint",
		.attach = mt_attach_mode_name(rec->attach_mode),
	};

	recording.elapsed = clock_ns(CLOCK_MONOTONIC) - rec->start_time;
	mt_pipeline_finish(rec->pipeline, rec->root_gone, rec->root_status, end_reason(rec),
			   &recording.result);
	recording.n_losses = mt_pipeline_losses(rec->pipeline, recording.losses);
	recording.pressure = rec->pressure;
	recording.pressure_timeout = rec->pressure_timeout;
	recording.attach_report = *mt_attach_worker_report(rec->worker);
	*ret = recording;
}

static int record(struct recorder *rec, mt_attach_notify_fn notify, void *arg,
		  struct mt_recording *ret_recording, char *log)
{
	const struct mt_target_options target = {
		.argv = rec->opts->command,
		.identity = &rec->identity,
		.mask = &rec->old_mask,
		.stdout_to_stderr = mt_output_is_stdout(rec->opts->output),
	};
	int err;

	err = mt_preflight(rec->error);
	if (err)
		return MT_EXIT_FAILED;
	err = mt_identity_of_sudo(&rec->identity);
	if (err)
		return fail(rec, MT_EXIT_FAILED, "SUDO_UID and SUDO_GID name no user", err);
	rec->output_fd = mt_output_open(rec->opts->output, &rec->identity, &rec->output_created);
	if (rec->output_fd == -ENOTTY)
		return fail(rec, MT_EXIT_FAILED, "a recording is not for a terminal; "
			    "use -o FILE or a pipe", -ENOTTY);
	if (rec->output_fd < 0)
		return fail(rec, MT_EXIT_FAILED, rec->opts->output, rec->output_fd);
	err = take_signals(rec);
	if (!err)
		err = mt_target_start(&target, &rec->target);
	if (err)
		return fail(rec, MT_EXIT_FAILED, "cannot start the command", err);
	signal(SIGPIPE, SIG_IGN);

	err = load(rec, log);
	if (!err)
		err = arm(rec, notify, arg);
	if (!err)
		err = execute(rec);
	if (err)
		return err;

	err = start_writing(rec);
	if (err) {
		fail(rec, MT_EXIT_FAILED, rec->opts->output, err);
		mt_attach_worker_run(rec->worker);
		return MT_EXIT_FAILED;
	}
	rec->output_created = false;
	watch_tree(rec);
	finish(rec, ret_recording);
	return 0;
}

int mt_recorder_run(const struct mt_record_opts *opts, mt_attach_notify_fn notify, void *arg,
		    struct mt_recording *ret_recording, char error[MT_RECORDER_ERROR_MAX],
		    char *log)
{
	struct recorder rec = {
		.opts = opts, .output_fd = -1, .signal_fd = -1, .error = error,
	};
	int status;

	error[0] = log[0] = '\0';
	status = record(&rec, notify, arg, ret_recording, log);

	mt_attacher_free(rec.attacher);
	mt_attach_worker_free(rec.worker);
	mt_stopped_free(rec.stopped);
	mt_guardian_free(rec.guardian);
	mt_pipeline_free(rec.pipeline);
	mt_mmap_events_free(rec.mappings);
	mt_programs_free(rec.programs);
	mt_target_free(rec.target);
	if (rec.output_fd >= 0)
		close(rec.output_fd);
	/* A file that we made and put nothing in says nothing. */
	if (rec.output_created)
		unlink(opts->output);
	if (rec.signal_fd >= 0)
		close(rec.signal_fd);
	return status;
}
