/*
 * record/decode_impl.h - what record/decode*.c share.
 *
 * decode.c has events and stacks, decode_lifecycle.c processes and threads, decode_mappings.c
 * mappings. Functions return 0 or a negative errno; -EOVERFLOW: a process or a thread had no place.
 */
#ifndef MT_DECODE_IMPL_H
#define MT_DECODE_IMPL_H

#include "bpf/mt_ring.h"
#include "common/event.h"
#include "record/decode.h"

struct mt_id_table;
struct mt_mapping_queue;

#define EVENTS_MAX 32768
#define LIFECYCLE_MAX 256

/* Rows outlive the ring records their strings come from. */
struct lifecycle_text {
	char name[MT_RING_COMM];
	char path[MT_RING_PATH];
};

struct mt_decoder {
	struct mt_writer *writer;
	struct mt_id_table *processes;	/* owner: the parent's index */
	struct mt_id_table *threads;	/* owner: the process's index */
	struct mt_mapping_queue *mappings;
	uint64_t read, reaches;		/* of the event ring */
	const struct mt_coverage *coverage;
	uint64_t malformed;
	uint64_t no_place[MT_NO_PLACE_KINDS];
	uint64_t orphan_mappings;
	uint64_t begin;			/* mappings of before may be of nobody */
	uint64_t counts[MT_GROUPS_MAX];
	uint32_t n_lifecycle;
	uint32_t n_stacks;
	uint32_t n_events;
	struct mt_lifecycle lifecycle[LIFECYCLE_MAX];
	struct lifecycle_text text[LIFECYCLE_MAX];
	struct mt_stack stacks[MT_DECODER_STACKS];
	struct mt_event events[EVENTS_MAX];
};

int mt_decode_write_lifecycle(struct mt_decoder *decoder);

/* Indices of a thread and its process; whose introduction was lost is introduced. */
int mt_decode_thread_of(struct mt_decoder *decoder, uint32_t pid, uint32_t tid, uint64_t time,
			uint32_t *ret_process, uint32_t *ret_thread);

int mt_decode_fork(struct mt_decoder *decoder, const struct mt_ring_fork *rec);
int mt_decode_exec(struct mt_decoder *decoder, const struct mt_ring_exec *rec);
int mt_decode_exit(struct mt_decoder *decoder, const struct mt_ring_exit *rec);
int mt_decode_name(struct mt_decoder *decoder, const struct mt_ring_name *rec);
int mt_decode_unmap(struct mt_decoder *decoder, const struct mt_ring_unmap *rec);

#endif
