/* A session's rows from the lifecycle and mapping blocks of an artifact. */
#include "report/session_rows.h"

#include "report/intern.h"
#include "report/reader.h"

#include <errno.h>

/* Rows of many blocks, their strings interned: blocks are borrowed. */
struct rows {
	struct mt_lifecycle *lifecycle;
	struct mt_mapping *mappings;
	uint32_t n_lifecycle, lifecycle_cap, n_mappings, mappings_cap;
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

static int collect(struct rows *rows, struct mt_reader *reader)
{
	const struct mt_block *block;
	uint32_t i;
	int err;

	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_LIFECYCLE) | MT_KIND_BIT(MT_BLOCK_MAPPINGS));
	for (;;) {
		err = mt_reader_next(reader, &block);
		if (err <= 0)
			return err;
		for (i = 0; i < block->n; i++) {
			if (block->kind == MT_BLOCK_LIFECYCLE)
				err = add_lifecycle(rows, &block->lifecycle[i]);
			else if (block->kind == MT_BLOCK_MAPPINGS)
				err = add_mapping(rows, &block->mappings[i]);
			if (err < 0)
				return err;
		}
	}
}

int mt_session_load(struct mt_reader *reader, struct mt_session **ret_session)
{
	struct rows rows = { 0 };
	int err;

	err = mt_intern_new(&rows.strings);
	if (!err)
		err = collect(&rows, reader);
	if (!err)
		err = mt_session_build(rows.lifecycle, rows.n_lifecycle, rows.mappings,
				       rows.n_mappings, ret_session);
	free(rows.lifecycle);
	free(rows.mappings);
	mt_intern_free(rows.strings);
	return err;
}
