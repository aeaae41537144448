/* Bodies of blocks, driven by the tables of artifact_schema.c. Events have their own file. */
#include "common/arena.h"
#include "common/artifact_schema.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_read.h"
#include "common/msgpack_write.h"

#include <errno.h>

#define FIELDS_MAX 32

static uint32_t row_type(const struct mt_table *table, const void *row)
{
	return *(const uint32_t *)((const char *)row + table->type);
}

/* Does this row have a value in the field's column? */
static bool row_has(const struct mt_table *table, const struct mt_field *field, const void *row)
{
	uint32_t type;

	if (!field->types)
		return true;
	type = row_type(table, row);
	return type < 32 && (field->types >> type & 1);
}

static const void *row_at(const struct mt_table *table, const void *rows, uint32_t i)
{
	return (const char *)rows + (size_t)i * table->row_size;
}

size_t mt_row_bound(const struct mt_table *table, const void *row)
{
	size_t bound = 0;
	uint32_t i;

	for (i = 0; i < table->n_fields; i++) {
		if (row_has(table, &table->fields[i], row))
			bound += mt_field_bound(&table->fields[i], row);
	}
	return bound;
}

size_t mt_table_bound(const struct mt_table *table)
{
	size_t bound = MT_BLOCK_HEAD_MAX + 2 * MT_MP_MAX + sizeof("n");
	uint32_t i;

	for (i = 0; i < table->n_fields; i++)
		bound += 2 * MT_MP_MAX + strlen(table->fields[i].name);
	return bound;
}

uint8_t *mt_block_head_put(uint8_t *p, const struct mt_table *table)
{
	p = mt_mp_put_array(p, 3);
	p = mt_mp_put_str(p, table->name, (uint32_t)strlen(table->name));
	return mt_mp_put_uint(p, table->version);
}

static uint8_t *put_name(uint8_t *p, const char *name)
{
	return mt_mp_put_str(p, name, (uint32_t)strlen(name));
}

static uint32_t count_rows(const struct mt_table *table, const struct mt_field *field,
			   const void *rows, uint32_t n)
{
	uint32_t i, count = 0;

	for (i = 0; i < n; i++)
		count += row_has(table, field, row_at(table, rows, i));
	return count;
}

static uint8_t *put_column(uint8_t *p, const struct mt_table *table, const struct mt_field *field,
			   const void *rows, uint32_t n)
{
	uint64_t before = 0, value;
	const void *row;
	uint32_t i;

	for (i = 0; i < n; i++) {
		row = row_at(table, rows, i);
		if (field->kind == MT_FIELD_DELTA) {
			value = *(const uint64_t *)((const char *)row + field->offset);
			p = mt_mp_put_int(p, (int64_t)(value - before));
			before = value;
		} else if (row_has(table, field, row)) {
			p = mt_field_put(p, field, row);
		}
	}
	return p;
}

static uint8_t *put_columns(uint8_t *p, const struct mt_table *table, const void *rows, uint32_t n)
{
	uint32_t counts[FIELDS_MAX], i, used = 1;

	for (i = 0; i < table->n_fields; i++) {
		counts[i] = count_rows(table, &table->fields[i], rows, n);
		used += counts[i] > 0;
	}
	p = mt_mp_put_map(p, used);
	p = put_name(p, "n");
	p = mt_mp_put_uint(p, n);
	for (i = 0; i < table->n_fields; i++) {
		if (!counts[i])
			continue;
		p = put_name(p, table->fields[i].name);
		p = mt_mp_put_array(p, counts[i]);
		p = put_column(p, table, &table->fields[i], rows, n);
	}
	return p;
}

/* Left out of a map when it says nothing. */
static bool left_out(const struct mt_field *field, const void *row)
{
	const char *at = row;

	return (field->kind == MT_FIELD_LIST32 && !*(const uint32_t *)(at + field->count)) ||
	       (field->kind == MT_FIELD_MAYBE_U64 && !*(const uint64_t *)(at + field->offset));
}

static uint8_t *put_map(uint8_t *p, const struct mt_table *table, const void *row)
{
	uint32_t i, used = 0;

	for (i = 0; i < table->n_fields; i++)
		used += !left_out(&table->fields[i], row);
	p = mt_mp_put_map(p, used);
	for (i = 0; i < table->n_fields; i++) {
		if (left_out(&table->fields[i], row))
			continue;
		p = put_name(p, table->fields[i].name);
		p = mt_field_put(p, &table->fields[i], row);
	}
	return p;
}

int mt_table_encode(struct mt_buf *buf, const struct mt_table *table, const void *rows, uint32_t n)
{
	size_t bound = mt_table_bound(table);
	uint32_t i, k;
	uint8_t *p;
	int err;

	if (n > table->max_rows)
		return -MT_E_LIMIT;
	for (i = 0; i < n; i++) {
		for (k = 0; k < table->n_fields; k++) {
			if (!mt_field_fits(&table->fields[k], row_at(table, rows, i)))
				return -MT_E_LIMIT;
		}
		bound += mt_row_bound(table, row_at(table, rows, i));
	}
	err = mt_buf_reserve(buf, bound);
	if (err)
		return err;

	p = mt_block_head_put(buf->data + buf->len, table);
	p = table->rows ? put_columns(p, table, rows, n) : put_map(p, table, rows);
	buf->len = (size_t)(p - buf->data);
	return 0;
}

static int field_index(const struct mt_table *table, const uint8_t *name, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < table->n_fields; i++) {
		if (strlen(table->fields[i].name) == len &&
		    !memcmp(table->fields[i].name, name, len))
			return (int)i;
	}
	return -1;
}

/*
 * Where each field's value begins (pos NULL if absent), whatever their order. Unknown keys are
 * counted. Columns can only be decoded in the table's order: the type first.
 */
static int find_fields(struct mt_mp_cursor *cur, const struct mt_table *table,
		       struct mt_mp_cursor *fields, uint32_t *ret_n, uint32_t *ret_skipped)
{
	const uint8_t *name;
	uint32_t i, pairs, len, skipped = 0;
	uint64_t n = UINT64_MAX;
	int k;

	memset(fields, 0, FIELDS_MAX * sizeof(*fields));
	if (mt_mp_read_map(cur, &pairs))
		return -MT_E_CORRUPT;
	for (i = 0; i < pairs; i++) {
		if (mt_mp_read_bytes(cur, &name, &len))
			return -MT_E_CORRUPT;
		if (table->rows && len == 1 && *name == 'n') {
			if (n != UINT64_MAX || mt_mp_read_uint(cur, &n) || n == UINT64_MAX)
				return -MT_E_CORRUPT;
			continue;
		}
		k = field_index(table, name, len);
		if (k < 0)
			skipped++;
		else if (fields[k].pos)
			return -MT_E_CORRUPT;	/* twice */
		else
			fields[k] = *cur;
		if (mt_mp_skip(cur))
			return -MT_E_CORRUPT;
	}
	if (table->rows && n == UINT64_MAX)
		return -MT_E_CORRUPT;
	if (table->rows && n > table->max_rows)
		return -MT_E_LIMIT;
	*ret_n = table->rows ? (uint32_t)n : 1;
	*ret_skipped = skipped;
	return 0;
}

static int get_column(struct mt_mp_cursor *cur, const struct mt_table *table,
		      const struct mt_field *field, char *rows, uint32_t n, struct mt_arena *arena)
{
	uint32_t i, count, expected = count_rows(table, field, rows, n);
	uint64_t before = 0;
	int64_t delta;
	char *row;
	int err;

	if (!cur->pos)
		return expected ? -MT_E_CORRUPT : 0;
	if (mt_mp_read_array(cur, &count) || count != expected)
		return -MT_E_CORRUPT;
	for (i = 0; i < n; i++) {
		row = rows + (size_t)i * table->row_size;
		if (field->kind == MT_FIELD_DELTA) {
			if (mt_mp_read_int(cur, &delta))
				return -MT_E_CORRUPT;
			before += (uint64_t)delta;
			*(uint64_t *)(row + field->offset) = before;
		} else if (row_has(table, field, row)) {
			err = mt_field_get(cur, field, row, arena);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Strings are never NULL, also in rows that have none. */
static void clear_rows(const struct mt_table *table, char *rows, uint32_t n)
{
	uint32_t i, k;

	memset(rows, 0, (size_t)n * table->row_size);
	for (k = 0; k < table->n_fields; k++) {
		if (table->fields[k].kind != MT_FIELD_STR)
			continue;
		for (i = 0; i < n; i++)
			*(const char **)(rows + (size_t)i * table->row_size +
					 table->fields[k].offset) = "";
	}
}

/*
 * Rows of a type that came later than this program: their values stand in columns it does
 * not know either, so that leaving the row out is safe.
 */
static uint32_t drop_unknown(const struct mt_table *table, char *rows, uint32_t n)
{
	uint32_t i, type, kept = 0;
	char *row;

	if (table->type == MT_TYPE_NONE)
		return n;
	for (i = 0; i < n; i++) {
		row = rows + (size_t)i * table->row_size;
		type = row_type(table, row);
		if (type >= 32 || !(table->types >> type & 1))
			continue;
		if (kept != i)
			memcpy(rows + (size_t)kept * table->row_size, row, table->row_size);
		kept++;
	}
	return kept;
}

int mt_table_decode(struct mt_block *block, const struct mt_table *table, struct mt_mp_cursor *cur)
{
	struct mt_mp_cursor fields[FIELDS_MAX];
	uint32_t n, kept, skipped, k;
	char *rows;
	int err;

	err = find_fields(cur, table, fields, &n, &skipped);
	if (err)
		return err;
	rows = mt_arena_alloc(block->arena, n, table->row_size);
	if (!rows)
		return -ENOMEM;
	clear_rows(table, rows, n);

	for (k = 0; k < table->n_fields; k++) {
		if (table->rows)
			err = get_column(&fields[k], table, &table->fields[k], rows, n,
					 block->arena);
		else if (fields[k].pos)
			err = mt_field_get(&fields[k], &table->fields[k], rows, block->arena);
		else if (!left_out(&table->fields[k], rows))
			err = -MT_E_CORRUPT;
		if (err)
			return err;
	}

	kept = drop_unknown(table, rows, n);
	block->header = (void *)rows;
	block->n = kept;
	block->dropped = n - kept;
	block->skipped = skipped + (n - kept);
	return 0;
}
