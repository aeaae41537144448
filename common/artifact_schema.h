/*
 * common/artifact_schema.h - what each kind of block holds: one table for both directions.
 *
 * Private to the artifact codec and record/writer.c. A table lists the columns (or keys) of
 * a block kind; encoders and decoders are driven by it, so that they cannot drift.
 */
#ifndef MT_ARTIFACT_SCHEMA_H
#define MT_ARTIFACT_SCHEMA_H

#include "common/artifact.h"

struct mt_arena;
struct mt_mp_cursor;

enum mt_field_kind {
	MT_FIELD_U32,
	MT_FIELD_U64,
	MT_FIELD_I32,
	MT_FIELD_BOOL,
	MT_FIELD_DELTA,		/* u64 as signed wrapping difference to the row before */
	MT_FIELD_STR,		/* never NULL; str if it is UTF-8, else bin */
	MT_FIELD_BYTES,		/* const uint8_t * and a count: bin */
	MT_FIELD_LIST64,	/* uint64_t[] inside the row and a count: array */
	MT_FIELD_OPT_I32,	/* an int32_t, nil unless the bool at count is set */
	MT_FIELD_STRS,		/* const char ** and a count */
	MT_FIELD_LIST32,	/* const uint32_t * and a count; left out if the count is 0 */
	MT_FIELD_MAYBE_U64,	/* a key's value, left out if it is 0 */
};

struct mt_field {
	const char *name;
	uint8_t kind;		/* enum mt_field_kind */
	uint16_t offset;	/* in the row */
	uint16_t count;		/* offset of the count (u32), or of OPT_I32's bool */
	uint32_t max;		/* ceiling: string or byte length, elements */
	uint32_t types;		/* row types that have it (bits of 1 << type); 0: every row */
};

#define MT_TYPE_NONE UINT16_MAX

struct mt_table {
	const char *name;	/* of the block kind */
	uint8_t version;
	bool rows;		/* columns, as opposed to one map of values */
	uint16_t row_size;
	uint16_t type;		/* offset of the row's type (u32), MT_TYPE_NONE if it has none */
	uint32_t types;		/* known row types */
	uint32_t max_rows;
	const struct mt_field *fields;
	uint32_t n_fields;
};

/* NULL for MT_BLOCK_UNKNOWN. Events' table has no fields: see artifact_events.h. */
const struct mt_table *mt_table(enum mt_block_kind kind);

/* Bytes that one row, or the block around rows, needs at most. */
size_t mt_row_bound(const struct mt_table *table, const void *row);
size_t mt_table_bound(const struct mt_table *table);

/* As the mt_encode_*() functions, for every kind except events. */
int mt_table_encode(struct mt_buf *buf, const struct mt_table *table, const void *rows, uint32_t n);

/* The part of a block before its body; needs MT_BLOCK_HEAD_MAX bytes. */
#define MT_BLOCK_HEAD_MAX 64
uint8_t *mt_block_head_put(uint8_t *p, const struct mt_table *table);

/*
 * Decode a body at the cursor into rows allocated from block->arena (the union's pointers are
 * one pointer), and set n, dropped, skipped. -MT_E_CORRUPT, -MT_E_LIMIT, -ENOMEM.
 */
int mt_table_decode(struct mt_block *block, const struct mt_table *table, struct mt_mp_cursor *cur);
int mt_events_decode(struct mt_block *block, struct mt_mp_cursor *cur);

/* One value of any kind but DELTA. */
size_t mt_field_bound(const struct mt_field *field, const void *row);
uint8_t *mt_field_put(uint8_t *p, const struct mt_field *field, const void *row);
int mt_field_get(struct mt_mp_cursor *cur, const struct mt_field *field, void *row,
		 struct mt_arena *arena);
/* Is the row's content within the ceilings? */
bool mt_field_fits(const struct mt_field *field, const void *row);

#endif
