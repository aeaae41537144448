#include "record/recorder.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "common/error.h"
#include "record/adopt.h"
#include "record/as_user.h"
#include "record/clock.h"
#include "record/control.h"
#include "record/file_notes.h"
#include "record/coverage.h"
#include "record/guardian.h"
#include "record/marks.h"
#include "record/mmap_events.h"
#include "record/output.h"
#include "record/path_learner.h"
#include "record/programs.h"
#include "record/record_opts.h"
#include "record/recorder_impl.h"
#include "record/stopped.h"
#include "record/witness.h"

int mt_recorder_fail(struct mt_recorder *rec, int status, const char *what, int err)
{
	snprintf(rec->error, MT_RECORDER_ERROR_MAX, "%s: %s", what, strerror(-err));
	return status;
}

static const char *end_reason(const struct mt_recorder *rec)
{
	if (rec->pressure_timeout)
		return "pressure_timeout";
	if (rec->duration_over)
		return "duration";
	if (rec->interrupts >= 2)
		return "interrupted";
	if (rec->stop)
		return "stopped";
	return rec->root_gone ? "exited" : "failed";
}

static void once(int sig)
{
	(void)sig;
}

/*
 * The end has been asked for. Should it take long (nobody may read our output any more), a second
 * signal from somebody ends us as it would end anybody; what is in the file by then is readable.
 */
static void heed_signals(struct mt_recorder *rec)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };
	struct sigaction action = { .sa_flags = SA_RESTART | SA_RESETHAND };
	struct signalfd_siginfo info;
	size_t i;

	while (read(rec->signal_fd, &info, sizeof(info)) > 0)
		;
	/* A shell's background job has some ignored from the start. */
	action.sa_handler = rec->interrupts >= 2 ? SIG_DFL : once;
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++)
		if (signals[i] != SIGHUP || !rec->ignores_hangup)
			sigaction(signals[i], &action, NULL);
	sigprocmask(SIG_SETMASK, &rec->old_mask, NULL);
}

static void finish(struct mt_recorder *rec, struct mt_recording *ret_recording)
{
	struct mt_recording recording = {
		.started = true,
		.attached = !rec->target,
		.ended_early = rec->duration_over || rec->stop ||
			       (rec->interrupts >= 2 && !rec->root_gone),
		.interrupted = rec->interrupts >= 2 && rec->target && !rec->root_gone,
		.status_known = rec->status_known,
		.status = rec->root_status,
		.start_time = rec->start_time,
		.elapsed = mt_now() - rec->start_time,
		.watch = mt_watch_name(mt_programs_watch(rec->programs)),
		.attach = mt_attach_mode_name(rec->attach_mode),
		.seccomp_hazard = rec->seccomp_hazard,
		.pressure = rec->pressure,
		.pressure_timeout = rec->pressure_timeout,
		.attach_report = *mt_attach_worker_report(rec->worker),
	};

	mt_pipeline_end(rec->pipeline);
	mt_stopped_end(rec->programs);
	if (mt_recorder_asked_to_end(rec))
		heed_signals(rec);
	mt_attach_worker_report_missing(rec->worker);
	mt_recorder_finish_commands(rec);
	mt_pipeline_finish(rec->pipeline, rec->status_known, rec->root_status, end_reason(rec),
			   &recording.result);
	recording.restored = mt_output_restore(rec->kept_fd, rec->opts->output, &rec->identity);
	recording.n_losses = mt_pipeline_losses(rec->pipeline, recording.losses);
	recording.coverage = rec->coverage;
	rec->coverage = NULL;
	if (rec->stop_taken)
		mt_control_answer(rec->control, recording.result.error ?
				  mt_strerror(recording.result.error) : NULL);
	*ret_recording = recording;
}

static void release(struct mt_recorder *rec)
{
	mt_recorder_detach(rec);
	mt_attach_worker_free(rec->worker);
	mt_adoption_free(rec->adoption);
	mt_pipeline_free(rec->pipeline);
	mt_coverage_free(rec->coverage);
	mt_mmap_events_free(rec->mappings);
	mt_file_notes_free(rec->notes);
	mt_marks_free(rec->marks);
	mt_control_free(rec->control);
	mt_witness_free(rec->witness);
	mt_path_learner_free(rec->learner);
	mt_stopped_free(rec->stopped);
	mt_guardian_free(rec->guardian);
	/* A parent can answer late that its child stood still. */
	if (rec->programs)
		mt_stopped_end(rec->programs);
	mt_programs_free(rec->programs);
	mt_target_free(rec->target);
	if (rec->root_fd >= 0)
		close(rec->root_fd);
	/* A file that we made and put nothing in says nothing. */
	if (rec->output_created)
		mt_remove_as_user(&rec->identity,
				  rec->kept_fd >= 0 ? rec->kept_fd : rec->output_fd,
				  rec->opts->output);
	if (rec->output_fd >= 0)
		close(rec->output_fd);
	if (rec->kept_fd >= 0)
		close(rec->kept_fd);
	if (rec->signal_fd >= 0)
		close(rec->signal_fd);
}

int mt_recorder_run(const struct mt_record_opts *opts, mt_attach_notify_fn notify,
		    mt_complain_fn complain, void *arg, struct mt_recording *ret_recording,
		    char error[MT_RECORDER_ERROR_MAX], char *log)
{
	struct mt_recorder rec = {
		.opts = opts, .notify = notify, .complain = complain, .notify_arg = arg,
		.output_fd = -1, .kept_fd = -1, .signal_fd = -1, .root_fd = -1, .error = error,
		.log = log,
	};
	uint64_t over;
	int status;

	error[0] = log[0] = '\0';
	status = mt_recorder_start(&rec);
	if (!status) {
		rec.output_created = false;
		mt_recorder_loop(&rec);
		finish(&rec, ret_recording);
	} else if (rec.executed) {
		mt_recorder_loop(&rec);
	}
	over = mt_now();
	release(&rec);
	ret_recording->detach = mt_now() - over;
	return status;
}
