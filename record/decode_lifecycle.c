#include "record/decode_impl.h"

#include <errno.h>

#include "record/id_table.h"
#include "record/writer.h"

int mt_decode_write_lifecycle(struct mt_decoder *decoder)
{
	int err = mt_writer_lifecycle(decoder->writer, decoder->lifecycle, decoder->n_lifecycle);

	decoder->n_lifecycle = 0;
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
	return ++decoder->n_lifecycle == LIFECYCLE_MAX ? mt_decode_write_lifecycle(decoder) : 0;
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

int mt_decode_thread_of(struct mt_decoder *decoder, uint32_t pid, uint32_t tid, uint64_t time,
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

int mt_decode_fork(struct mt_decoder *decoder, const struct mt_ring_fork *rec)
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

int mt_decode_exec(struct mt_decoder *decoder, const struct mt_ring_exec *rec)
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
int mt_decode_exit(struct mt_decoder *decoder, const struct mt_ring_exit *rec)
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

int mt_decode_name(struct mt_decoder *decoder, const struct mt_ring_name *rec)
{
	struct mt_lifecycle row = {
		.type = MT_LC_NAME, .time = rec->hdr.time, .name = rec->comm,
	};
	uint32_t process;
	int err = mt_decode_thread_of(decoder, rec->hdr.pid, rec->hdr.tid, rec->hdr.time, &process,
				      &row.thread);

	return err ? err : add_lifecycle(decoder, &row);
}

void mt_decoder_age(struct mt_decoder *decoder)
{
	mt_id_table_age(decoder->processes);
	mt_id_table_age(decoder->threads);
}

bool mt_decoder_knows_thread(const struct mt_decoder *decoder, const struct mt_ring_stack *stack)
{
	uint32_t process = mt_id_table_find(decoder->processes, stack->pid, stack->time, NULL);
	uint32_t owner = MT_ID_NONE;

	return process != MT_ID_NONE &&
	       mt_id_table_find(decoder->threads, stack->tid, stack->time, &owner) != MT_ID_NONE &&
	       owner == process;
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
