/*
 * report/render_dump.h - one event or lifecycle row a line, as text or as JSON.
 */
#ifndef MT_RENDER_DUMP_H
#define MT_RENDER_DUMP_H

#include "common/event.h"

#include <stdio.h>

struct mt_moment;
struct mt_session;

/* Column titles of the text. start: times are shown since then. */
void mt_dump_put_titles(FILE *out);
void mt_dump_put_event(const struct mt_session *session, uint64_t start,
		       const struct mt_event *event, FILE *out);
void mt_dump_put_lifecycle(const struct mt_session *session, uint64_t start,
			   const struct mt_lifecycle *row, FILE *out);
void mt_dump_put_mark(uint64_t start, const struct mt_moment *moment, FILE *out);

/*
 * One object a line: type, time, pid, tid (null if unknown), then what the type has: addr, size,
 * old_addr and begin (realloc), align (aligned), stack if not 0; for lifecycle rows
 * parent_pid, shares_memory, name, path, status.
 */
void mt_dump_put_event_json(const struct mt_session *session, const struct mt_event *event,
			    FILE *out);
void mt_dump_put_lifecycle_json(const struct mt_session *session, const struct mt_lifecycle *row,
				FILE *out);
void mt_dump_put_mark_json(const struct mt_moment *moment, FILE *out);

#endif
