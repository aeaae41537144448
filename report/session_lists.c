/* The placements that a process sees though it did not make them: inherited, or shared. */
#include "report/session_rows.h"

#include <errno.h>

static int by_space(const void *a, const void *b)
{
	const struct mt_hidden *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	return x->placement < y->placement ? -1 : x->placement > y->placement;
}

/* What was still mapped when its space went, went with it. */
static void end_placements(struct mt_session *session)
{
	uint32_t i;

	for (i = 0; i < session->n_placements; i++)
		if (session->placements[i].until == UINT64_MAX)
			session->placements[i].until =
				session->spaces[session->placement_spaces[i]].until;
}

/* When a placement went from this space. */
static uint64_t gone_at(const struct mt_space_build *b, uint32_t space, uint32_t placement)
{
	const struct mt_session *session = b->session;
	struct mt_hidden want = { .space = space, .placement = placement }, *gone = NULL;

	if (session->placement_spaces[placement] == space)
		return session->placements[placement].until;
	if (b->n_hidden)
		gone = bsearch(&want, b->hidden, b->n_hidden, sizeof(want), by_space);
	return gone ? gone->time : session->spaces[space].until;
}

/* A time in which a process sees a space. */
struct view {
	uint32_t process;
	uint32_t space;
	uint64_t from, until;
	uint32_t *left;		/* how many more may be listed */
};

/* List a placement again for the view's process, as long as it is in view. */
static int list_again(struct mt_space_build *b, const struct view *view, uint32_t index)
{
	struct mt_placement copy = b->session->placements[index];
	uint64_t gone = gone_at(b, view->space, index);

	copy.process = view->process;
	copy.from = copy.from > view->from ? copy.from : view->from;
	copy.until = gone < view->until ? gone : view->until;
	return mt_space_list(b, view->space, &copy);
}

/* What is there when the view begins. */
static int list_root(struct mt_space_build *b, const struct view *view, uint32_t root)
{
	const struct mt_session *session = b->session;
	uint64_t key = 0;
	uint32_t index;
	bool more = mt_addr_tree_floor(&session->trees, root, 0, &key, &index) ||
		    mt_addr_tree_above(&session->trees, root, 0, &key, &index);
	int err;

	for (; more && *view->left; --*view->left) {
		err = list_again(b, view, index);
		if (err)
			return err;
		more = mt_addr_tree_above(&session->trees, root, key, &key, &index);
	}
	return 0;
}

/* What comes later: of the first n placements, which are in order of time. */
static int list_later(struct mt_space_build *b, const struct view *view, uint32_t n)
{
	const struct mt_session *session = b->session;
	uint32_t lo = 0, hi = n, mid;
	int err;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (session->placements[mid].from <= view->from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && session->placements[lo].from < view->until && *view->left; lo++) {
		/* Others' count too, so that many views of a busy time have an end. */
		--*view->left;
		if (session->placement_spaces[lo] != view->space)
			continue;
		err = list_again(b, view, lo);
		if (err)
			return err;
	}
	return 0;
}

/* The epochs in which a process lives in another one's space. */
static int list_shared(struct mt_space_build *b, uint32_t process, uint32_t n, uint32_t *left)
{
	const struct mt_session *session = b->session;
	uint32_t i, end = session->first_epoch[process + 1], root;
	const struct mt_epoch *epoch;
	int err;

	for (i = session->first_epoch[process]; i < end; i++) {
		epoch = &session->epochs[i];
		struct view view = {
			.process = process, .space = epoch->space, .from = epoch->from,
			.until = i + 1 < end ? epoch[1].from : session->processes[process].end,
			.left = left,
		};

		if (session->spaces[epoch->space].owner == process ||
		    !mt_space_root_at(session, epoch->space, epoch->from, &root))
			continue;
		err = list_root(b, &view, root);
		if (!err)
			err = list_later(b, &view, n);
		if (err)
			return err;
	}
	return 0;
}

int mt_space_list_views(struct mt_space_build *b)
{
	struct mt_session *session = b->session;
	uint32_t n = session->n_placements, left = MT_SESSION_INHERITED_MAX, i;
	const struct mt_space *s;
	int err = 0;

	end_placements(session);
	if (b->n_hidden)
		qsort(b->hidden, b->n_hidden, sizeof(*b->hidden), by_space);
	for (i = 0; i < session->n_spaces && !err; i++) {
		s = &session->spaces[i];
		struct view view = { s->owner, i, s->from, s->until, &left };

		err = list_root(b, &view, s->fork_root);
	}
	for (i = 0; i < session->n_processes && !err; i++)
		err = list_shared(b, i, n, &left);
	return err;
}
