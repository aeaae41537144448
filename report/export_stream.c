#include "report/export_stream.h"

#include "common/buf.h"
#include "common/frame.h"
#include "report/analysis.h"
#include "report/export_event.h"
#include "report/id_map.h"
#include "report/new_file.h"
#include "report/reader.h"
#include "report/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#define LEVEL 3
#define CONTENT_ENOUGH (1u << 20)	/* of a frame */
#define CONTENT_MAX (CONTENT_ENOUGH + (1u << 19))	/* with a record of any kind behind it */

struct stream {
	struct mt_analysis *analysis;
	FILE *out;
	struct mt_packer *packer;
	struct mt_buf content;
	struct mt_id_map ids;	/* of stacks */
	uint64_t *hashes;	/* by slot in ids */
	uint32_t hashes_cap;
};

static int flush(struct stream *s)
{
	const uint8_t *frame;
	size_t size;
	int err;

	if (!s->content.len)
		return 0;
	err = mt_packer_pack(s->packer, s->content.data, s->content.len, NULL, 0, &frame, &size);
	mt_buf_reset(&s->content);
	if (!err && fwrite(frame, 1, size, s->out) != size)
		err = errno ? -errno : -EIO;
	return err;
}

/* After each record: frames hold whole ones. */
static int next(struct stream *s, int err)
{
	return err || s->content.len < CONTENT_ENOUGH ? err : flush(s);
}

static uint32_t pid_of(const struct stream *s, uint32_t process)
{
	return process < mt_session_processes(s->analysis->session) ?
	       mt_session_process(s->analysis->session, process)->pid : 0;
}

static void ids_of(const struct stream *s, uint32_t index, uint32_t *ret_pid, uint32_t *ret_tid)
{
	const struct mt_thread *thread;

	*ret_pid = *ret_tid = 0;
	if (index >= mt_session_threads(s->analysis->session))
		return;
	thread = mt_session_thread(s->analysis->session, index);
	*ret_pid = pid_of(s, thread->process);
	*ret_tid = thread->tid;
}

/* Stacks are told apart by their identity; 0 means that there is none. */
static int keep_hash(struct stream *s, const struct mt_stack *stack)
{
	uint32_t slot = mt_id_map_count(&s->ids), cap = s->hashes_cap;
	uint64_t *hashes;
	int err;

	if (slot == cap) {
		cap = cap ? 2 * cap : 1024;
		hashes = reallocarray(s->hashes, cap, sizeof(*hashes));
		if (!hashes)
			return -ENOMEM;
		s->hashes = hashes;
		s->hashes_cap = cap;
	}
	err = mt_id_map_add(&s->ids, stack->id);
	if (!err)
		s->hashes[slot] = stack->identity ? stack->identity : stack->id;
	return err;
}

static int put_stack(struct stream *s, const struct mt_stack *stack)
{
	bool arm = !strcmp(s->analysis->run.header->arch, "aarch64");
	uint32_t pid, tid, slot;
	int err;

	if (mt_id_map_find(&s->ids, stack->id) != UINT32_MAX)
		return 0;
	err = keep_hash(s, stack);
	if (err)
		return err;
	slot = mt_id_map_find(&s->ids, stack->id);
	ids_of(s, stack->thread, &pid, &tid);
	return mt_export_put_stack(&s->content, pid_of(s, stack->process), tid, stack,
				   s->hashes[slot], arm ? 31 : 7);
}

/* Every row of a kind: stacks before the events, mappings behind them. */
static int put_rows(struct stream *s, enum mt_block_kind kind)
{
	const struct mt_block *block;
	uint32_t i;
	int err;

	mt_reader_rewind(s->analysis->reader, MT_KIND_BIT(kind));
	for (;;) {
		err = mt_reader_next(s->analysis->reader, &block);
		if (err <= 0)
			return err;
		for (i = 0; i < block->n; i++) {
			err = 0;
			if (kind == MT_BLOCK_STACKS)
				err = put_stack(s, &block->stacks[i]);
			else if (block->mappings[i].type == MT_MAP_MAP)
				err = mt_export_put_mapping(&s->content,
							    pid_of(s, block->mappings[i].process),
							    &block->mappings[i]);
			err = next(s, err);
			if (err)
				return err;
		}
	}
}

static int put_event(struct stream *s, const struct mt_event *event)
{
	uint32_t pid, tid, slot;

	if (mt_event_gives_up(event->type))
		return 0;
	ids_of(s, event->thread, &pid, &tid);
	slot = event->stack ? mt_id_map_find(&s->ids, event->stack) : UINT32_MAX;
	return next(s, mt_export_put_event(&s->content, pid, tid, event,
					   slot == UINT32_MAX ? 0 : s->hashes[slot]));
}

static int put_events(struct stream *s)
{
	struct mt_timeline_batch batch;
	struct mt_timeline *timeline;
	size_t i;
	int err;

	err = mt_timeline_open(s->analysis->reader, s->analysis->session, &timeline);
	if (err)
		return err;
	while ((err = mt_timeline_next(timeline, &batch)) > 0) {
		for (i = 0, err = 0; i < batch.n && !err; i++)
			err = put_event(s, &batch.events[i]);
		if (!err && batch.lifecycle)
			err = next(s, mt_export_put_lifecycle(&s->content,
							      pid_of(s, batch.lifecycle->process),
							      pid_of(s, batch.lifecycle->parent),
							      batch.lifecycle));
		if (err)
			break;
	}
	mt_timeline_free(timeline);
	return err;
}

static int write_stream(struct stream *s)
{
	int err = mt_packer_new(LEVEL, CONTENT_MAX, &s->packer);

	if (!err)
		err = put_rows(s, MT_BLOCK_STACKS);
	if (!err)
		err = put_events(s);
	if (!err)
		err = put_rows(s, MT_BLOCK_MAPPINGS);
	return err ? err : flush(s);
}

int mt_export_memtrack(const char *dir, struct mt_analysis *analysis, char **ret_path)
{
	struct stream stream = { .analysis = analysis };
	struct mt_new_file file;
	char *path;
	int err;

	if (mkdir(dir, 0777) && errno != EEXIST)
		return -errno;
	if (asprintf(&path, "%s/%" PRIu32 ".MemtrackArtifact.msgpack", dir,
		     pid_of(&stream, 0)) < 0)
		return -ENOMEM;
	mt_id_map_init(&stream.ids);
	err = mt_new_file_open(&file, path);
	if (!err) {
		stream.out = file.out;
		errno = 0;
		err = mt_new_file_close(&file, write_stream(&stream));
	}
	mt_packer_free(stream.packer);
	mt_buf_release(&stream.content);
	mt_id_map_release(&stream.ids);
	free(stream.hashes);
	if (err)
		free(path);
	else
		*ret_path = path;
	return err;
}
