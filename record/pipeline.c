#include "record/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "record/clock.h"
#include "record/coverage.h"
#include "record/decode.h"
#include "record/file_notes.h"
#include "record/losses.h"
#include "record/marks.h"
#include "record/mmap_events.h"
#include "record/path_learner.h"
#include "record/programs.h"
#include "record/recent_code.h"
#include "record/ring.h"
#include "record/witness.h"
#include "record/writer.h"

#define EVENTS_A_TURN 24576	/* leaves the decoder room for more */
#define MAPPINGS_A_TURN 4096
#define ROOM_MIN 64u	/* for mappings; with less it is made */
#define NO_END (UINT64_MAX - 1)
#define MAPPING_TURNS_MAX 64u	/* more than the rings hold */
#define CHECKPOINT_NS 500000000ull	/* the promise is one a second */
#define RECORD_WAITS_MAX 1000u
#define PAUSE_NS 700000l	/* a look at the rings at least every ... */
#define LATENCY_NS 1000000ull	/* ... millisecond, where the machine lets us */
/*
 * The rings fill as fast as every processor can run the command. Whoever empties them must not
 * wait for a turn among its threads.
 */
#define NICE (-15)

struct mt_pipeline {
	struct mt_pipeline_sources sources;
	struct mt_writer *writer;
	struct mt_decoder *decoder;
	struct mt_ring *events;
	struct mt_ring *stacks;
	pthread_t thread;
	bool running;
	bool stop;		/* atomic */
	uint64_t events_end;	/* atomic; what lies behind it is not the recording's */
	uint64_t stacks_end;	/* atomic */
	uint64_t syncs_wanted;	/* atomic */
	uint64_t syncs_done;	/* atomic */
	int error;		/* atomic; the file's */
	bool status_known;
	int status;
	const char *end_reason;
	uint64_t last_checkpoint;
	uint64_t events_mark;		/* of the last time of aging */
	uint64_t stacks_mark;
	bool mappings_read;		/* all there were, since then */
	uint64_t last_look;
	uint64_t looks;
	uint64_t late_looks;
	struct mt_recent_code recent;
	struct mt_loss_sources loss_sources;
	struct mt_loss_log losses;
	uint64_t end_time;
};

static uint64_t end_of(const uint64_t *end)
{
	return __atomic_load_n(end, __ATOMIC_SEQ_CST);
}

/* Behind what is in a ring now, as far as it is the recording's. */
static uint64_t mark_of(const struct mt_ring *ring, const uint64_t *end)
{
	uint64_t mark = mt_ring_mark(ring), last = end_of(end);

	return mark < last ? mark : last;
}

static int drain_events(struct mt_pipeline *pipeline, size_t max, size_t *moved)
{
	const void *data;
	size_t len, n = 0;
	int err = 0;

	while (!err && n < max && mt_ring_next(pipeline->events, &data, &len)) {
		/* Looked at after the record: see mt_pipeline_end(). */
		if (mt_ring_passed(pipeline->events, 1 + end_of(&pipeline->events_end)))
			break;
		err = mt_decoder_event(pipeline->decoder, data, len);
		if (++n % 256 == 0)
			mt_ring_release(pipeline->events);
	}
	mt_ring_release(pipeline->events);
	*moved += n;
	return err;
}

/* Wait a little for a record that a program is filling: it may have been preempted. */
static bool wait_for_record(unsigned int *waits)
{
	static const struct timespec pause = { .tv_nsec = 100000 };

	if (++*waits > RECORD_WAITS_MAX)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

static int write_stacks(struct mt_pipeline *pipeline)
{
	int err = mt_decoder_write_stacks(pipeline->decoder);

	mt_ring_release(pipeline->stacks);
	return err;
}

/*
 * All definitions submitted so far. One can be here before the record that introduces its
 * thread has been read: the event ring was empty when it was last looked at. Looking again brings
 * it, if it was not lost.
 */
static int drain_stacks(struct mt_pipeline *pipeline, size_t *moved)
{
	uint64_t mark = mark_of(pipeline->stacks, &pipeline->stacks_end);
	unsigned int waits = 0;
	const void *data;
	size_t len, n = 0;
	int err = 0;

	while (!err && !mt_ring_passed(pipeline->stacks, mark)) {
		if (!mt_ring_next(pipeline->stacks, &data, &len)) {
			if (!wait_for_record(&waits))
				break;
			continue;
		}
		if (len >= sizeof(struct mt_ring_stack) &&
		    !mt_decoder_knows_thread(pipeline->decoder, data)) {
			err = drain_events(pipeline, mt_decoder_room(pipeline->decoder), moved);
			mark = mark_of(pipeline->stacks, &pipeline->stacks_end);
		}
		if (!err)
			err = mt_decoder_stack(pipeline->decoder, data, len);
		mt_path_learner_offer(pipeline->sources.learner, data, len);
		if (!err && ++n % MT_DECODER_STACKS == 0)
			err = write_stacks(pipeline);
	}
	if (!err)
		err = write_stacks(pipeline);
	*moved += n;
	return err;
}

/* What introduces a process is in the event ring before the first of its mappings is in theirs. */
static void tell_progress(struct mt_pipeline *pipeline)
{
	mt_decoder_progress(pipeline->decoder, mt_ring_position(pipeline->events),
			    mark_of(pipeline->events, &pipeline->events_end));
}

struct mapping_sink {
	struct mt_pipeline *pipeline;
	int error;
};

static void take_mapping(void *arg, const struct mt_mmap_record *record)
{
	struct mapping_sink *sink = arg;
	struct mt_pipeline *pipeline = sink->pipeline;

	if (record->ino && pipeline->sources.witness)
		mt_witness_mapped(pipeline->sources.witness, record->pid,
				  (struct mt_witness_file){
					.ino = record->ino,
					.dev = record->dev_major << 20 | record->dev_minor,
					.generation = record->generation,
				  }, record->time);
	mt_recent_code_add(&pipeline->recent, record->pid, record->start, record->end);
	tell_progress(pipeline);
	if (!sink->error)
		sink->error = mt_decoder_mapping(pipeline->decoder, record);
}

/* For how many more is there room now? 0: first events have to be read. */
static int make_room(struct mt_pipeline *pipeline, size_t *ret_room)
{
	int err = 0;

	*ret_room = mt_decoder_mapping_room(pipeline->decoder);
	if (*ret_room >= ROOM_MIN)
		return 0;
	tell_progress(pipeline);
	err = mt_decoder_flush(pipeline->decoder, true);
	*ret_room = mt_decoder_mapping_room(pipeline->decoder);
	return err;
}

static int drain_mappings(struct mt_pipeline *pipeline, size_t max, size_t *moved)
{
	struct mapping_sink sink = { .pipeline = pipeline };
	size_t room, some, n = 0;

	if (!pipeline->sources.mappings)
		return 0;
	do {
		sink.error = make_room(pipeline, &room);
		if (room > max)
			room = max;
		if (sink.error || !room)
			break;
		some = mt_mmap_events_read(pipeline->sources.mappings, room, take_mapping, &sink);
		if (some < room)
			pipeline->mappings_read = true;
		n += some;
		max -= some;
	} while (!sink.error && some == room);
	if (n)
		mt_recent_code_make_up(&pipeline->recent, pipeline->sources.programs);
	*moved += n;
	return sink.error;
}

/*
 * Mappings before events: the process of a mapping has been introduced in the event ring by
 * then. Stacks after events: what an event refers to was defined before it was submitted.
 */
static int drain(struct mt_pipeline *pipeline, size_t *moved)
{
	int err = drain_mappings(pipeline, MAPPINGS_A_TURN, moved);

	if (!err)
		err = drain_events(pipeline, EVENTS_A_TURN, moved);
	if (!err)
		err = drain_stacks(pipeline, moved);
	return err ? err : mt_decoder_write_events(pipeline->decoder);
}

static int write_files(struct mt_pipeline *pipeline, bool last)
{
	struct mt_file_notes *notes = pipeline->sources.notes;
	const char *path = NULL;
	int err = notes ? mt_file_notes_write(notes, pipeline->writer, last) : 0;

	if (notes && last)
		path = mt_file_notes_held_up(notes);
	if (path)
		mt_coverage_gap(pipeline->sources.coverage, path, NULL, "",
				"nobody answers where it lies: whether files were overwritten "
				"while recording is not known");
	return err;
}

static int write_rows(struct mt_pipeline *pipeline, uint64_t now, bool last, uint64_t *ret_lost)
{
	int err;

	tell_progress(pipeline);
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
	int err = drain_mappings(pipeline, SIZE_MAX, &(size_t){ 0 });

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

/*
 * All that is in the rings now, however fast somebody goes on filling them. A record that is being
 * filled is waited for, a little.
 */
static int drain_marked(struct mt_pipeline *pipeline)
{
	uint64_t events = mark_of(pipeline->events, &pipeline->events_end);
	uint64_t stacks = mark_of(pipeline->stacks, &pipeline->stacks_end);
	unsigned int waits = 0, turns = 0;
	size_t moved;
	int err;

	pipeline->mappings_read = !pipeline->sources.mappings;
	do {
		moved = 0;
		err = drain(pipeline, &moved);
		if (mt_ring_passed(pipeline->events, events) &&
		    mt_ring_passed(pipeline->stacks, stacks) &&
		    (pipeline->mappings_read || ++turns == MAPPING_TURNS_MAX))
			break;
	} while (!err && (moved || wait_for_record(&waits)));
	return err;
}

static int serve_sync(struct mt_pipeline *pipeline)
{
	uint64_t wanted = __atomic_load_n(&pipeline->syncs_wanted, __ATOMIC_ACQUIRE);
	int err;

	if (wanted == pipeline->syncs_done)
		return 0;
	err = drain_marked(pipeline);
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
	int err = drain_marked(pipeline);

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
		err = drain(pipeline, &moved);
		time = mt_now();
		note_look(pipeline, time);
		if (!err && time - pipeline->last_checkpoint >= CHECKPOINT_NS) {
			err = checkpoint(pipeline, time);
			age(pipeline);
		}
		if (!err)
			err = serve_sync(pipeline);
		if (!err && moved < EVENTS_A_TURN)
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
	       (!pipeline->sources.mappings || mt_mmap_events_empty(pipeline->sources.mappings));
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
