#include "record/pipeline_impl.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "record/clock.h"
#include "record/coverage.h"
#include "record/decode.h"
#include "record/file_notes.h"
#include "record/marks.h"
#include "record/mmap_events.h"
#include "record/path_learner.h"
#include "record/programs.h"
#include "record/ring.h"
#include "record/witness.h"
#include "record/writer.h"

#define NO_END (UINT64_MAX - 1)
#define CHECKPOINT_NS 500000000ull	/* the promise is one a second */
#define PAUSE_NS 700000l	/* a look at the rings at least every ... */
#define LATENCY_NS 1000000ull	/* ... millisecond, where the machine lets us */
/*
 * The rings fill as fast as every processor can run the command. Whoever empties them must not
 * wait for a turn among its threads.
 */
#define NICE (-15)

static int write_files(struct mt_pipeline *pipeline, bool last)
{
	struct mt_file_notes *notes = pipeline->sources.notes;
	const char *path = NULL;
	int err = notes ? mt_file_notes_write(notes, pipeline->writer, last) : 0;

	if (notes && last)
		path = mt_file_notes_held_up(notes);
	if (path)
		mt_coverage_gap(pipeline->sources.coverage, path, NULL, "", *path ?
				"nobody answers where it lies: whether files were overwritten "
				"while recording is not known" :
				"not all files could be looked at again: whether they were "
				"overwritten while recording is not known");
	return err;
}

static int write_rows(struct mt_pipeline *pipeline, uint64_t now, bool last, uint64_t *ret_lost)
{
	int err;

	mt_pipeline_tell_progress(pipeline);
	err = mt_decoder_flush(pipeline->decoder, !last);
	if (!err)
		err = write_files(pipeline, last);
	if (!err)
		err = mt_coverage_write(pipeline->sources.coverage, pipeline->writer,
					mt_decoder_counts(pipeline->decoder));
	if (!err)
		err = mt_marks_write(pipeline->sources.marks, pipeline->writer);
	*ret_lost = mt_losses_collect(&pipeline->losses, &pipeline->loss_sources, now);
	if (!err && pipeline->losses.n)
		err = mt_writer_loss(pipeline->writer, pipeline->losses.rows, pipeline->losses.n);
	return err;
}

/*
 * Code that was mapped after the mappings were read can be in the stacks of events that were read
 * after that. So they are read again; the processes of some may be unknown still.
 */
static int checkpoint(struct mt_pipeline *pipeline, uint64_t time)
{
	struct mt_checkpoint checkpoint = { .time = time };
	int err = mt_pipeline_drain_mappings(pipeline, SIZE_MAX, &(size_t){ 0 });

	if (!err)
		err = write_rows(pipeline, time, false, &checkpoint.lost);
	mt_recent_code_make_up(&pipeline->recent, pipeline->sources.programs);
	pipeline->last_checkpoint = time;
	return err ? err : mt_writer_checkpoint(pipeline->writer, &checkpoint);
}

/*
 * At a checkpoint. What had ended at the one before, no record can tell of any more, once all that
 * was in the rings then has been read.
 */
static void age(struct mt_pipeline *pipeline)
{
	if (!mt_ring_passed(pipeline->events, pipeline->events_mark) ||
	    !mt_ring_passed(pipeline->stacks, pipeline->stacks_mark) ||
	    (pipeline->sources.mappings && !pipeline->mappings_read))
		return;
	mt_decoder_age(pipeline->decoder);
	pipeline->events_mark = mt_ring_mark(pipeline->events);
	pipeline->stacks_mark = mt_ring_mark(pipeline->stacks);
	pipeline->mappings_read = false;
}

static int serve_sync(struct mt_pipeline *pipeline)
{
	uint64_t wanted = __atomic_load_n(&pipeline->syncs_wanted, __ATOMIC_ACQUIRE);
	int err;

	if (wanted == pipeline->syncs_done)
		return 0;
	err = mt_pipeline_drain_marked(pipeline);
	if (!err)
		err = checkpoint(pipeline, mt_now());
	if (!err)
		__atomic_store_n(&pipeline->syncs_done, wanted, __ATOMIC_RELEASE);
	return err;
}

static int finish(struct mt_pipeline *pipeline)
{
	struct mt_trailer trailer = {
		.end_time = pipeline->end_time,
		.status_known = pipeline->status_known,
		.status = pipeline->status,
		.end_reason = pipeline->end_reason,
	};
	int err = mt_pipeline_drain_marked(pipeline);

	if (pipeline->sources.mappings)
		mt_mmap_events_end(pipeline->sources.mappings);
	if (!err)
		err = write_rows(pipeline, trailer.end_time, true, &trailer.lost);
	return err ? err : mt_writer_finish(pipeline->writer, &trailer);
}

static void note_look(struct mt_pipeline *pipeline, uint64_t time)
{
	if (pipeline->last_look) {
		pipeline->looks++;
		pipeline->late_looks += time - pipeline->last_look > LATENCY_NS;
	}
	pipeline->last_look = time;
}

static void *run(void *arg)
{
	struct mt_pipeline *pipeline = arg;
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	size_t moved;
	uint64_t time;
	int err = 0;

	/* Of this thread alone. Where it is refused, larger rings have to do. */
	setpriority(PRIO_PROCESS, 0, NICE);
	while (!err && !__atomic_load_n(&pipeline->stop, __ATOMIC_ACQUIRE)) {
		moved = 0;
		err = mt_pipeline_drain(pipeline, &moved);
		time = mt_now();
		note_look(pipeline, time);
		if (!err && time - pipeline->last_checkpoint >= CHECKPOINT_NS) {
			err = checkpoint(pipeline, time);
			age(pipeline);
		}
		if (!err)
			err = serve_sync(pipeline);
		if (!err && moved < MT_PIPELINE_EVENTS)
			nanosleep(&pause, NULL);
	}
	if (!err)
		err = finish(pipeline);
	if (err)
		mt_losses_collect(&pipeline->losses, &pipeline->loss_sources, mt_now());
	__atomic_store_n(&pipeline->error, err, __ATOMIC_RELEASE);
	return NULL;
}

int mt_pipeline_start(const struct mt_pipeline_sources *sources, struct mt_writer *writer,
		      struct mt_pipeline **ret_pipeline)
{
	struct mt_pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int err;

	if (!pipeline)
		return -ENOMEM;
	pipeline->sources = *sources;
	pipeline->writer = writer;
	pipeline->end_reason = "";
	pipeline->events_end = pipeline->stacks_end = NO_END;
	pipeline->last_checkpoint = mt_now();
	err = mt_ring_open(mt_programs_events_fd(sources->programs), &pipeline->events);
	if (!err)
		err = mt_ring_open(mt_programs_stacks_fd(sources->programs), &pipeline->stacks);
	if (!err)
		err = mt_decoder_new(writer, &pipeline->decoder);
	pipeline->loss_sources = (struct mt_loss_sources){ sources->programs, sources->mappings,
		sources->witness, sources->notes, pipeline->decoder };
	if (!err)
		mt_decoder_set_coverage(pipeline->decoder, sources->coverage);
	if (!err)
		err = sources->introduce(sources->introduce_arg, pipeline->decoder);
	if (!err)
		err = -pthread_create(&pipeline->thread, NULL, run, pipeline);
	if (err) {
		pipeline->writer = NULL;
		mt_pipeline_free(pipeline);
		return err;
	}
	pipeline->running = true;
	*ret_pipeline = pipeline;
	return 0;
}

bool mt_pipeline_idle(const struct mt_pipeline *pipeline)
{
	return mt_ring_empty(pipeline->events) && mt_ring_empty(pipeline->stacks) &&
	       (!pipeline->sources.mappings ||
		(mt_mmap_events_empty(pipeline->sources.mappings) &&
		 mt_programs_mappings_all_read(pipeline->sources.programs)));
}

uint64_t mt_pipeline_sync(struct mt_pipeline *pipeline)
{
	return __atomic_add_fetch(&pipeline->syncs_wanted, 1, __ATOMIC_RELEASE);
}

bool mt_pipeline_synced(const struct mt_pipeline *pipeline, uint64_t ticket)
{
	return __atomic_load_n(&pipeline->syncs_done, __ATOMIC_ACQUIRE) >= ticket ||
	       mt_pipeline_failed(pipeline);
}

bool mt_pipeline_failed(const struct mt_pipeline *pipeline)
{
	return __atomic_load_n(&pipeline->error, __ATOMIC_ACQUIRE) != 0;
}

void mt_pipeline_end(struct mt_pipeline *pipeline)
{
	if (pipeline->end_time)
		return;
	/*
	 * Whoever takes an event and does not see this end took it before we look at the stacks:
	 * what it refers to has been defined by then.
	 */
	__atomic_store_n(&pipeline->events_end, mt_ring_mark(pipeline->events), __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&pipeline->stacks_end, mt_ring_mark(pipeline->stacks), __ATOMIC_SEQ_CST);
	mt_losses_end(&pipeline->losses, pipeline->sources.programs);
	pipeline->end_time = mt_now();
}

void mt_pipeline_finish(struct mt_pipeline *pipeline, bool status_known, int status,
			const char *end_reason, struct mt_pipeline_result *ret_result)
{
	struct mt_pipeline_result result = {};
	uint32_t i;

	pipeline->status_known = status_known;
	pipeline->status = status;
	pipeline->end_reason = end_reason;
	__atomic_store_n(&pipeline->stop, true, __ATOMIC_RELEASE);
	pthread_join(pipeline->thread, NULL);
	pipeline->running = false;

	result.error = pipeline->error;
	result.events = mt_writer_events_filed(pipeline->writer);
	result.stacks = mt_writer_stack_count(pipeline->writer);
	result.bytes = mt_writer_bytes(pipeline->writer);
	result.processes = mt_decoder_processes(pipeline->decoder);
	result.threads = mt_decoder_threads(pipeline->decoder);
	result.looks = pipeline->looks;
	result.late_looks = pipeline->late_looks;
	for (i = 0; i < pipeline->losses.n; i++)
		result.lost += pipeline->losses.rows[i].count;
	*ret_result = result;
}

uint32_t mt_pipeline_losses(const struct mt_pipeline *pipeline,
			    struct mt_loss ret_losses[MT_LOSSES_MAX])
{
	memcpy(ret_losses, pipeline->losses.rows, pipeline->losses.n * sizeof(*ret_losses));
	return pipeline->losses.n;
}

void mt_pipeline_free(struct mt_pipeline *pipeline)
{
	if (!pipeline)
		return;
	if (pipeline->running) {
		mt_pipeline_end(pipeline);
		__atomic_store_n(&pipeline->stop, true, __ATOMIC_RELEASE);
		pthread_join(pipeline->thread, NULL);
	}
	mt_decoder_free(pipeline->decoder);
	mt_ring_free(pipeline->events);
	mt_ring_free(pipeline->stacks);
	mt_writer_free(pipeline->writer);
	free(pipeline);
}
