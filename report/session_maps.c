/* Changes of one address space while a session is built. */
#include "report/session_rows.h"

#include "common/error.h"
#include "report/intern.h"

#include <errno.h>

#define NAMES_MAX 256	/* of one inode that notes are taken for */

static uint64_t file_hash(const struct mt_file *file)
{
	uint64_t hash = mt_hash_bytes(MT_HASH_SEED, file->path, strlen(file->path));

	hash = mt_hash_bytes(hash, &file->ino, sizeof(file->ino));
	hash = mt_hash_bytes(hash, &file->dev_major, sizeof(file->dev_major));
	hash = mt_hash_bytes(hash, &file->dev_minor, sizeof(file->dev_minor));
	hash = mt_hash_bytes(hash, &file->since, sizeof(file->since));
	return mt_hash_bytes(hash, &file->generation, sizeof(file->generation));
}

/* Paths are interned: equal texts have equal pointers. */
static bool same_file(const struct mt_file *a, const struct mt_file *b)
{
	return a->path == b->path && a->ino == b->ino && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->generation == b->generation &&
	       a->since == b->since;
}

static uint32_t *file_slot(struct mt_space_build *b, const struct mt_file *file)
{
	size_t i = file_hash(file) & (b->slots_cap - 1);

	while (b->file_slots[i] && !same_file(&b->session->files[b->file_slots[i] - 1], file))
		i = (i + 1) & (b->slots_cap - 1);
	return &b->file_slots[i];
}

static int grow_slots(struct mt_space_build *b)
{
	uint32_t i;

	free(b->file_slots);
	b->slots_cap = b->slots_cap ? b->slots_cap * 2 : 64;
	b->file_slots = calloc(b->slots_cap, sizeof(*b->file_slots));
	if (!b->file_slots)
		return -ENOMEM;
	for (i = 0; i < b->session->n_files; i++)
		*file_slot(b, &b->session->files[i]) = i + 1;
	return 0;
}

static int find_file(struct mt_space_build *b, const struct mt_mapping *row, uint32_t *ret_file)
{
	struct mt_session *session = b->session;
	struct mt_file file = {
		.path = mt_intern_text(session->strings, row->path),
		.dev_major = row->dev_major, .dev_minor = row->dev_minor,
		.ino = row->ino, .generation = row->generation, .since = row->since,
		.mapped = row->time,
	};
	uint32_t *slot;
	int err;

	if (!file.path)
		return -ENOMEM;
	if (session->n_files >= b->slots_cap / 2) {
		err = grow_slots(b);
		if (err)
			return err;
	}
	slot = file_slot(b, &file);
	if (!*slot) {
		err = mt_session_grow(&session->files, session->n_files, &b->files_cap,
				      sizeof(*session->files), MT_SESSION_ROWS_MAX);
		if (err)
			return err;
		session->files[session->n_files++] = file;
		*slot = session->n_files;
	}
	/* Rows are in order of time within one process only. */
	if (row->time < session->files[*slot - 1].mapped)
		session->files[*slot - 1].mapped = row->time;
	*ret_file = *slot - 1;
	return 0;
}

int mt_space_list(struct mt_space_build *b, uint32_t space, const struct mt_placement *placement)
{
	struct mt_session *session = b->session;
	uint32_t cap = b->placements_cap, index = session->n_placements;
	int err;

	err = mt_session_grow(&session->placement_spaces, index, &cap,
			      sizeof(*session->placement_spaces), MT_SESSION_PLACEMENTS_MAX);
	if (!err)
		err = mt_session_grow(&session->placements, index, &b->placements_cap,
				      sizeof(*session->placements), MT_SESSION_PLACEMENTS_MAX);
	if (err)
		return err;
	session->placements[index] = *placement;
	session->placement_spaces[index] = space;
	session->n_placements++;
	return 0;
}

static int map_placement(struct mt_space_build *b, uint32_t space,
			 const struct mt_placement *placement)
{
	struct mt_session *session = b->session;
	int err = mt_space_list(b, space, placement);

	if (err)
		return err;
	return mt_addr_tree_set(&session->trees, session->spaces[space].root, placement->start,
				session->n_placements - 1, &session->spaces[space].root);
}

static int end_placement(struct mt_space_build *b, uint32_t space, uint32_t index, uint64_t time)
{
	struct mt_session *session = b->session;
	int err;

	if (session->placement_spaces[index] == space) {
		session->placements[index].until = time;
		return 0;
	}
	err = mt_session_grow(&b->hidden, b->n_hidden, &b->hidden_cap, sizeof(*b->hidden),
			      MT_SESSION_PLACEMENTS_MAX);
	if (err)
		return err;
	b->hidden[b->n_hidden++] = (struct mt_hidden){ space, index, time };
	return 0;
}

/* The part [start, end) of an older placement stays when the rest is replaced. */
static int keep_piece(struct mt_space_build *b, uint32_t space, const struct mt_placement *old,
		      uint64_t start, uint64_t end, uint64_t time)
{
	struct mt_placement piece = *old;

	if (start >= end)
		return 0;
	piece.process = b->session->spaces[space].owner;
	piece.offset += start - old->start;
	piece.start = start;
	piece.end = end;
	piece.from = time;
	piece.until = UINT64_MAX;
	return map_placement(b, space, &piece);
}

/* The placement of a space with the lowest address that reaches into [start, end). */
static bool first_overlap(const struct mt_space_build *b, uint32_t space, uint64_t start,
			  uint64_t end, uint64_t *ret_key, uint32_t *ret_index)
{
	const struct mt_session *session = b->session;
	uint32_t root = session->spaces[space].root;

	if (mt_addr_tree_floor(&session->trees, root, start, ret_key, ret_index) &&
	    session->placements[*ret_index].end > start)
		return true;
	return mt_addr_tree_above(&session->trees, root, start, ret_key, ret_index) &&
	       *ret_key < end;
}

int mt_space_clear(struct mt_space_build *b, uint32_t space, uint64_t start, uint64_t end,
		       uint64_t time)
{
	struct mt_session *session = b->session;
	struct mt_placement old;
	uint64_t key;
	uint32_t index;
	int err;

	while (first_overlap(b, space, start, end, &key, &index)) {
		old = session->placements[index];
		err = mt_addr_tree_remove(&session->trees, session->spaces[space].root, key,
					  &session->spaces[space].root);
		if (!err)
			err = end_placement(b, space, index, time);
		if (!err)
			err = keep_piece(b, space, &old, old.start, start, time);
		if (!err)
			err = keep_piece(b, space, &old, end, old.end, time);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Memory that belongs to nothing, in the middle of a file's code? It is that code, copied: nobody
 * else has a use for the place, and what was unmapped first is not there any more.
 */
static bool is_copy(const struct mt_session *session, const struct mt_mapping *row,
		    const struct mt_placement *old)
{
	return !row->ino && !row->dev_major && !row->dev_minor && !strcmp(row->path, "//anon") &&
	       row->start >= old->start && row->end <= old->end &&
	       session->files[old->file].ino;
}

int mt_space_map(struct mt_space_build *b, const struct mt_mapping *row, uint32_t space)
{
	struct mt_session *session = b->session;
	struct mt_placement placement = {
		.process = session->spaces[space].owner, .start = row->start, .end = row->end,
		.offset = row->offset, .from = row->time, .until = UINT64_MAX,
	}, *old;
	uint64_t key;
	uint32_t index;
	int err = find_file(b, row, &placement.file);

	if (err)
		return err;
	/* Told twice: by the kernel's event and by a listing of what is mapped. */
	if (mt_addr_tree_floor(&session->trees, session->spaces[space].root, row->start, &key,
			       &index)) {
		old = &session->placements[index];
		if (old->start == row->start && old->end == row->end &&
		    old->file == placement.file && old->offset == row->offset)
			return 0;
		if (is_copy(session, row, old)) {
			session->files[old->file].copied = true;
			return 0;
		}
	}
	err = mt_space_clear(b, space, row->start, row->end, row->time);
	return err ? err : map_placement(b, space, &placement);
}

/* The session's files by inode, to be searched. */
static int by_inode(const void *a, const void *b)
{
	const struct mt_file *x = *(struct mt_file *const *)a, *y = *(struct mt_file *const *)b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->dev_major != y->dev_major)
		return x->dev_major < y->dev_major ? -1 : 1;
	return x->dev_minor < y->dev_minor ? -1 : x->dev_minor > y->dev_minor;
}

static bool note_fits(const struct mt_file_note *note, const struct mt_file *file)
{
	/* Memory that is no file's has no inode, only a name. */
	if (!note->ino)
		return !strcmp(note->path, file->path);
	if (note->since != file->since)
		return false;
	return !note->generation || !file->generation || note->generation == file->generation;
}

static int take_note(struct mt_session *session, struct mt_file *file,
		     const struct mt_file_note *note)
{
	/* In a chroot or another mount namespace it has another. */
	if (note->ino && *note->path && strcmp(note->path, file->path)) {
		file->seen_as = mt_intern_text(session->strings, note->path);
		if (!file->seen_as)
			return -ENOMEM;
	} else {
		file->seen_as = NULL;
	}
	file->noted = true;
	file->size = note->size;
	file->mtime = note->mtime;
	file->n_build_id = note->n_build_id;
	memcpy(file->build_id, note->build_id, note->n_build_id);
	return 0;
}

int mt_session_take_notes(struct mt_session *session, const struct mt_file_note *notes, size_t n)
{
	struct mt_file **files = calloc((size_t)session->n_files + 1, sizeof(*files)), want, *key;
	size_t i, lo, hi, mid, pass, end;
	uint32_t f;
	int err = 0;

	if (!files)
		return -ENOMEM;
	for (f = 0; f < session->n_files; f++)
		files[f] = &session->files[f];
	qsort(files, session->n_files, sizeof(*files), by_inode);
	/* Those of the same path come last and so count. */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; !err && i < n; i++) {
			want = (struct mt_file){
				.ino = notes[i].ino, .dev_major = notes[i].dev_major,
				.dev_minor = notes[i].dev_minor,
			};
			key = &want;
			for (lo = 0, hi = session->n_files; lo < hi;) {
				mid = lo + (hi - lo) / 2;
				if (by_inode(&files[mid], &key) < 0)
					lo = mid + 1;
				else
					hi = mid;
			}
			end = session->n_files - lo > NAMES_MAX ? lo + NAMES_MAX :
								  session->n_files;
			for (; !err && lo < end && !by_inode(&files[lo], &key); lo++)
				if (note_fits(&notes[i], files[lo]) &&
				    (!pass || !strcmp(notes[i].path, files[lo]->path)))
					err = take_note(session, files[lo], &notes[i]);
		}
	}
	free(files);
	return err;
}
