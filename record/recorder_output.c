#include "record/recorder_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/artifact.h"
#include "common/version.h"
#include "record/clock.h"
#include "record/code_mask.h"
#include "record/output.h"
#include "record/process_command.h"
#include "record/programs.h"
#include "record/record_opts.h"
#include "record/writer.h"

int mt_recorder_open_output(struct mt_recorder *rec)
{
	rec->output_fd = mt_output_open(rec->opts->output, &rec->identity, &rec->output_created);
	if (rec->output_fd == -ENOTTY)
		return mt_recorder_fail(rec, MT_EXIT_FAILED, "a recording is not for a terminal; "
					"use -o FILE or a pipe", -ENOTTY);
	if (rec->output_fd == -ENOTUNIQ) {
		snprintf(rec->error, MT_RECORDER_ERROR_MAX, "standard error goes into the "
			 "recording; send it elsewhere, or use -o FILE");
		return MT_EXIT_FAILED;
	}
	if (rec->output_fd == -EBUSY) {
		snprintf(rec->error, MT_RECORDER_ERROR_MAX, "%s: another recorder is writing it",
			 rec->opts->output);
		return MT_EXIT_FAILED;
	}
	if (rec->output_fd == -ELOOP && rec->identity.change) {
		snprintf(rec->error, MT_RECORDER_ERROR_MAX, "%s: a symbolic link, which is not "
			 "followed for another user", rec->opts->output);
		return MT_EXIT_FAILED;
	}
	if (rec->output_fd < 0)
		return mt_recorder_fail(rec, MT_EXIT_FAILED, rec->opts->output, rec->output_fd);
	rec->kept_fd = fcntl(rec->output_fd, F_DUPFD_CLOEXEC, 3);
	if (rec->kept_fd < 0)
		return mt_recorder_fail(rec, MT_EXIT_FAILED, rec->opts->output, -errno);
	return 0;
}

int mt_recorder_open_writer(struct mt_recorder *rec, struct mt_writer **ret_writer)
{
	struct timespec realtime;
	struct mt_header header = {
		.format_version = MT_FORMAT_VERSION,
		.min_reader_version = 1,
		.producer = "mt-record " MT_VERSION,
		.byte_order = "little",
		.clock = "monotonic",
		.start_time = rec->start_time,
		.page_size = sysconf(_SC_PAGESIZE),
		.code_mask = mt_code_mask(),
		.stack_size = rec->opts->stack_size,
		.ring_size = rec->events_room.size,
		.stack_ring_size = rec->stacks_room.size,
		.sample_bytes = rec->opts->sample_bytes,
		.watch = mt_watch_name(mt_programs_watch(rec->programs)),
		.attach = mt_attach_mode_name(rec->attach_mode),
		.mapping_source = "perf",
		.attached_pid = rec->opts->pid,
		.n_args = rec->opts->n_command,
		.args = (const char **)rec->opts->command,
	};
	struct mt_process_command command = {};
	struct utsname uts;
	char *cwd;
	int err;

	if (rec->opts->sample_bytes) {
		/* Who does not know of it would take what was recorded for all there was. */
		header.format_version = MT_FORMAT_VERSION_SAMPLED;
		header.min_reader_version = MT_FORMAT_VERSION_SAMPLED;
	}
	if (uname(&uts))
		return -errno;
	clock_gettime(CLOCK_REALTIME, &realtime);
	header.start_realtime = mt_nanoseconds(&realtime) - (mt_now() - rec->start_time);
	header.kernel = uts.release;
	header.hostname = uts.nodename;
	header.arch = uts.machine;
	cwd = getcwd(NULL, 0);
	header.cwd = cwd ? cwd : "";
	/* Ours is not that of a process that ran before, whatever can be seen of it. */
	if (rec->opts->pid)
		header.cwd = "";
	if (rec->opts->pid && !mt_process_command_read(rec->root_pid, &command)) {
		header.n_args = command.n_args;
		header.args = (const char **)command.args;
		header.cwd = command.cwd;
	}

	/* Only now is an older recording of this name given up. Pipes cannot be truncated. */
	if (ftruncate(rec->output_fd, 0) && errno != EINVAL)
		err = -errno;
	else
		err = mt_writer_open(rec->output_fd, &header, ret_writer);
	mt_process_command_release(&command);
	free(cwd);
	return err;
}
