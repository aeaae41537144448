#include "report/render_dump.h"

#include "report/json.h"
#include "report/mark_facts.h"
#include "report/render_json.h"
#include "report/render_text.h"
#include "report/session.h"
#include "report/stat_report.h"

#include <inttypes.h>
#include <sys/wait.h>

#define TYPE_WIDTH 12
#define ADDRESS_WIDTH 17	/* without 0x */

struct ids {
	bool known;
	uint32_t pid, tid;
};

static struct ids ids_of_thread(const struct mt_session *session, uint32_t index)
{
	const struct mt_thread *thread;
	struct ids ids = { false, 0, 0 };

	if (index >= mt_session_threads(session))
		return ids;
	thread = mt_session_thread(session, index);
	if (thread->process == MT_NONE)
		return ids;
	ids.known = true;
	ids.tid = thread->tid;
	ids.pid = mt_session_process(session, thread->process)->pid;
	return ids;
}

static bool has_thread(uint32_t type)
{
	return type == MT_LC_THREAD || type == MT_LC_THREAD_EXIT || type == MT_LC_NAME;
}

static void put_prefix(uint64_t start, uint64_t time, const struct ids *ids, const char *type,
		       FILE *out)
{
	bool before = time < start;
	uint64_t ns = before ? start - time : time - start;
	char stamp[32];

	snprintf(stamp, sizeof(stamp), "%s%" PRIu64 ".%09" PRIu64, before ? "-" : "",
		 ns / 1000000000, ns % 1000000000);
	if (ids->known)
		fprintf(out, "%18s %8" PRIu32 " %8" PRIu32 "  %s", stamp, ids->pid, ids->tid,
			type);
	else
		fprintf(out, "%18s %8s %8s  %s", stamp, "?", "?", type);
}

void mt_dump_put_titles(FILE *out)
{
	fprintf(out, "%18s %8s %8s  %-12s%-19s%14s %8s\n", "TIME", "PID", "TID", "TYPE", "ADDRESS",
		"SIZE", "STACK");
}

#define MAP_ANONYMOUS_BIT 0x20

static bool is_anonymous(const struct mt_event *event)
{
	return event->flags & MAP_ANONYMOUS_BIT;
}

static void put_region(const struct mt_event *event, FILE *out)
{
	if (event->type == MT_EV_MMAP)
		fprintf(out, "  %c%c%c, %s, flags 0x%" PRIx32, event->prot & 1 ? 'r' : '-',
			event->prot & 2 ? 'w' : '-', event->prot & 4 ? 'x' : '-',
			is_anonymous(event) ? "anonymous" : "file", event->flags);
	else if (event->type == MT_EV_MREMAP)
		fprintf(out, "  from 0x%" PRIx64 " of %" PRIu64 ", began %" PRIu64 " ns before",
			event->old_addr, event->old_size, event->time - event->begin);
	else if (event->type == MT_EV_BRK)
		fprintf(out, "  was %" PRIu64, event->old_size);
}

static void put_region_json(struct mt_json *json, const struct mt_event *event)
{
	if (event->type == MT_EV_MMAP) {
		mt_json_member_u64(json, "prot", event->prot);
		mt_json_member_u64(json, "flags", event->flags);
		mt_json_member_bool(json, "anonymous", is_anonymous(event));
	}
	if (event->type == MT_EV_MREMAP) {
		mt_json_member_u64(json, "old_addr", event->old_addr);
		mt_json_member_u64(json, "begin", event->begin);
	}
	if (event->type == MT_EV_MREMAP || event->type == MT_EV_BRK)
		mt_json_member_u64(json, "old_size", event->old_size);
}

void mt_dump_put_event(const struct mt_session *session, uint64_t start,
		       const struct mt_event *event, FILE *out)
{
	struct ids ids = ids_of_thread(session, event->thread);

	const char *name = mt_event_name(event->type);
	int wide = TYPE_WIDTH - (int)strlen(name);

	put_prefix(start, event->time, &ids, name, out);
	fprintf(out, "%*s0x%" PRIx64, wide, "", event->addr);
	if (mt_event_allocates(event->type) || mt_event_maps(event->type)) {
		wide = snprintf(NULL, 0, "%" PRIx64, event->addr);
		fprintf(out, "%*s%14" PRIu64, ADDRESS_WIDTH - wide, "", event->size);
		if (event->stack)
			fprintf(out, " %8" PRIu32, event->stack);
		else
			fprintf(out, " %8s", "-");
	}
	if (event->type == MT_EV_REALLOC && event->old_addr)
		fprintf(out, "  from 0x%" PRIx64 ", began %" PRIu64 " ns before", event->old_addr,
			event->time - event->begin);
	if (event->type == MT_EV_ALIGNED)
		fprintf(out, "  aligned to %" PRIu64, event->align);
	if (mt_event_maps(event->type))
		put_region(event, out);
	putc('\n', out);
}

static void put_exit(int32_t status, FILE *out)
{
	if (WIFEXITED(status))
		fprintf(out, "  status %d", WEXITSTATUS(status));
	else
		fprintf(out, "  signal %d", WTERMSIG(status));
}

void mt_dump_put_lifecycle(const struct mt_session *session, uint64_t start,
			   const struct mt_lifecycle *row, FILE *out)
{
	struct ids ids = { true, 0, 0 };

	if (has_thread(row->type))
		ids = ids_of_thread(session, row->thread);
	else
		ids.pid = ids.tid = mt_session_process(session, row->process)->pid;
	put_prefix(start, row->time, &ids, mt_lifecycle_name(row->type), out);
	if (row->type == MT_LC_FORK && row->parent != MT_NONE)
		fprintf(out, "  of %" PRIu32 "%s", mt_session_process(session, row->parent)->pid,
			row->shares_memory ? ", shares memory" : "");
	if (row->type == MT_LC_EXIT)
		put_exit(row->status, out);
	if (*row->name) {
		fputs("  ", out);
		mt_text_put_clean(row->name, out);
	}
	if (*row->path) {
		fputs("  ", out);
		mt_text_put_clean(row->path, out);
	}
	putc('\n', out);
}

static const char *mark_type(const struct mt_moment *moment)
{
	return moment->type == MT_MARK_NAME ? "mark" :
	       moment->type == MT_MARK_ENABLE ? "enable" : "disable";
}

void mt_dump_put_mark(uint64_t start, const struct mt_moment *moment, FILE *out)
{
	struct ids ids = { false, 0, 0 };

	put_prefix(start, moment->time, &ids, mark_type(moment), out);
	if (moment->type == MT_MARK_NAME) {
		fputs("  ", out);
		mt_text_put_mark(moment, out);
	}
	putc('\n', out);
}

void mt_dump_put_mark_json(const struct mt_moment *moment, FILE *out)
{
	struct mt_json json;

	mt_json_init(&json, out, false);
	mt_json_object_begin(&json);
	mt_json_member_string(&json, "type", mark_type(moment));
	mt_json_member_u64(&json, "time", moment->time);
	if (moment->type == MT_MARK_NAME) {
		mt_json_member_string(&json, "name", moment->name);
		mt_json_member_u64(&json, "nth", moment->nth);
	}
	mt_json_object_end(&json);
	mt_json_finish(&json);
}

static void put_ids_json(struct mt_json *json, const struct ids *ids)
{
	mt_json_key(json, "pid");
	if (ids->known)
		mt_json_u64(json, ids->pid);
	else
		mt_json_null(json);
	mt_json_key(json, "tid");
	if (ids->known)
		mt_json_u64(json, ids->tid);
	else
		mt_json_null(json);
}

void mt_dump_put_event_json(const struct mt_session *session, const struct mt_event *event,
			    FILE *out)
{
	struct ids ids = ids_of_thread(session, event->thread);
	struct mt_json json;

	mt_json_init(&json, out, false);
	mt_json_object_begin(&json);
	mt_json_member_string(&json, "type", mt_event_name(event->type));
	mt_json_member_u64(&json, "time", event->time);
	put_ids_json(&json, &ids);
	mt_json_member_u64(&json, "addr", event->addr);
	if (mt_event_allocates(event->type) || mt_event_maps(event->type))
		mt_json_member_u64(&json, "size", event->size);
	if (mt_event_maps(event->type))
		put_region_json(&json, event);
	if (event->type == MT_EV_REALLOC) {
		mt_json_member_u64(&json, "old_addr", event->old_addr);
		mt_json_member_u64(&json, "begin", event->begin);
	}
	if (event->type == MT_EV_ALIGNED)
		mt_json_member_u64(&json, "align", event->align);
	if (event->stack)
		mt_json_member_u64(&json, "stack", event->stack);
	mt_json_object_end(&json);
	mt_json_finish(&json);
}

void mt_dump_put_lifecycle_json(const struct mt_session *session, const struct mt_lifecycle *row,
				FILE *out)
{
	struct ids ids;
	struct mt_json json;

	mt_json_init(&json, out, false);
	mt_json_object_begin(&json);
	mt_json_member_string(&json, "type", mt_lifecycle_name(row->type));
	mt_json_member_u64(&json, "time", row->time);
	if (has_thread(row->type)) {
		ids = ids_of_thread(session, row->thread);
		put_ids_json(&json, &ids);
	} else {
		mt_json_member_u64(&json, "pid", mt_session_process(session, row->process)->pid);
	}
	if (row->type == MT_LC_FORK && row->parent != MT_NONE) {
		mt_json_member_u64(&json, "parent_pid",
				   mt_session_process(session, row->parent)->pid);
		mt_json_member_bool(&json, "shares_memory", row->shares_memory);
	}
	if (row->type == MT_LC_EXIT) {
		mt_json_member_i64(&json, "status", row->status);
		mt_json_member_exit(&json, true, row->status);
	}
	if (*row->name)
		mt_json_member_string(&json, "name", row->name);
	if (*row->path)
		mt_json_member_string(&json, "path", row->path);
	mt_json_object_end(&json);
	mt_json_finish(&json);
}
