#include "record/pipeline_impl.h"

#include <time.h>

#include "record/decode.h"
#include "record/mmap_events.h"
#include "record/path_learner.h"
#include "record/programs.h"
#include "record/ring.h"
#include "record/witness.h"

#define MAPPINGS_A_TURN 4096
#define ROOM_MIN 64u	/* for mappings; with less it is made */
#define MAPPING_TURNS_MAX 64u	/* more than the rings hold */
#define RECORD_WAITS_MAX 1000u

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
void mt_pipeline_tell_progress(struct mt_pipeline *pipeline)
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
	mt_pipeline_tell_progress(pipeline);
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
	mt_pipeline_tell_progress(pipeline);
	err = mt_decoder_flush(pipeline->decoder, true);
	*ret_room = mt_decoder_mapping_room(pipeline->decoder);
	return err;
}

int mt_pipeline_drain_mappings(struct mt_pipeline *pipeline, size_t max, size_t *moved)
{
	struct mapping_sink sink = { .pipeline = pipeline };
	size_t room, some, n = 0;
	uint64_t made;

	if (!pipeline->sources.mappings)
		return 0;
	do {
		sink.error = make_room(pipeline, &room);
		if (room > max)
			room = max;
		if (sink.error || !room)
			break;
		made = mt_programs_mappings_made(pipeline->sources.programs);
		some = mt_mmap_events_read(pipeline->sources.mappings, room, take_mapping, &sink);
		if (some < room) {
			pipeline->mappings_read = true;
			mt_programs_mappings_read(pipeline->sources.programs, made);
		}
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
int mt_pipeline_drain(struct mt_pipeline *pipeline, size_t *moved)
{
	int err = mt_pipeline_drain_mappings(pipeline, MAPPINGS_A_TURN, moved);

	if (!err)
		err = drain_events(pipeline, MT_PIPELINE_EVENTS, moved);
	if (!err)
		err = drain_stacks(pipeline, moved);
	return err ? err : mt_decoder_write_events(pipeline->decoder);
}

/*
 * All that is in the rings now, however fast somebody goes on filling them. A record that is being
 * filled is waited for, a little.
 */
int mt_pipeline_drain_marked(struct mt_pipeline *pipeline)
{
	uint64_t events = mark_of(pipeline->events, &pipeline->events_end);
	uint64_t stacks = mark_of(pipeline->stacks, &pipeline->stacks_end);
	unsigned int waits = 0, turns = 0;
	size_t moved;
	int err;

	pipeline->mappings_read = !pipeline->sources.mappings;
	do {
		moved = 0;
		err = mt_pipeline_drain(pipeline, &moved);
		if (mt_ring_passed(pipeline->events, events) &&
		    mt_ring_passed(pipeline->stacks, stacks) &&
		    (pipeline->mappings_read || ++turns == MAPPING_TURNS_MAX))
			break;
	} while (!err && (moved || wait_for_record(&waits)));
	return err;
}
