/* A session's rows from the lifecycle and mapping blocks of an artifact. */
#include "report/session_rows.h"

#include "common/arena.h"
#include "report/intern.h"
#include "report/number_order.h"
#include "report/reader.h"

#include <errno.h>

/* Rows of many blocks, their strings interned: blocks are borrowed. */
struct rows {
	struct mt_lifecycle *lifecycle;
	struct mt_mapping *mappings;
	struct mt_file_note *notes;
	uint32_t n_lifecycle, lifecycle_cap, n_mappings, mappings_cap, n_notes, notes_cap;
	bool rewritten;		/* some notes are of files that became others */
	struct mt_arena *build_ids;
	struct mt_intern *strings;
};

static int add_lifecycle(struct rows *rows, const struct mt_lifecycle *row)
{
	struct mt_lifecycle copy = *row;
	int err = mt_session_grow(&rows->lifecycle, rows->n_lifecycle, &rows->lifecycle_cap,
				  sizeof(*rows->lifecycle), MT_SESSION_ROWS_MAX);

	if (err)
		return err;
	copy.name = mt_intern_text(rows->strings, row->name);
	copy.path = mt_intern_text(rows->strings, row->path);
	if (!copy.name || !copy.path)
		return -ENOMEM;
	rows->lifecycle[rows->n_lifecycle++] = copy;
	return 0;
}

static int add_mapping(struct rows *rows, const struct mt_mapping *row)
{
	struct mt_mapping copy = *row;
	int err = mt_session_grow(&rows->mappings, rows->n_mappings, &rows->mappings_cap,
				  sizeof(*rows->mappings), MT_SESSION_ROWS_MAX);

	if (err)
		return err;
	copy.path = mt_intern_text(rows->strings, row->path);
	if (!copy.path)
		return -ENOMEM;
	rows->mappings[rows->n_mappings++] = copy;
	return 0;
}

static int add_note(struct rows *rows, const struct mt_file_note *row)
{
	struct mt_file_note copy = *row;
	bool rewritten = row->since != 0;
	uint8_t *id = mt_arena_alloc(rows->build_ids, row->n_build_id + 1, 1);
	int err = mt_session_grow(&rows->notes, rows->n_notes, &rows->notes_cap,
				  sizeof(*rows->notes), MT_SESSION_ROWS_MAX);

	if (err)
		return err;
	copy.path = mt_intern_text(rows->strings, row->path);
	if (!copy.path || !id)
		return -ENOMEM;
	if (row->n_build_id)
		memcpy(id, row->build_id, row->n_build_id);
	copy.build_id = id;
	rows->notes[rows->n_notes++] = copy;
	rows->rewritten |= rewritten;
	return 0;
}

static int by_inode_and_time(const void *a, const void *b)
{
	const struct mt_file_note *x = a, *y = b;
	int order = mt_compare(x->ino, y->ino);

	if (!order)
		order = mt_compare(x->dev_major, y->dev_major);
	if (!order)
		order = mt_compare(x->dev_minor, y->dev_minor);
	/* None is known of what was read from /proc: that was mapped before it was looked at. */
	if (!order)
		order = mt_compare(x->generation, y->generation);
	return order ? order : mt_compare(x->since, y->since);
}

/* Each mapping is of what its file was when it was mapped: the last note of before. */
static int date_mappings(struct rows *rows)
{
	struct mt_file_note *notes = malloc(((size_t)rows->n_notes + 1) * sizeof(*notes)), want;
	struct mt_mapping *map;
	uint32_t i, lo, hi, mid;

	if (!notes)
		return -ENOMEM;
	memcpy(notes, rows->notes, rows->n_notes * sizeof(*notes));
	qsort(notes, rows->n_notes, sizeof(*notes), by_inode_and_time);
	for (i = 0; i < rows->n_mappings; i++) {
		map = &rows->mappings[i];
		if (map->type != MT_MAP_MAP || !map->ino)
			continue;
		want = (struct mt_file_note){
			.ino = map->ino, .dev_major = map->dev_major,
			.dev_minor = map->dev_minor, .generation = map->generation,
			.since = map->time,
		};
		for (lo = 0, hi = rows->n_notes; lo < hi;) {
			mid = lo + (hi - lo) / 2;
			if (by_inode_and_time(&notes[mid], &want) <= 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (!lo)
			continue;
		want.since = notes[lo - 1].since;
		if (!by_inode_and_time(&notes[lo - 1], &want))
			map->since = want.since;
	}
	free(notes);
	return 0;
}

static int collect(struct rows *rows, struct mt_reader *reader)
{
	const struct mt_block *block;
	uint32_t i;
	int err;

	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_LIFECYCLE) |
			  MT_KIND_BIT(MT_BLOCK_MAPPINGS) | MT_KIND_BIT(MT_BLOCK_FILES) |
			  MT_KIND_BIT(MT_BLOCK_REWRITTEN));
	for (;;) {
		err = mt_reader_next(reader, &block);
		if (err <= 0)
			return err;
		for (i = 0; i < block->n; i++) {
			if (block->kind == MT_BLOCK_LIFECYCLE)
				err = add_lifecycle(rows, &block->lifecycle[i]);
			else if (block->kind == MT_BLOCK_MAPPINGS)
				err = add_mapping(rows, &block->mappings[i]);
			else
				err = add_note(rows, &block->files[i]);
			if (err < 0)
				return err;
		}
	}
}

int mt_session_load(struct mt_reader *reader, struct mt_session **ret_session)
{
	struct mt_session *session = NULL;
	struct rows rows = { 0 };
	int err;

	err = mt_intern_new(&rows.strings);
	if (!err)
		err = mt_arena_new(&rows.build_ids);
	if (!err)
		err = collect(&rows, reader);
	if (!err && rows.rewritten)
		err = date_mappings(&rows);
	if (!err)
		err = mt_session_build(rows.lifecycle, rows.n_lifecycle, rows.mappings,
				       rows.n_mappings, &session);
	if (!err)
		err = mt_session_take_notes(session, rows.notes, rows.n_notes);
	if (!err)
		*ret_session = session;
	else
		mt_session_free(session);
	free(rows.notes);
	mt_arena_free(rows.build_ids);
	free(rows.lifecycle);
	free(rows.mappings);
	mt_intern_free(rows.strings);
	return err;
}
