/* The first half of building a session: processes and threads from lifecycle rows. */
#include "report/session_rows.h"

#include "common/error.h"
#include "report/intern.h"

#include <errno.h>

static bool defines_process(const struct mt_lifecycle *row)
{
	return row->type == MT_LC_START || row->type == MT_LC_FORK;
}

static bool names_thread(const struct mt_lifecycle *row)
{
	return row->type == MT_LC_THREAD_EXIT || row->type == MT_LC_NAME;
}

/*
 * How many processes and threads there can be: each takes a row, so an index above the
 * number of rows is not one that a recorder gave.
 */
static int make_tables(struct mt_session *session, const struct mt_lifecycle *rows, size_t n)
{
	uint32_t i;
	size_t row;

	for (row = 0; row < n; row++) {
		if (defines_process(&rows[row]) && rows[row].process < n &&
		    rows[row].process >= session->n_processes)
			session->n_processes = rows[row].process + 1;
		if (rows[row].type == MT_LC_THREAD && rows[row].thread < n &&
		    rows[row].thread >= session->n_threads)
			session->n_threads = rows[row].thread + 1;
	}

	session->processes = calloc(session->n_processes + 1, sizeof(*session->processes));
	session->threads = calloc(session->n_threads + 1, sizeof(*session->threads));
	session->lifecycle = calloc(n + 1, sizeof(*session->lifecycle));
	if (!session->processes || !session->threads || !session->lifecycle)
		return -ENOMEM;

	for (i = 0; i < session->n_processes; i++)
		session->processes[i] = (struct mt_process){
			.parent = MT_NONE, .start = UINT64_MAX, .end = UINT64_MAX,
			.comm = "", .path = "",
		};
	for (i = 0; i < session->n_threads; i++)
		session->threads[i] = (struct mt_thread){ .process = MT_NONE, .name = "" };
	return 0;
}

static bool known_process(const struct mt_session *session, uint32_t index)
{
	return index < session->n_processes && session->processes[index].start != UINT64_MAX;
}

static bool known_thread(const struct mt_session *session, uint32_t index)
{
	return index < session->n_threads && session->threads[index].process != MT_NONE;
}

/* Does the row agree with those before it in the file? Definitions come before uses. */
static bool row_fits(const struct mt_session *session, const struct mt_lifecycle *row)
{
	if (row->type < MT_LC_START || row->type >= MT_LC_TYPES || row->time == UINT64_MAX)
		return false;
	if (defines_process(row))
		return row->process < session->n_processes &&
		       !known_process(session, row->process);
	if (names_thread(row))
		return known_thread(session, row->thread);
	if (!known_process(session, row->process))
		return false;
	return row->type != MT_LC_THREAD ||
	       (row->thread < session->n_threads && !known_thread(session, row->thread));
}

static int take_row(struct mt_session *session, const struct mt_lifecycle *row)
{
	struct mt_lifecycle copy = *row;
	struct mt_process *process;

	/* No step of its life. */
	if (row->type == MT_LC_OWN_PID) {
		session->processes[row->process].own_pid = row->own_pid;
		return 0;
	}
	copy.name = mt_intern_text(session->strings, row->name);
	copy.path = mt_intern_text(session->strings, row->path);
	if (!copy.name || !copy.path)
		return -ENOMEM;

	if (defines_process(row)) {
		if (row->type != MT_LC_FORK || !known_process(session, row->parent)) {
			copy.parent = MT_NONE;
			copy.shares_memory = false;
		}
		process = &session->processes[row->process];
		process->pid = row->pid;
		process->own_pid = row->pid;
		process->parent = copy.parent;
		process->start = row->time;
	} else if (row->type == MT_LC_THREAD) {
		session->threads[row->thread].process = row->process;
		session->threads[row->thread].tid = row->tid;
	}
	session->lifecycle[session->n_lifecycle++] = copy;
	return 0;
}

struct sort_key {
	uint64_t time;
	uint32_t row;
};

static int by_time(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int sort_rows(struct mt_session *session)
{
	uint32_t n = session->n_lifecycle, i;
	struct sort_key *keys = calloc(n + 1, sizeof(*keys));
	struct mt_lifecycle *sorted = calloc(n + 1, sizeof(*sorted));

	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		keys[i] = (struct sort_key){ session->lifecycle[i].time, i };
	qsort(keys, n, sizeof(*keys), by_time);
	for (i = 0; i < n; i++)
		sorted[i] = session->lifecycle[keys[i].row];
	free(keys);
	free(session->lifecycle);
	session->lifecycle = sorted;
	return 0;
}

static void set_name(struct mt_session *session, uint32_t thread, const char *name)
{
	struct mt_thread *t = &session->threads[thread];

	t->name = name;
	if (session->processes[t->process].pid == t->tid)
		session->processes[t->process].comm = name;
}

/* What processes and threads were at the end: last name, last file, exit. */
static void replay_names(struct mt_session *session)
{
	const struct mt_lifecycle *row;
	struct mt_process *process;
	uint32_t i;

	for (i = 0; i < session->n_lifecycle; i++) {
		row = &session->lifecycle[i];
		switch (row->type) {
		case MT_LC_THREAD:
			if (*row->name)
				set_name(session, row->thread, row->name);
			break;
		case MT_LC_NAME:
			set_name(session, row->thread, row->name);
			break;
		case MT_LC_START:
		case MT_LC_FORK:
		case MT_LC_EXEC:
			process = &session->processes[row->process];
			if (*row->name)
				process->comm = row->name;
			if (*row->path)
				process->path = row->path;
			break;
		case MT_LC_EXIT:
			process = &session->processes[row->process];
			process->exited = true;
			process->status = row->status;
			process->end = row->time;
			break;
		}
	}
}

/* A forked child that never said otherwise runs the parent's program under its name. */
static void inherit_names(struct mt_session *session)
{
	const struct mt_lifecycle *row;
	struct mt_process *child, *parent;
	uint32_t i;

	for (i = 0; i < session->n_lifecycle; i++) {
		row = &session->lifecycle[i];
		if (row->type != MT_LC_FORK || row->parent == MT_NONE)
			continue;
		child = &session->processes[row->process];
		parent = &session->processes[row->parent];
		if (!*child->comm)
			child->comm = parent->comm;
	}
}

/* A process's first thread has the name its last exec gave it. */
static void name_threads(struct mt_session *session)
{
	struct mt_thread *thread;
	uint32_t i;

	for (i = 0; i < session->n_threads; i++) {
		thread = &session->threads[i];
		if (thread->process != MT_NONE &&
		    (thread->tid == session->processes[thread->process].pid || !*thread->name))
			thread->name = session->processes[thread->process].comm;
	}
}

int mt_session_build(const struct mt_lifecycle *lifecycle, size_t n_lifecycle,
		     const struct mt_mapping *mappings, size_t n_mappings,
		     struct mt_session **ret_session)
{
	struct mt_session *session;
	size_t i;
	int err;

	if (n_lifecycle > MT_SESSION_ROWS_MAX || n_mappings > MT_SESSION_ROWS_MAX)
		return -MT_E_LIMIT;
	session = calloc(1, sizeof(*session));
	if (!session)
		return -ENOMEM;

	err = mt_intern_new(&session->strings);
	if (!err)
		err = make_tables(session, lifecycle, n_lifecycle);
	for (i = 0; !err && i < n_lifecycle; i++) {
		if (row_fits(session, &lifecycle[i]))
			err = take_row(session, &lifecycle[i]);
		else
			session->bad_rows++;
	}
	if (!err)
		err = sort_rows(session);
	if (err)
		goto out;

	replay_names(session);
	inherit_names(session);
	name_threads(session);
	err = mt_session_build_spaces(session, mappings, n_mappings);
	if (err)
		goto out;

	*ret_session = session;
	return 0;

out:
	mt_session_free(session);
	return err;
}
