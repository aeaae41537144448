#include "record/decode.h"

#include <errno.h>
#include <sys/mman.h>

#include "bpf/mt_ring.h"
#include "common/event.h"
#include "record/coverage.h"
#include "record/id_table.h"
#include "record/mapping_queue.h"
#include "record/mmap_events.h"
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

#define EVENTS_MAX 32768
#define LIFECYCLE_MAX 256

#if defined(__x86_64__)
#define N_REGS 17
#elif defined(__aarch64__)
#define N_REGS 33
#endif

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

static int write_lifecycle(struct mt_decoder *decoder)
{
	int err = mt_writer_lifecycle(decoder->writer, decoder->lifecycle, decoder->n_lifecycle);

	decoder->n_lifecycle = 0;
	return err;
}

int mt_decoder_write_stacks(struct mt_decoder *decoder)
{
	int err = write_lifecycle(decoder);

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

static void copy_text(char *to, size_t size, const char *from)
{
	size_t len = from ? strnlen(from, size - 1) : 0;

	if (len)
		memcpy(to, from, len);
	to[len] = '\0';
}

static int add_lifecycle(struct mt_decoder *decoder, const struct mt_lifecycle *row)
{
	struct lifecycle_text *text = &decoder->text[decoder->n_lifecycle];
	struct mt_lifecycle *copy = &decoder->lifecycle[decoder->n_lifecycle];

	*copy = *row;
	copy_text(text->name, sizeof(text->name), row->name);
	copy_text(text->path, sizeof(text->path), row->path);
	copy->name = text->name;
	copy->path = text->path;
	return ++decoder->n_lifecycle == LIFECYCLE_MAX ? write_lifecycle(decoder) : 0;
}

static int define_thread(struct mt_decoder *decoder, uint32_t process, uint32_t tid, uint64_t time,
			 const char *comm, uint32_t *ret_thread)
{
	struct mt_lifecycle row = {
		.type = MT_LC_THREAD, .time = time, .process = process, .tid = tid, .name = comm,
	};

	row.thread = mt_id_table_add(decoder->threads, tid, time, process);
	if (row.thread == MT_ID_NONE)
		return -EOVERFLOW;
	*ret_thread = row.thread;
	return add_lifecycle(decoder, &row);
}

int mt_decoder_start_process(struct mt_decoder *decoder, uint32_t pid, uint64_t time,
			     const char *comm)
{
	struct mt_lifecycle row = {
		.type = MT_LC_START, .time = time, .pid = pid, .name = comm,
	};
	uint32_t thread;
	int err;

	row.process = mt_id_table_add(decoder->processes, pid, time, MT_ID_NONE);
	if (row.process == MT_ID_NONE)
		return -EOVERFLOW;
	err = add_lifecycle(decoder, &row);
	if (err)
		return err;
	return define_thread(decoder, row.process, pid, time, comm, &thread);
}

int mt_decoder_start_thread(struct mt_decoder *decoder, uint32_t pid, uint32_t tid, uint64_t time,
			    const char *comm)
{
	uint32_t process = mt_id_table_find(decoder->processes, pid, time, NULL), thread;

	if (process == MT_ID_NONE)
		return -ESRCH;
	return define_thread(decoder, process, tid, time, comm, &thread);
}

void mt_decoder_begin(struct mt_decoder *decoder, uint64_t time)
{
	decoder->begin = time;
}

/* The process's index; one whose introduction was lost is introduced here. */
static int process_of(struct mt_decoder *decoder, uint32_t pid, uint64_t time,
		      uint32_t *ret_process)
{
	uint32_t process = mt_id_table_find(decoder->processes, pid, time, NULL);
	int err;

	if (process == MT_ID_NONE) {
		err = mt_decoder_start_process(decoder, pid, time, "");
		if (err)
			return err;
		process = mt_id_table_find(decoder->processes, pid, time, NULL);
	}
	*ret_process = process;
	return 0;
}

static int thread_of(struct mt_decoder *decoder, uint32_t pid, uint32_t tid, uint64_t time,
		     uint32_t *ret_process, uint32_t *ret_thread)
{
	uint32_t process, thread, owner;
	int err;

	err = process_of(decoder, pid, time, &process);
	if (err)
		return err;
	*ret_process = process;
	thread = mt_id_table_find(decoder->threads, tid, time, &owner);
	if (thread == MT_ID_NONE || owner != process)
		return define_thread(decoder, process, tid, time, "", ret_thread);
	*ret_thread = thread;
	return 0;
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
	err = thread_of(decoder, hdr->pid, hdr->tid, hdr->time, &process, &event->thread);
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

/* Only of those that have another one: a namespace of their own is rare. */
static int add_own_pid(struct mt_decoder *decoder, uint32_t process, uint64_t time, uint32_t pid,
		       uint32_t own_pid)
{
	struct mt_lifecycle row = {
		.type = MT_LC_OWN_PID, .time = time, .process = process, .own_pid = own_pid,
		.name = "", .path = "",
	};

	return own_pid && own_pid != pid ? add_lifecycle(decoder, &row) : 0;
}

static int decode_fork(struct mt_decoder *decoder, const struct mt_ring_fork *rec)
{
	struct mt_lifecycle row = {
		.type = MT_LC_FORK, .time = rec->hdr.time, .pid = rec->child_pid,
		.shares_memory = rec->shares_memory, .name = rec->comm,
	};
	uint32_t thread;
	int err;

	if (rec->hdr.kind == MT_RING_THREAD) {
		err = process_of(decoder, rec->hdr.pid, rec->hdr.time, &row.process);
		if (err)
			return err;
		return define_thread(decoder, row.process, rec->child_tid, rec->hdr.time, rec->comm,
				     &thread);
	}
	err = process_of(decoder, rec->hdr.pid, rec->hdr.time, &row.parent);
	if (err)
		return err;
	row.process = mt_id_table_add(decoder->processes, rec->child_pid, rec->hdr.time,
				      row.parent);
	if (row.process == MT_ID_NONE)
		return -EOVERFLOW;
	err = add_lifecycle(decoder, &row);
	if (!err)
		err = add_own_pid(decoder, row.process, rec->hdr.time, rec->child_pid,
				  rec->own_pid);
	if (err)
		return err;
	return define_thread(decoder, row.process, rec->child_tid, rec->hdr.time, rec->comm,
			     &thread);
}

static int decode_exec(struct mt_decoder *decoder, const struct mt_ring_exec *rec)
{
	struct mt_lifecycle row = {
		.type = MT_LC_EXEC, .time = rec->hdr.time, .name = rec->comm, .path = rec->path,
	};
	int err = process_of(decoder, rec->hdr.pid, rec->hdr.time, &row.process);

	if (err)
		return err;
	/* A thread that is not the leader takes the leader's id over. */
	if (rec->old_tid != rec->hdr.tid) {
		err = define_thread(decoder, row.process, rec->hdr.tid, rec->hdr.time, rec->comm,
				    &row.thread);
		if (err)
			return err;
		mt_id_table_end(decoder->threads, rec->old_tid, rec->hdr.time);
	}
	err = add_lifecycle(decoder, &row);
	return err ? err : add_own_pid(decoder, row.process, rec->hdr.time, rec->hdr.pid,
				       rec->own_pid);
}

/* The end of what nobody has told of is no news. */
static int decode_exit(struct mt_decoder *decoder, const struct mt_ring_exit *rec)
{
	struct mt_lifecycle row = { .time = rec->hdr.time, .status = rec->status };
	uint32_t owner;

	row.process = mt_id_table_find(decoder->processes, rec->hdr.pid, row.time, NULL);
	if (row.process == MT_ID_NONE)
		return 0;
	if (rec->hdr.kind == MT_RING_EXIT) {
		row.type = MT_LC_EXIT;
		mt_id_table_end(decoder->processes, rec->hdr.pid, row.time);
		return add_lifecycle(decoder, &row);
	}
	row.type = MT_LC_THREAD_EXIT;
	row.thread = mt_id_table_find(decoder->threads, rec->hdr.tid, row.time, &owner);
	if (row.thread == MT_ID_NONE || owner != row.process)
		return 0;
	row.process = 0;
	mt_id_table_end(decoder->threads, rec->hdr.tid, row.time);
	return add_lifecycle(decoder, &row);
}

static int decode_name(struct mt_decoder *decoder, const struct mt_ring_name *rec)
{
	struct mt_lifecycle row = {
		.type = MT_LC_NAME, .time = rec->hdr.time, .name = rec->comm,
	};
	uint32_t process;
	int err = thread_of(decoder, rec->hdr.pid, rec->hdr.tid, rec->hdr.time, &process,
			    &row.thread);

	return err ? err : add_lifecycle(decoder, &row);
}

static int queue_mapping(struct mt_decoder *decoder, const struct mt_mapping *row)
{
	int err;

	if (mt_mapping_queue_add(decoder->mappings, row, decoder->reaches))
		return 0;
	err = mt_decoder_flush(decoder, true);
	if (err || mt_mapping_queue_add(decoder->mappings, row, decoder->reaches))
		return err;
	err = mt_decoder_flush(decoder, false);
	if (err)
		return err;
	return mt_mapping_queue_add(decoder->mappings, row, decoder->reaches) ? 0 : -ENOBUFS;
}

static int decode_unmap(struct mt_decoder *decoder, const struct mt_ring_unmap *rec)
{
	struct mt_mapping row = {
		.type = MT_MAP_UNMAP, .time = rec->hdr.time, .process = rec->hdr.pid,
		.start = rec->start, .end = rec->end, .path = "",
	};

	return queue_mapping(decoder, &row);
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
		return decode_fork(decoder, data);
	case MT_RING_EXEC:
		return decode_exec(decoder, data);
	case MT_RING_THREAD_EXIT:
	case MT_RING_EXIT:
		return decode_exit(decoder, data);
	case MT_RING_NAME:
		return decode_name(decoder, data);
	case MT_RING_UNMAP:
		return decode_unmap(decoder, data);
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

void mt_decoder_age(struct mt_decoder *decoder)
{
	mt_id_table_age(decoder->processes);
	mt_id_table_age(decoder->threads);
}

size_t mt_decoder_room(const struct mt_decoder *decoder)
{
	return EVENTS_MAX - decoder->n_events;
}

bool mt_decoder_knows_thread(const struct mt_decoder *decoder, const struct mt_ring_stack *stack)
{
	uint32_t process = mt_id_table_find(decoder->processes, stack->pid, stack->time, NULL);
	uint32_t owner = MT_ID_NONE;

	return process != MT_ID_NONE &&
	       mt_id_table_find(decoder->threads, stack->tid, stack->time, &owner) != MT_ID_NONE &&
	       owner == process;
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
	err = thread_of(decoder, rec->pid, rec->tid, rec->time, &stack->process, &stack->thread);
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

void mt_decoder_progress(struct mt_decoder *decoder, uint64_t read, uint64_t reaches)
{
	decoder->read = read;
	decoder->reaches = reaches;
}

uint32_t mt_decoder_mapping_room(const struct mt_decoder *decoder)
{
	return mt_mapping_queue_room(decoder->mappings);
}

int mt_decoder_mapping(struct mt_decoder *decoder, const struct mt_mmap_record *record)
{
	struct mt_mapping row = {
		.type = record->exec_clear ? MT_MAP_EXEC_CLEAR : MT_MAP_MAP,
		.time = record->time,
		.process = record->pid,
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.dev_major = record->dev_major,
		.dev_minor = record->dev_minor,
		.ino = record->ino,
		.generation = record->generation,
		.path = record->path,
	};

	return queue_mapping(decoder, &row);
}

static uint32_t process_at(void *decoder, uint32_t pid, uint64_t time)
{
	return mt_id_table_find(((struct mt_decoder *)decoder)->processes, pid, time, NULL);
}

int mt_decoder_flush(struct mt_decoder *decoder, bool keep)
{
	const struct mt_mapping *rows;
	int err = mt_decoder_write_events(decoder);
	uint32_t n = mt_mapping_queue_settle(decoder->mappings, process_at, decoder, &rows);

	if (!err && n)
		err = mt_writer_mappings(decoder->writer, rows, n);
	decoder->orphan_mappings += mt_mapping_queue_clear(decoder->mappings, n,
							   keep ? decoder->read : UINT64_MAX,
							   decoder->begin);
	return err;
}

uint64_t mt_decoder_malformed(const struct mt_decoder *decoder)
{
	return decoder->malformed;
}

uint64_t mt_decoder_no_place(const struct mt_decoder *decoder, enum mt_no_place kind)
{
	return decoder->no_place[kind];
}

uint64_t mt_decoder_orphan_mappings(const struct mt_decoder *decoder)
{
	return decoder->orphan_mappings;
}

uint32_t mt_decoder_processes(const struct mt_decoder *decoder)
{
	return mt_id_table_count(decoder->processes);
}

uint32_t mt_decoder_threads(const struct mt_decoder *decoder)
{
	return mt_id_table_count(decoder->threads);
}

uint32_t mt_decoder_held(const struct mt_decoder *decoder)
{
	return mt_id_table_held(decoder->processes) + mt_id_table_held(decoder->threads);
}
