/*
 * record/decode.h - ring records to rows of the artifact: the only module that knows both.
 *
 * Turns kernel ids into process and thread indices. Used by one thread; allocates only when made.
 * Functions that may write return the writer's sticky error.
 */
#ifndef MT_DECODE_H
#define MT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_coverage;
struct mt_decoder;
struct mt_mmap_record;
struct mt_ring_stack;
struct mt_writer;

/* The writer is borrowed. */
int mt_decoder_new(struct mt_writer *writer, struct mt_decoder **ret_decoder);
void mt_decoder_free(struct mt_decoder *decoder);

/*
 * Where events come from; borrowed, may be NULL. Counts has an element for each id of a source
 * (MT_GROUPS_MAX): the events decoded so far.
 */
void mt_decoder_set_coverage(struct mt_decoder *decoder, const struct mt_coverage *coverage);
const uint64_t *mt_decoder_counts(const struct mt_decoder *decoder);

/* A process tracked from the start, with its first thread; and another thread of it. */
int mt_decoder_start_process(struct mt_decoder *decoder, uint32_t pid, uint64_t time,
			     const char *comm);
int mt_decoder_start_thread(struct mt_decoder *decoder, uint32_t pid, uint32_t tid, uint64_t time,
			    const char *comm);

/*
 * A record of the event ring. Allocator calls are kept until mt_decoder_write_events(), so that
 * the stack definitions they refer to can be written first. Records of unknown kind or
 * wrong size are counted as malformed. -ENOBUFS: no room for another call.
 */
int mt_decoder_event(struct mt_decoder *decoder, const void *data, size_t len);

/* Records of the event ring that can be taken before -ENOBUFS. */
size_t mt_decoder_room(const struct mt_decoder *decoder);
/* Hand the calls kept to the writer, and what they refer to before them. */
int mt_decoder_write_events(struct mt_decoder *decoder);

/* Has the thread of this definition been introduced by a record of the event ring? */
bool mt_decoder_knows_thread(const struct mt_decoder *decoder, const struct mt_ring_stack *stack);

/*
 * A record of the stack ring. data is borrowed until mt_decoder_write_stacks(), which has to come
 * after every MT_DECODER_STACKS records at the latest; else -ENOBUFS.
 */
#define MT_DECODER_STACKS 64
int mt_decoder_stack(struct mt_decoder *decoder, const void *data, size_t len);
int mt_decoder_write_stacks(struct mt_decoder *decoder);

/*
 * How far the event ring has been read, and how far it reaches: what introduces the processes of
 * mappings that are given from now on lies before reaches.
 */
void mt_decoder_progress(struct mt_decoder *decoder, uint64_t read, uint64_t reaches);

/* A mapping. Kept until mt_decoder_flush() resolves its pid, or until there is no more room. */
int mt_decoder_mapping(struct mt_decoder *decoder, const struct mt_mmap_record *record);
/* Mappings that can be given before a flush, if none is to be an orphan for want of room. */
uint32_t mt_decoder_mapping_room(const struct mt_decoder *decoder);

/*
 * Hand all that is kept to the writer. keep: mappings of processes that nothing has introduced yet
 * stay, and are not counted as orphans, until all has been read that may introduce them.
 */
int mt_decoder_flush(struct mt_decoder *decoder, bool keep);

/*
 * Forget processes and threads whose end was decoded before the last call already. To be called
 * after a flush, when all has been given that was in any ring at the last call.
 */
void mt_decoder_age(struct mt_decoder *decoder);

uint64_t mt_decoder_malformed(const struct mt_decoder *decoder);

/* Records left out: more threads or processes live at the same time than there are places for. */
enum mt_no_place {
	MT_NO_PLACE_EVENT,
	MT_NO_PLACE_LIFECYCLE,
	MT_NO_PLACE_STACK,
	MT_NO_PLACE_KINDS
};
uint64_t mt_decoder_no_place(const struct mt_decoder *decoder, enum mt_no_place kind);

/*
 * Mappings of before this time whose process is unknown, or was not yet there, are no part of the
 * recording, and are left out without being counted.
 */
void mt_decoder_begin(struct mt_decoder *decoder, uint64_t time);
/* Mappings of processes that no record introduced. */
uint64_t mt_decoder_orphan_mappings(const struct mt_decoder *decoder);
/* Ever met. */
uint32_t mt_decoder_processes(const struct mt_decoder *decoder);
uint32_t mt_decoder_threads(const struct mt_decoder *decoder);
/* Of both, those not forgotten. */
uint32_t mt_decoder_held(const struct mt_decoder *decoder);

#endif
