/*
 * report/export_event.h - one record of the memtrack event stream; see mt-report(1).
 *
 * A record is a MessagePack map with string keys: pid, tid, timestamp, addr, type, and what the
 * type needs.
 */
#ifndef MT_EXPORT_EVENT_H
#define MT_EXPORT_EVENT_H

#include "common/event.h"

struct mt_buf;

struct mt_export_head {
	uint32_t pid;
	uint32_t tid;
	uint64_t timestamp;
	uint64_t addr;
	const char *type;
};

/* Each appends a record: 0 or -ENOMEM. */

/* An event of memory; hash of its stack, 0: none. Types that the stream lacks append nothing. */
int mt_export_put_event(struct mt_buf *buf, uint32_t pid, uint32_t tid,
			const struct mt_event *event, uint64_t hash);
/* A fork (pid and tid the child's), exec or exit; other rows append nothing. */
int mt_export_put_lifecycle(struct mt_buf *buf, uint32_t pid, uint32_t parent_pid,
			    const struct mt_lifecycle *row);
int mt_export_put_mapping(struct mt_buf *buf, uint32_t pid, const struct mt_mapping *mapping);
/* sp_reg: the number of the stack pointer. */
int mt_export_put_stack(struct mt_buf *buf, uint32_t pid, uint32_t tid,
			const struct mt_stack *stack, uint64_t hash, unsigned int sp_reg);

#endif
