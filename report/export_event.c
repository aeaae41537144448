#include "report/export_event.h"

#include "common/buf.h"
#include "common/msgpack_write.h"
#include "report/json.h"

#include <errno.h>

#define HEAD_MAX 256	/* a record but for texts, bytes and arrays */

static uint8_t *put_key(uint8_t *p, const char *key)
{
	return mt_mp_put_str(p, key, (uint32_t)strlen(key));
}

static uint8_t *put_number(uint8_t *p, const char *key, uint64_t value)
{
	return mt_mp_put_uint(put_key(p, key), value);
}

/* A map of the five keys that all records have, and more. */
static uint8_t *put_head(uint8_t *p, const struct mt_export_head *head, uint32_t more)
{
	p = mt_mp_put_map(p, 5 + more);
	p = put_number(p, "pid", head->pid);
	p = put_number(p, "tid", head->tid);
	p = put_number(p, "timestamp", head->timestamp);
	p = put_number(p, "addr", head->addr);
	return put_key(put_key(p, "type"), head->type);
}

static uint8_t *begin(struct mt_buf *buf, size_t more)
{
	return mt_buf_reserve(buf, HEAD_MAX + more) ? NULL : buf->data + buf->len;
}

static int finish(struct mt_buf *buf, const uint8_t *p)
{
	buf->len = (size_t)(p - buf->data);
	return 0;
}

int mt_export_put_event(struct mt_buf *buf, uint32_t pid, uint32_t tid,
			const struct mt_event *event, uint64_t hash)
{
	static const char *const types[MT_EV_TYPES] = {
		[MT_EV_MALLOC] = "Malloc", [MT_EV_CALLOC] = "Calloc",
		[MT_EV_REALLOC] = "Realloc", [MT_EV_ALIGNED] = "AlignedAlloc",
		[MT_EV_FREE] = "Free", [MT_EV_MMAP] = "Mmap", [MT_EV_MUNMAP] = "Munmap",
		[MT_EV_BRK] = "Brk",
	};
	struct mt_export_head head = { pid, tid, event->time, event->addr, NULL };
	bool sized = event->type != MT_EV_FREE, old;
	uint8_t *p;

	head.type = event->type < MT_EV_TYPES ? types[event->type] : NULL;
	if (!head.type)
		return 0;
	old = event->type == MT_EV_REALLOC && event->old_addr;
	p = begin(buf, 0);
	if (!p)
		return -ENOMEM;
	p = put_head(p, &head, sized + old + (hash != 0));
	if (sized)
		p = put_number(p, "size", event->size);
	if (old)
		p = put_number(p, "old_addr", event->old_addr);
	if (hash)
		p = put_number(p, "stack_hash", hash);
	return finish(buf, p);
}

int mt_export_put_lifecycle(struct mt_buf *buf, uint32_t pid, uint32_t parent_pid,
			    const struct mt_lifecycle *row)
{
	struct mt_export_head head = { pid, pid, row->time, 0, NULL };
	uint8_t *p;

	if (row->type == MT_LC_FORK)
		head.type = "Fork";
	else if (row->type == MT_LC_EXEC)
		head.type = "Exec";
	else if (row->type == MT_LC_EXIT)
		head.type = "Exit";
	else
		return 0;
	p = begin(buf, 0);
	if (!p)
		return -ENOMEM;
	p = put_head(p, &head, row->type == MT_LC_FORK);
	if (row->type == MT_LC_FORK)
		p = put_number(p, "parent_pid", parent_pid);
	return finish(buf, p);
}

/* Readers take texts for UTF-8: each damaged sequence becomes U+FFFD. */
static uint8_t *put_path(uint8_t *p, const char *path)
{
	size_t n = strlen(path), len, skip, total = 0;
	const char *at;

	for (at = path; at < path + n; at += len ? len : skip) {
		len = mt_utf8_sequence(at, n - (size_t)(at - path), &skip);
		total += len ? len : 3;
	}
	*p++ = 0xdb;	/* str with a length of 4 bytes */
	p = mt_mp_put_be(p, total, 4);
	for (at = path; at < path + n; at += len ? len : skip) {
		len = mt_utf8_sequence(at, n - (size_t)(at - path), &skip);
		memcpy(p, len ? at : "\xef\xbf\xbd", len ? len : 3);
		p += len ? len : 3;
	}
	return p;
}

int mt_export_put_mapping(struct mt_buf *buf, uint32_t pid, const struct mt_mapping *mapping)
{
	struct mt_export_head head = { pid, pid, mapping->time, mapping->start, "Mapping" };
	uint8_t *p = begin(buf, 3 * strlen(mapping->path));

	if (!p)
		return -ENOMEM;
	p = put_head(p, &head, 5);
	p = put_path(put_key(p, "path"), mapping->path);
	p = put_number(p, "dev", (uint64_t)mapping->dev_major << 20 | mapping->dev_minor);
	p = put_number(p, "ino", mapping->ino);
	p = put_number(p, "file_offset", mapping->offset);
	p = put_number(p, "len", mapping->end - mapping->start);
	return finish(buf, p);
}

int mt_export_put_stack(struct mt_buf *buf, uint32_t pid, uint32_t tid,
			const struct mt_stack *stack, uint64_t hash, unsigned int sp_reg)
{
	struct mt_export_head head = { pid, tid, stack->time, 0, "Stack" };
	bool cut = stack->flags & (MT_STACK_CUT_BUDGET | MT_STACK_CUT_FAULT);
	uint32_t i;
	uint8_t *p;

	p = begin(buf, stack->n_bytes + (MT_REGS_MAX + stack->n_fp) * (size_t)MT_MP_MAX);
	if (!p)
		return -ENOMEM;
	p = put_head(p, &head, 6);
	p = put_number(p, "hash", hash);
	p = put_number(p, "sp", sp_reg < stack->n_regs ? stack->regs[sp_reg] : 0);
	p = mt_mp_put_array(put_key(p, "regs"), MT_REGS_MAX);
	for (i = 0; i < MT_REGS_MAX; i++)
		p = mt_mp_put_uint(p, i < stack->n_regs ? stack->regs[i] : 0);
	p = mt_mp_put_bin(put_key(p, "bytes"), stack->bytes, stack->n_bytes);
	p = mt_mp_put_array(put_key(p, "fp_chain"), stack->n_fp);
	for (i = 0; i < stack->n_fp; i++)
		p = mt_mp_put_uint(p, stack->fp[i]);
	p = mt_mp_put_bool(put_key(p, "truncated"), cut);
	return finish(buf, p);
}
