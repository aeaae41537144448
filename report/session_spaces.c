/*
 * The second half of building a session: what is mapped where, in which address space, when.
 *
 * Lifecycle and mapping rows are replayed in time order over persistent trees: every
 * change of a space yields a new root, and the log of (space, time, root) is what
 * mt_session_find() searches.
 */
#include "report/session_rows.h"

#include "common/error.h"
#include "report/intern.h"

#include <errno.h>

#define VERSIONS_MAX (1u << 25)

struct step {
	uint64_t time;
	uint32_t order;		/* at equal times: births, mappings, execs, exits */
	uint32_t row;
	bool mapping;
};

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int add_version(struct mt_space_build *b, uint32_t space, uint64_t time)
{
	struct mt_session *session = b->session;
	struct mt_space_version *last;
	int err;

	/* What happened in one moment is one version. */
	if (session->n_versions) {
		last = &session->versions[session->n_versions - 1];
		if (last->space == space && last->time == time) {
			last->root = session->spaces[space].root;
			return 0;
		}
	}
	err = mt_session_grow(&session->versions, session->n_versions, &b->versions_cap,
			      sizeof(*session->versions), VERSIONS_MAX);
	if (err)
		return err;
	session->versions[session->n_versions++] = (struct mt_space_version){
		.time = time, .space = space, .root = session->spaces[space].root,
	};
	session->spaces[space].n_versions++;
	return 0;
}

static int open_space(struct mt_space_build *b, uint32_t process, uint64_t time, uint32_t parent,
		      uint32_t *ret_space)
{
	struct mt_session *session = b->session;
	uint32_t index = session->n_spaces, root = MT_ADDR_TREE_EMPTY;
	int err;

	err = mt_session_grow(&session->spaces, index, &b->spaces_cap, sizeof(*session->spaces),
			      MT_SESSION_ROWS_MAX);
	if (err)
		return err;
	if (parent != MT_NONE)
		root = session->spaces[parent].root;
	session->spaces[index] = (struct mt_space){
		.owner = process, .parent = parent, .root = root, .fork_root = root,
		.from = time, .until = UINT64_MAX,
	};
	session->n_spaces++;
	*ret_space = index;
	return add_version(b, index, time);
}

static void leave_space(struct mt_space_build *b, uint32_t process, uint64_t time)
{
	uint32_t space = b->space_of[process];

	if (space == MT_NONE || b->gone[process])
		return;
	/* The last one out: what is mapped there is gone. */
	if (!--b->session->spaces[space].refs)
		b->session->spaces[space].until = time;
}

static int enter_space(struct mt_space_build *b, uint32_t process, uint32_t space, uint64_t time)
{
	struct mt_session *session = b->session;
	int err = mt_session_grow(&session->epochs, session->n_epochs, &b->epochs_cap,
				  sizeof(*session->epochs), 4 * MT_SESSION_ROWS_MAX);

	if (err)
		return err;
	session->epochs[session->n_epochs++] = (struct mt_epoch){
		.from = time, .process = process, .space = space,
	};
	session->spaces[space].refs++;
	b->space_of[process] = space;
	return 0;
}

/* A fresh, empty space: at the start, and at each exec. */
static int fresh_space(struct mt_space_build *b, uint32_t process, uint64_t time)
{
	uint32_t space;
	int err;

	leave_space(b, process, time);
	b->gone[process] = false;
	err = open_space(b, process, time, MT_NONE, &space);
	return err ? err : enter_space(b, process, space, time);
}

static int take_fork(struct mt_space_build *b, const struct mt_lifecycle *row)
{
	uint32_t space;
	int err = 0;

	if (b->space_of[row->parent] == MT_NONE)
		err = fresh_space(b, row->parent, row->time);
	if (err)
		return err;
	space = b->space_of[row->parent];
	if (!row->shares_memory)
		err = open_space(b, row->process, row->time, space, &space);
	if (err)
		return err;
	leave_space(b, row->process, row->time);
	return enter_space(b, row->process, space, row->time);
}

static int take_lifecycle(struct mt_space_build *b, const struct mt_lifecycle *row)
{
	switch (row->type) {
	case MT_LC_START:
		/* Mapping rows of before the start already made its space. */
		return b->space_of[row->process] == MT_NONE ?
		       fresh_space(b, row->process, row->time) : 0;
	case MT_LC_FORK:
		if (row->parent == MT_NONE)
			return b->space_of[row->process] == MT_NONE ?
			       fresh_space(b, row->process, row->time) : 0;
		return take_fork(b, row);
	case MT_LC_EXEC:
		/* The clearing came before, as a mapping row; without it this is it. */
		if (b->cleared[row->process]) {
			b->cleared[row->process] = false;
			return 0;
		}
		return fresh_space(b, row->process, row->time);
	case MT_LC_EXIT:
		leave_space(b, row->process, row->time);
		b->gone[row->process] = true;
		return 0;
	}
	return 0;
}

static int take_mapping(struct mt_space_build *b, const struct mt_mapping *row)
{
	struct mt_session *session = b->session;
	uint32_t space;
	int err = 0;

	if (row->process >= session->n_processes ||
	    session->processes[row->process].start == UINT64_MAX ||
	    (row->type != MT_MAP_EXEC_CLEAR && row->start >= row->end)) {
		session->bad_rows++;
		return 0;
	}
	if (row->type == MT_MAP_EXEC_CLEAR) {
		b->cleared[row->process] = true;
		return fresh_space(b, row->process, row->time);
	}

	if (b->space_of[row->process] == MT_NONE)
		err = fresh_space(b, row->process, row->time);
	if (err)
		return err;
	space = b->space_of[row->process];
	if (row->type == MT_MAP_MAP)
		err = mt_space_map(b, row, space);
	else if (row->type == MT_MAP_UNMAP)
		err = mt_space_clear(b, space, row->start, row->end, row->time);
	else
		session->bad_rows++;
	return err ? err : add_version(b, space, row->time);
}

static uint32_t lifecycle_order(uint32_t type)
{
	switch (type) {
	case MT_LC_START:
	case MT_LC_FORK:
		return 0;
	case MT_LC_EXEC:
		return 2;
	default:
		return 3;
	}
}

static int replay(struct mt_space_build *b, size_t n_mappings)
{
	struct mt_session *session = b->session;
	size_t n = 0, i;
	struct step *steps = calloc(session->n_lifecycle + n_mappings + 1, sizeof(*steps));
	int err = 0;

	if (!steps)
		return -ENOMEM;
	for (i = 0; i < session->n_lifecycle; i++)
		steps[n++] = (struct step){
			.time = session->lifecycle[i].time, .row = (uint32_t)i,
			.order = lifecycle_order(session->lifecycle[i].type),
		};
	for (i = 0; i < n_mappings; i++)
		steps[n++] = (struct step){
			.time = b->mappings[i].time, .row = (uint32_t)i, .order = 1,
			.mapping = true,
		};
	qsort(steps, n, sizeof(*steps), by_time);
	for (i = 0; !err && i < n; i++)
		err = steps[i].mapping ? take_mapping(b, &b->mappings[steps[i].row]) :
		      take_lifecycle(b, &session->lifecycle[steps[i].row]);
	free(steps);
	return err;
}

/* The logs, written in time order over all, become one range per process and space. */
static int index_logs(struct mt_session *session)
{
	struct mt_space_version *versions = calloc(session->n_versions + 1, sizeof(*versions));
	struct mt_epoch *epochs = calloc(session->n_epochs + 1, sizeof(*epochs));
	uint32_t *first = calloc(session->n_processes + 2, sizeof(*first));
	uint32_t i, next = 0;

	if (!versions || !epochs || !first) {
		free(versions);
		free(epochs);
		free(first);
		return -ENOMEM;
	}

	for (i = 0; i < session->n_spaces; i++) {
		session->spaces[i].first_version = next;
		next += session->spaces[i].n_versions;
		session->spaces[i].n_versions = 0;
	}
	for (i = 0; i < session->n_versions; i++) {
		struct mt_space *s = &session->spaces[session->versions[i].space];

		versions[s->first_version + s->n_versions++] = session->versions[i];
	}

	for (i = 0; i < session->n_epochs; i++)
		first[session->epochs[i].process + 2]++;
	for (i = 2; i < session->n_processes + 2; i++)
		first[i] += first[i - 1];
	for (i = 0; i < session->n_epochs; i++)
		epochs[first[session->epochs[i].process + 1]++] = session->epochs[i];

	free(session->versions);
	free(session->epochs);
	session->versions = versions;
	session->epochs = epochs;
	session->first_epoch = first;
	return 0;
}

int mt_session_build_spaces(struct mt_session *session, const struct mt_mapping *mappings,
			    size_t n)
{
	struct mt_space_build b = { .session = session, .mappings = mappings };
	uint32_t i;
	int err = -ENOMEM;

	b.space_of = calloc(session->n_processes + 1, sizeof(*b.space_of));
	b.cleared = calloc(session->n_processes + 1, sizeof(*b.cleared));
	b.gone = calloc(session->n_processes + 1, sizeof(*b.gone));
	if (!b.space_of || !b.cleared || !b.gone)
		goto out;
	for (i = 0; i < session->n_processes; i++)
		b.space_of[i] = MT_NONE;

	err = replay(&b, n);
	if (err)
		goto out;
	err = index_logs(session);
	if (!err)
		err = mt_space_list_views(&b);
out:
	free(b.space_of);
	free(b.cleared);
	free(b.gone);
	free(b.hidden);
	free(b.file_slots);
	return err;
}
