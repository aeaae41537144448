#include "record/decode_impl.h"

#include <errno.h>
#include <sys/mman.h>

#include "record/coverage.h"
#include "record/id_table.h"
#include "record/mapping_queue.h"
#include "record/writer.h"

#define SAME_NUMBER(ring, event) _Static_assert((int)(ring) == (int)(event), #ring)
SAME_NUMBER(MT_RING_MALLOC, MT_EV_MALLOC);
SAME_NUMBER(MT_RING_CALLOC, MT_EV_CALLOC);
SAME_NUMBER(MT_RING_REALLOC, MT_EV_REALLOC);
SAME_NUMBER(MT_RING_ALIGNED, MT_EV_ALIGNED);
SAME_NUMBER(MT_RING_FREE, MT_EV_FREE);
SAME_NUMBER(MT_RING_MMAP, MT_EV_MMAP);
SAME_NUMBER(MT_RING_MUNMAP, MT_EV_MUNMAP);
SAME_NUMBER(MT_RING_MREMAP, MT_EV_MREMAP);
SAME_NUMBER(MT_RING_BRK, MT_EV_BRK);
_Static_assert(MT_RING_REGS_MAX == MT_REGS_MAX && MT_RING_FP_MAX == MT_FP_CHAIN_MAX &&
	       MT_RING_STACK_MAX == MT_STACK_BYTES_MAX, "limits of both sides");

#if defined(__x86_64__)
#define N_REGS 17
#elif defined(__aarch64__)
#define N_REGS 33
#endif

int mt_decoder_new(struct mt_writer *writer, struct mt_decoder **ret_decoder)
{
	struct mt_decoder *decoder = calloc(1, sizeof(*decoder));
	int err;

	if (!decoder)
		return -ENOMEM;
	decoder->writer = writer;
	err = mt_id_table_new(MT_ID_PROCESSES_MAX, &decoder->processes);
	if (!err)
		err = mt_id_table_new(MT_ID_SLOTS_MAX, &decoder->threads);
	if (!err)
		err = mt_mapping_queue_new(&decoder->mappings);
	if (err) {
		mt_decoder_free(decoder);
		return err;
	}
	*ret_decoder = decoder;
	return 0;
}

void mt_decoder_free(struct mt_decoder *decoder)
{
	if (!decoder)
		return;
	mt_id_table_free(decoder->processes);
	mt_id_table_free(decoder->threads);
	mt_mapping_queue_free(decoder->mappings);
	free(decoder);
}

void mt_decoder_set_coverage(struct mt_decoder *decoder, const struct mt_coverage *coverage)
{
	decoder->coverage = coverage;
}

const uint64_t *mt_decoder_counts(const struct mt_decoder *decoder)
{
	return decoder->counts;
}

int mt_decoder_write_stacks(struct mt_decoder *decoder)
{
	int err = mt_decode_write_lifecycle(decoder);

	if (!err)
		err = mt_writer_stacks(decoder->writer, decoder->stacks, decoder->n_stacks);
	decoder->n_stacks = 0;
	return err;
}

int mt_decoder_write_events(struct mt_decoder *decoder)
{
	int err = mt_decoder_write_stacks(decoder);

	if (!err)
		err = mt_writer_events(decoder->writer, decoder->events, decoder->n_events);
	decoder->n_events = 0;
	return err;
}

/* Where the size is no argument of the call the record has 0. */
static uint64_t fixed_size_of(const struct mt_decoder *decoder, uint32_t group)
{
	return decoder->coverage ? mt_coverage_fixed_size(decoder->coverage, group) : 0;
}

/* The next event, with what every record has; it counts once n_events has been raised. */
static int begin_event(struct mt_decoder *decoder, const struct mt_ring_hdr *hdr,
		       struct mt_event **ret_event)
{
	struct mt_event *event = &decoder->events[decoder->n_events];
	uint32_t process;
	int err;

	if (decoder->n_events == EVENTS_MAX)
		return -ENOBUFS;
	memset(event, 0, sizeof(*event));
	err = mt_decode_thread_of(decoder, hdr->pid, hdr->tid, hdr->time, &process, &event->thread);
	if (err)
		return err;
	event->type = hdr->kind;
	event->time = hdr->time;
	event->stack = hdr->stack;
	*ret_event = event;
	return 0;
}

static int decode_call(struct mt_decoder *decoder, const struct mt_ring_hdr *hdr, size_t len)
{
	const struct mt_ring_free *free_rec = (const void *)hdr;
	const struct mt_ring_alloc *alloc = (const void *)hdr;
	struct mt_event *event;
	int err = begin_event(decoder, hdr, &event);

	if (err)
		return err;
	event->begin = hdr->time;
	event->addr = free_rec->addr;
	if (hdr->kind != MT_RING_FREE) {
		if (len < sizeof(*alloc))
			goto malformed;
		event->size = alloc->size + fixed_size_of(decoder, hdr->group);
	}
	if (hdr->kind == MT_RING_ALIGNED) {
		if (len < sizeof(struct mt_ring_aligned))
			goto malformed;
		event->align = ((const struct mt_ring_aligned *)alloc)->align;
	}
	if (hdr->kind == MT_RING_REALLOC) {
		if (len < sizeof(struct mt_ring_realloc))
			goto malformed;
		event->old_addr = ((const struct mt_ring_realloc *)alloc)->old_addr;
		event->begin = ((const struct mt_ring_realloc *)alloc)->begin;
	}
	decoder->counts[hdr->group]++;
	decoder->n_events++;
	return 0;

malformed:
	decoder->malformed++;
	return 0;
}

static int decode_region(struct mt_decoder *decoder, const struct mt_ring_region *rec)
{
	const struct mt_ring_hdr *hdr = &rec->alloc.hdr;
	struct mt_event *event;
	int err = begin_event(decoder, hdr, &event);
	bool keeps;

	if (err)
		return err;
	event->addr = rec->alloc.addr;
	event->size = rec->alloc.size;
	if (hdr->kind == MT_RING_MMAP) {
		event->prot = rec->prot;
		event->flags = rec->flags;
	} else if (hdr->kind != MT_RING_MUNMAP) {
		/* What stays mapped is not given up. */
		keeps = hdr->kind == MT_RING_MREMAP && rec->flags & MREMAP_DONTUNMAP;
		event->old_size = keeps ? 0 : rec->old_size;
	}
	/* Others can be given what this gave back before it returned. */
	if (hdr->kind == MT_RING_MUNMAP ||
	    (hdr->kind == MT_RING_BRK && event->size < event->old_size))
		event->time = rec->begin;
	event->begin = event->time;
	if (hdr->kind == MT_RING_MREMAP) {
		event->old_addr = rec->old_addr;
		event->begin = rec->begin;
	}
	decoder->n_events++;
	return 0;
}

static int decode_record(struct mt_decoder *decoder, const void *data, size_t len)
{
	static const size_t sizes[] = {
		[MT_RING_MALLOC] = sizeof(struct mt_ring_free),
		[MT_RING_CALLOC] = sizeof(struct mt_ring_free),
		[MT_RING_REALLOC] = sizeof(struct mt_ring_free),
		[MT_RING_ALIGNED] = sizeof(struct mt_ring_free),
		[MT_RING_FREE] = sizeof(struct mt_ring_free),
		[MT_RING_MMAP] = sizeof(struct mt_ring_region),
		[MT_RING_MUNMAP] = sizeof(struct mt_ring_region),
		[MT_RING_MREMAP] = sizeof(struct mt_ring_region),
		[MT_RING_BRK] = sizeof(struct mt_ring_region),
		[MT_RING_FORK] = sizeof(struct mt_ring_fork),
		[MT_RING_THREAD] = sizeof(struct mt_ring_fork),
		[MT_RING_EXEC] = sizeof(struct mt_ring_exec),
		[MT_RING_THREAD_EXIT] = sizeof(struct mt_ring_exit),
		[MT_RING_EXIT] = sizeof(struct mt_ring_exit),
		[MT_RING_NAME] = sizeof(struct mt_ring_name),
		[MT_RING_UNMAP] = sizeof(struct mt_ring_unmap),
	};
	const struct mt_ring_hdr *hdr = data;

	if (len < sizeof(*hdr) || hdr->kind >= MT_ARRAY_SIZE(sizes) || !sizes[hdr->kind] ||
	    len < sizes[hdr->kind]) {
		decoder->malformed++;
		return 0;
	}
	switch (hdr->kind) {
	case MT_RING_MMAP:
	case MT_RING_MUNMAP:
	case MT_RING_MREMAP:
	case MT_RING_BRK:
		return decode_region(decoder, data);
	case MT_RING_FORK:
	case MT_RING_THREAD:
		return mt_decode_fork(decoder, data);
	case MT_RING_EXEC:
		return mt_decode_exec(decoder, data);
	case MT_RING_THREAD_EXIT:
	case MT_RING_EXIT:
		return mt_decode_exit(decoder, data);
	case MT_RING_NAME:
		return mt_decode_name(decoder, data);
	case MT_RING_UNMAP:
		return mt_decode_unmap(decoder, data);
	}
	return decode_call(decoder, hdr, len);
}

int mt_decoder_event(struct mt_decoder *decoder, const void *data, size_t len)
{
	const struct mt_ring_hdr *hdr = data;
	int err = decode_record(decoder, data, len);

	if (err != -EOVERFLOW)
		return err;
	decoder->no_place[hdr->kind < MT_RING_FORK ? MT_NO_PLACE_EVENT : MT_NO_PLACE_LIFECYCLE]++;
	return 0;
}

size_t mt_decoder_room(const struct mt_decoder *decoder)
{
	return EVENTS_MAX - decoder->n_events;
}

int mt_decoder_stack(struct mt_decoder *decoder, const void *data, size_t len)
{
	const struct mt_ring_stack *rec = data;
	struct mt_stack *stack = &decoder->stacks[decoder->n_stacks];
	int err;

	if (len < sizeof(*rec) || rec->n_bytes > len - sizeof(*rec) ||
	    rec->n_fp > MT_FP_CHAIN_MAX) {
		decoder->malformed++;
		return 0;
	}
	if (decoder->n_stacks == MT_DECODER_STACKS)
		return -ENOBUFS;
	err = mt_decode_thread_of(decoder, rec->pid, rec->tid, rec->time, &stack->process,
				  &stack->thread);
	if (err == -EOVERFLOW) {
		decoder->no_place[MT_NO_PLACE_STACK]++;
		return 0;
	}
	if (err)
		return err;
	stack->id = rec->id;
	stack->time = rec->time;
	stack->identity = rec->identity;
	stack->flags = rec->flags;
	stack->above = rec->above;
	stack->n_regs = N_REGS;
	memcpy(stack->regs, rec->regs, N_REGS * sizeof(*rec->regs));
	stack->n_fp = rec->n_fp;
	memcpy(stack->fp, rec->fp, rec->n_fp * sizeof(*rec->fp));
	stack->bytes = (const uint8_t *)(rec + 1);
	stack->n_bytes = rec->n_bytes;
	decoder->n_stacks++;
	return 0;
}

uint64_t mt_decoder_malformed(const struct mt_decoder *decoder)
{
	return decoder->malformed;
}

uint64_t mt_decoder_no_place(const struct mt_decoder *decoder, enum mt_no_place kind)
{
	return decoder->no_place[kind];
}
