#include "report/session.h"

#include "common/error.h"
#include "report/intern.h"
#include "report/session_rows.h"

#include <errno.h>

int mt_session_grow(void *items, uint32_t n, uint32_t *cap, size_t size, uint32_t limit)
{
	uint32_t more = *cap ? *cap * 2 : 64;
	void *data;

	if (n < *cap)
		return 0;
	if (n >= limit)
		return -MT_E_LIMIT;
	if (more > limit)
		more = limit;
	memcpy(&data, items, sizeof(data));
	data = realloc(data, more * size);
	if (!data)
		return -ENOMEM;
	memcpy(items, &data, sizeof(data));
	*cap = more;
	return 0;
}

void mt_session_free(struct mt_session *session)
{
	if (!session)
		return;
	mt_intern_free(session->strings);
	free(session->processes);
	free(session->threads);
	free(session->lifecycle);
	free(session->files);
	free(session->placements);
	free(session->placement_spaces);
	free(session->epochs);
	free(session->first_epoch);
	free(session->spaces);
	free(session->versions);
	mt_addr_trees_release(&session->trees);
	free(session);
}

uint32_t mt_session_processes(const struct mt_session *session)
{
	return session->n_processes;
}

const struct mt_process *mt_session_process(const struct mt_session *session, uint32_t index)
{
	return &session->processes[index];
}

uint32_t mt_session_threads(const struct mt_session *session)
{
	return session->n_threads;
}

const struct mt_thread *mt_session_thread(const struct mt_session *session, uint32_t index)
{
	return &session->threads[index];
}

uint32_t mt_session_files(const struct mt_session *session)
{
	return session->n_files;
}

const struct mt_file *mt_session_file(const struct mt_session *session, uint32_t index)
{
	return &session->files[index];
}

uint32_t mt_session_placements(const struct mt_session *session)
{
	return session->n_placements;
}

const struct mt_placement *mt_session_placement(const struct mt_session *session, uint32_t index)
{
	return &session->placements[index];
}

uint64_t mt_session_bad_rows(const struct mt_session *session)
{
	return session->bad_rows;
}

uint32_t mt_session_spaces(const struct mt_session *session)
{
	return session->n_spaces;
}

uint32_t mt_session_space(const struct mt_session *session, uint32_t process, uint64_t time)
{
	const struct mt_epoch *epochs;
	uint32_t lo, hi, mid;

	if (process >= session->n_processes)
		return MT_NONE;
	/* The last one that began by then; before the first one, the first. */
	epochs = session->epochs;
	lo = session->first_epoch[process];
	hi = session->first_epoch[process + 1];
	if (lo == hi)
		return MT_NONE;
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (epochs[mid].from <= time)
			lo = mid;
		else
			hi = mid;
	}
	return epochs[lo].space;
}

uint32_t mt_session_space_parent(const struct mt_session *session, uint32_t space)
{
	return session->spaces[space].parent;
}

bool mt_space_root_at(const struct mt_session *session, uint32_t space, uint64_t time,
		      uint32_t *ret_root)
{
	const struct mt_space_version *versions;
	uint32_t lo = 0, hi = session->spaces[space].n_versions, mid;

	versions = session->versions + session->spaces[space].first_version;
	if (!hi || versions[0].time > time)
		return false;
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (versions[mid].time <= time)
			lo = mid;
		else
			hi = mid;
	}
	*ret_root = versions[lo].root;
	return true;
}

uint32_t mt_session_find(const struct mt_session *session, uint32_t process, uint64_t time,
			 uint64_t addr)
{
	uint32_t space = mt_session_space(session, process, time), root, found;
	uint64_t start;

	if (space == MT_NONE || !mt_space_root_at(session, space, time, &root))
		return MT_NONE;
	if (!mt_addr_tree_floor(&session->trees, root, addr, &start, &found) ||
	    addr >= session->placements[found].end)
		return MT_NONE;
	return found;
}

uint32_t mt_session_lifecycle_rows(const struct mt_session *session)
{
	return session->n_lifecycle;
}

const struct mt_lifecycle *mt_session_lifecycle(const struct mt_session *session, uint32_t row)
{
	return &session->lifecycle[row];
}
