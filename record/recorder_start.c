#include "record/recorder_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/adopt.h"
#include "record/allocators.h"
#include "record/attachable.h"
#include "record/clock.h"
#include "record/closure.h"
#include "record/control.h"
#include "record/coverage.h"
#include "record/decode.h"
#include "record/descriptors.h"
#include "record/file_notes.h"
#include "record/guardian.h"
#include "record/kernel_features.h"
#include "record/marks.h"
#include "record/mmap_events.h"
#include "record/output.h"
#include "record/path_learner.h"
#include "record/preflight.h"
#include "record/programs.h"
#include "record/record_opts.h"
#include "record/seccomp_hazard.h"
#include "record/stopped.h"
#include "record/witness.h"
#include "record/writer.h"

static bool is_ignored(int sig)
{
	struct sigaction action;

	return !sigaction(sig, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* Signals become readable; the command gets the mask we were started with. */
static int take_signals(struct mt_recorder *rec)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	/* Under nohup(1) neither the command nor we are to hear of it. */
	rec->ignores_hangup = is_ignored(SIGHUP);
	if (!rec->ignores_hangup)
		sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &rec->old_mask))
		return -errno;
	rec->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return rec->signal_fd < 0 ? -errno : 0;
}

_Static_assert(MT_ATTACHABLE_MAX <= MT_RECORDER_ERROR_MAX, "its lines fit");

/* Fork the command, which waits; or find the process to attach to. */
static int find_root(struct mt_recorder *rec)
{
	const struct mt_target_options options = {
		.argv = rec->opts->command,
		.identity = &rec->identity,
		.mask = &rec->old_mask,
		.stdout_to_stderr = mt_output_is_stdout(rec->opts->output),
	};
	int err;

	if (rec->opts->pid) {
		rec->root_pid = (int)rec->opts->pid;
		if (mt_attachable(rec->root_pid, rec->error))
			return MT_EXIT_FAILED;
		rec->root_fd = syscall(SYS_pidfd_open, rec->root_pid, 0);
		return rec->root_fd < 0 ? -errno : 0;
	}
	err = mt_target_start(&options, &rec->target);
	if (err)
		return err;
	rec->root_pid = mt_target_pid(rec->target);
	rec->root_fd = fcntl(mt_target_pidfd(rec->target), F_DUPFD_CLOEXEC, 3);
	return rec->root_fd < 0 ? -errno : 0;
}

/*
 * Probes are on files, so any process that maps one is at risk, and whoever gets a filter later.
 * NEEDSWORK: probes on return instructions (record/code_walk.h) need no return probe; where every
 * function of an allocator can be walked, recording would be harmless on these kernels.
 */
static int avoid_harm(struct mt_recorder *rec)
{
	char comm[MT_SECCOMP_COMM_MAX];
	struct utsname uts;
	uint32_t n;
	int pid;

	rec->seccomp_hazard = mt_seccomp_hazard();
	if (!rec->seccomp_hazard || uname(&uts))
		return 0;
	n = mt_seccomp_filtered(&pid, comm);
	if (!n)
		return 0;
	snprintf(rec->error, MT_RECORDER_ERROR_MAX,
		 "Linux %.64s kills probed processes that have a seccomp filter, and %" PRIu32
		 " of them are running (one is %s, process %d); update it: 6.14 does not, nor do "
		 "the last updates of 6.12 and 6.13", uts.release, n, comm, pid);
	return MT_EXIT_FAILED;
}

static void size_rings(struct mt_recorder *rec, struct mt_programs_options *options)
{
	const struct mt_record_opts *opts = rec->opts;
	long processors = sysconf(_SC_NPROCESSORS_CONF);

	rec->events_room = mt_ring_room(opts->ring_size, opts->pressure_timeout, MT_EVENT_ROOM,
					sizeof(struct mt_ring_exec), processors);
	rec->stacks_room = mt_ring_room(opts->stack_ring_size, opts->pressure_timeout,
					MT_STACK_ROOM,
					sizeof(struct mt_ring_stack) + opts->stack_size,
					processors);
	options->ring = rec->events_room;
	options->stack_ring = rec->stacks_room;
}

_Static_assert((int)MT_STACK_IDENTITY_PATH == (int)MT_IDENTITY_PATH &&
	       (int)MT_STACK_IDENTITY_CODE == (int)MT_IDENTITY_CODE &&
	       (int)MT_STACK_IDENTITY_BYTES == (int)MT_IDENTITY_BYTES &&
	       (int)MT_STACK_IDENTITY_EVERY == (int)MT_IDENTITY_EVERY, "one order");

static int load(struct mt_recorder *rec)
{
	struct mt_programs_options options = {
		.stack_size = rec->opts->stack_size,
		.sample_bytes = rec->opts->sample_bytes,
		.request_ring_size = rec->opts->request_ring_size,
		.mappings_limit = rec->opts->mapping_ring_size / 2 / MT_MMAP_RECORD_LONG,
		.identity = rec->opts->stack_identity,
		.pressure = rec->opts->pressure_timeout != 0,
		/* While probes are added calls would be seen, but not all of them. */
		.paused = rec->opts->start_disabled || rec->opts->pid,
		.watch = rec->opts->watch,
		.regions = rec->opts->mmap,
	};
	struct mt_probe_programs probes;
	int err;

	memcpy(options.tables, rec->opts->tables, sizeof(options.tables));
	size_rings(rec, &options);
	err = mt_attach_choose(rec->opts->attach, &rec->attach_mode);
	if (err) {
		snprintf(rec->error, MT_RECORDER_ERROR_MAX, "--attach: this kernel has no %s links",
			 mt_attach_mode_name(rec->opts->attach));
		return MT_EXIT_FAILED;
	}
	options.attach_mode = rec->attach_mode;
	if (!rec->opts->quiet)
		mt_kernel_each_lack(rec->complain, rec->notify_arg);
	err = mt_programs_load(&options, rec->log, &rec->programs);
	if (err) {
		mt_preflight_explain(err, rec->log, rec->opts->watch == MT_WATCH_FENTRY,
				     rec->error);
		return MT_EXIT_FAILED;
	}
	probes = mt_programs_probes(rec->programs);
	err = mt_attacher_new(&probes, rec->attach_mode, &rec->attacher);
	if (err)
		return mt_recorder_fail(rec, MT_EXIT_FAILED, "cannot use uprobes", err);
	return 0;
}

static void learn(void *arg, const char *path)
{
	struct mt_recorder *rec = arg;

	/* A failure is in the worker's report; the mapping itself will ask again if it must. */
	mt_attach_worker_learn(rec->worker, path);
}

static void say_stop(void *arg, int pid, uint64_t took)
{
	struct mt_recorder *rec = arg;
	char line[96];

	snprintf(line, sizeof(line), "process %d was stopped for %.1f ms", pid, took / 1e6);
	rec->complain(rec->notify_arg, line);
}

static void say_probe(void *arg, const char *path, const struct mt_probe *probe)
{
	static const char *const steps[] = {
		[MT_STEP_UNKNOWN] = "", [MT_STEP_EMULATED] = ", emulated",
		[MT_STEP_SINGLE] = ", single-stepped",
	};
	struct mt_recorder *rec = arg;
	const char *end = "";
	char behind[48] = "";
	char *line;

	if (probe->role == MT_PROBE_RET_SITE)
		end = "'s return";
	else if (probe->role == MT_PROBE_LEAVE)
		end = "'s call of other code";
	if (probe->forward)
		snprintf(behind, sizeof(behind), ", %" PRIu32 " bytes behind the entry",
			 probe->forward);
	if (asprintf(&line, "%s: %s%s: probe at %#" PRIx64 "%s%s", path, probe->function, end,
		     probe->offset, behind, steps[probe->step]) < 0)
		return;
	rec->complain(rec->notify_arg, line);
	free(line);
}

static bool knows_inode(const void *programs, const struct mt_inode_key *key)
{
	return mt_programs_knows_inode(programs, key);
}

/* What both ways to start need. */
static int arm(struct mt_recorder *rec)
{
	int err = mt_mmap_events_new(rec->opts->mapping_ring_size, &rec->mappings);

	if (!err)
		err = mt_guardian_start(mt_programs_requests_fd(rec->programs),
					mt_programs_processes_fd(rec->programs),
					mt_programs_no_stops(rec->programs), &rec->guardian);
	if (!err)
		err = mt_stopped_new(rec->programs, mt_guardian_table(rec->guardian),
				     &rec->stopped);
	if (!err && rec->opts->verbose)
		mt_stopped_tell(rec->stopped, say_stop, rec);
	if (!err)
		err = mt_coverage_new(&rec->coverage);
	if (!err) {
		struct mt_attach_worker_config config = {
			.programs = rec->programs, .attacher = rec->attacher,
			.stopped = rec->stopped, .coverage = rec->coverage,
			.mappings = rec->mappings,
			.specs = &rec->opts->allocators,
			.move_sites = rec->opts->probe_site == MT_SITE_AUTO, .notify = rec->notify,
			.arg = rec->notify_arg,
			.told = rec->opts->verbose ? say_probe : NULL, .told_arg = rec,
		};

		err = mt_attach_worker_new(&config, &rec->worker);
	}
	if (!err)
		err = mt_file_notes_new(&rec->notes);
	if (!err)
		err = mt_witness_new(knows_inode, rec->programs, &rec->witness);
	if (!err)
		err = mt_marks_new(&rec->marks);
	if (!err && mt_programs_walk_stacks(rec->programs))
		err = mt_path_learner_start(rec->programs, &rec->learner);
	if (!err)
		err = mt_file_notes_start(rec->notes);
	if (!err) {
		mt_file_notes_add_vdso(rec->notes);
		mt_attach_worker_note(rec->worker, rec->notes);
		mt_attach_worker_witness(rec->worker, rec->witness);
	}
	return err ? mt_recorder_fail(rec, MT_EXIT_FAILED, "cannot prepare recording", err) : 0;
}

static int fail_to_follow(struct mt_recorder *rec, int err)
{
	if (err == -EACCES || err == -EPERM)
		return mt_recorder_fail(rec, MT_EXIT_FAILED,
					"perf_event_open is refused, mappings cannot be recorded; "
					"run as root, or: sysctl kernel.perf_event_paranoid=1",
					err);
	if (rec->opts->pid) {
		snprintf(rec->error, MT_RECORDER_ERROR_MAX, "process %d: %s", rec->root_pid,
			 strerror(-err));
		return MT_EXIT_FAILED;
	}
	return mt_recorder_fail(rec, MT_EXIT_FAILED, "cannot track the command", err);
}

static int execute(struct mt_recorder *rec)
{
	int err = mt_mmap_events_follow(rec->mappings, rec->root_pid);

	if (!err)
		err = mt_closure_each(rec->opts->command[0], learn, rec);
	if (!err)
		err = mt_programs_track(rec->programs, rec->root_fd, rec->root_pid);
	if (err)
		return fail_to_follow(rec, err);

	rec->start_time = mt_now();
	err = mt_target_open_gate(rec->target);
	rec->executed = !err;
	if (!err)
		return 0;
	return mt_recorder_fail(rec, err == -ENOENT ? MT_EXIT_NOT_FOUND : MT_EXIT_NOT_EXECUTABLE,
				rec->opts->command[0], err);
}

static int adopt(struct mt_recorder *rec)
{
	int err;

	/* No call is seen before. */
	rec->start_time = mt_now();
	err = mt_adopt(rec->programs, rec->mappings, rec->root_pid, &rec->adoption);
	if (err)
		return fail_to_follow(rec, err);
	mt_adoption_attach(rec->adoption, rec->worker);
	mt_programs_pause(rec->programs, rec->opts->start_disabled);
	return 0;
}

static int introduce(void *arg, struct mt_decoder *decoder)
{
	struct mt_recorder *rec = arg;

	if (rec->adoption)
		return mt_adoption_introduce(rec->adoption, decoder);
	return mt_decoder_start_process(decoder, rec->root_pid, rec->start_time, "");
}

static int start_writing(struct mt_recorder *rec)
{
	struct mt_pipeline_sources sources = {
		.learner = rec->learner,
		.programs = rec->programs, .mappings = rec->mappings, .notes = rec->notes,
		.coverage = rec->coverage, .witness = rec->witness, .marks = rec->marks,
		.introduce = introduce, .introduce_arg = rec,
	};
	struct mt_writer *writer = NULL;
	int err = mt_recorder_open_writer(rec, &writer);

	rec->paused = rec->opts->start_disabled;
	if (!err && rec->paused)
		err = mt_marks_add(rec->marks, MT_MARK_DISABLE, rec->start_time, "");
	if (!err) {
		rec->output_fd = -1;
		err = mt_pipeline_start(&sources, writer, &rec->pipeline);
		if (err)
			mt_writer_free(writer);
	}
	mt_adoption_free(rec->adoption);
	rec->adoption = NULL;
	if (!err)
		return 0;
	mt_recorder_give_up(rec);
	return mt_recorder_fail(rec, MT_EXIT_FAILED, rec->opts->output, err);
}

int mt_recorder_start(struct mt_recorder *rec)
{
	int err;

	if (mt_preflight(rec->error))
		return MT_EXIT_FAILED;
	err = mt_identity_of_sudo(&rec->identity);
	if (err)
		return mt_recorder_fail(rec, MT_EXIT_FAILED,
					"SUDO_UID and SUDO_GID name no user", err);
	err = mt_recorder_open_output(rec);
	if (err)
		return err;
	if (rec->opts->control && mt_control_open(rec->opts->control, &rec->identity,
						  &rec->control, rec->error))
		return MT_EXIT_FAILED;
	err = take_signals(rec);
	if (!err)
		err = find_root(rec);
	if (err > 0)
		return err;
	if (err && !rec->opts->pid)
		return mt_recorder_fail(rec, MT_EXIT_FAILED, "cannot start the command", err);
	if (err) {
		snprintf(rec->error, MT_RECORDER_ERROR_MAX, "process %d: %s", rec->root_pid,
			 strerror(-err));
		return MT_EXIT_FAILED;
	}
	/* The signals are errors of a write to us. The command was forked as things were before. */
	mt_descriptors_raise();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);

	err = avoid_harm(rec);
	if (!err)
		err = load(rec);
	if (!err)
		err = arm(rec);
	if (!err)
		err = rec->target ? execute(rec) : adopt(rec);
	if (!err)
		err = start_writing(rec);
	return err;
}
