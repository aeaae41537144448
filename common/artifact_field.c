/* One value of a block, by its field's kind: the leaves of artifact_table.c. */
#include "common/arena.h"
#include "common/artifact_schema.h"
#include "common/error.h"
#include "common/msgpack_read.h"
#include "common/msgpack_write.h"

#include <errno.h>

/* Fields are read and written by their offset in the row. */
#define GET(type, row, offset) (*(type const *)((const char *)(row) + (offset)))
#define SET(type, row, offset, value) (*(type *)((char *)(row) + (offset)) = (value))

static bool is_utf8(const char *string, size_t len)
{
	const uint8_t *s = (const uint8_t *)string;
	size_t i = 0, more, k;
	uint32_t code;

	while (i < len) {
		if (s[i] < 0x80) {
			i++;
			continue;
		}
		more = s[i] >= 0xf0 ? 3 : s[i] >= 0xe0 ? 2 : 1;
		if (s[i] < 0xc2 || s[i] > 0xf4 || more >= len - i)
			return false;
		code = s[i] & (0x3fu >> more);
		for (k = 1; k <= more; k++) {
			if ((s[i + k] & 0xc0) != 0x80)
				return false;
			code = code << 6 | (s[i + k] & 0x3f);
		}
		/* Overlong, surrogate or beyond the last plane. */
		if ((more == 2 && code < 0x800) || (more == 3 && code < 0x10000) ||
		    code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
			return false;
		i += more + 1;
	}
	return true;
}

static uint8_t *put_string(uint8_t *p, const char *string)
{
	size_t len = strlen(string);

	/* File names are bytes; str must be UTF-8 or strict readers refuse the file. */
	if (is_utf8(string, len))
		return mt_mp_put_str(p, string, (uint32_t)len);
	return mt_mp_put_bin(p, string, (uint32_t)len);
}

static size_t strings_bound(const struct mt_field *field, const void *row)
{
	const char *const *strings = GET(const char *const *, row, field->offset);
	uint32_t i, n = GET(uint32_t, row, field->count);
	size_t bound = MT_MP_MAX;

	for (i = 0; i < n; i++)
		bound += MT_MP_MAX + strlen(strings[i]);
	return bound;
}

size_t mt_field_bound(const struct mt_field *field, const void *row)
{
	switch (field->kind) {
	case MT_FIELD_STR:
		return MT_MP_MAX + strlen(GET(const char *, row, field->offset));
	case MT_FIELD_BYTES:
		return MT_MP_MAX + (size_t)GET(uint32_t, row, field->count);
	case MT_FIELD_LIST32:
	case MT_FIELD_LIST64:
		return MT_MP_MAX * ((size_t)GET(uint32_t, row, field->count) + 1);
	case MT_FIELD_STRS:
		return strings_bound(field, row);
	default:
		return MT_MP_MAX;
	}
}

bool mt_field_fits(const struct mt_field *field, const void *row)
{
	const char *const *strings;
	uint32_t i, n;

	switch (field->kind) {
	case MT_FIELD_STR:
		return strlen(GET(const char *, row, field->offset)) <= field->max;
	case MT_FIELD_BYTES:
	case MT_FIELD_LIST32:
	case MT_FIELD_LIST64:
		return GET(uint32_t, row, field->count) <= field->max;
	case MT_FIELD_STRS:
		n = GET(uint32_t, row, field->count);
		strings = GET(const char *const *, row, field->offset);
		if (n > field->max)
			return false;
		for (i = 0; i < n; i++) {
			if (strlen(strings[i]) > MT_ARG_MAX)
				return false;
		}
		return true;
	default:
		return true;
	}
}

static uint8_t *put_list(uint8_t *p, const struct mt_field *field, const void *row)
{
	uint32_t i, n = GET(uint32_t, row, field->count);
	const char *const *strings;
	const uint32_t *small;
	const uint64_t *large;

	p = mt_mp_put_array(p, n);
	if (field->kind == MT_FIELD_STRS) {
		strings = GET(const char *const *, row, field->offset);
		for (i = 0; i < n; i++)
			p = put_string(p, strings[i]);
	} else if (field->kind == MT_FIELD_LIST32) {
		small = GET(const uint32_t *, row, field->offset);
		for (i = 0; i < n; i++)
			p = mt_mp_put_uint(p, small[i]);
	} else {
		large = &GET(uint64_t, row, field->offset);
		for (i = 0; i < n; i++)
			p = mt_mp_put_uint(p, large[i]);
	}
	return p;
}

uint8_t *mt_field_put(uint8_t *p, const struct mt_field *field, const void *row)
{
	switch (field->kind) {
	case MT_FIELD_U32:
		return mt_mp_put_uint(p, GET(uint32_t, row, field->offset));
	case MT_FIELD_U64:
	case MT_FIELD_MAYBE_U64:
		return mt_mp_put_uint(p, GET(uint64_t, row, field->offset));
	case MT_FIELD_I32:
		return mt_mp_put_int(p, GET(int32_t, row, field->offset));
	case MT_FIELD_BOOL:
		return mt_mp_put_bool(p, GET(bool, row, field->offset));
	case MT_FIELD_STR:
		return put_string(p, GET(const char *, row, field->offset));
	case MT_FIELD_BYTES:
		return mt_mp_put_bin(p, GET(const void *, row, field->offset),
				     GET(uint32_t, row, field->count));
	case MT_FIELD_OPT_I32:
		if (!GET(bool, row, field->count))
			return mt_mp_put_nil(p);
		return mt_mp_put_int(p, GET(int32_t, row, field->offset));
	case MT_FIELD_STRS:
	case MT_FIELD_LIST32:
	case MT_FIELD_LIST64:
		return put_list(p, field, row);
	}
	return p;
}

static int get_string(struct mt_mp_cursor *cur, uint32_t max, struct mt_arena *arena,
		      const char **ret_string)
{
	const uint8_t *bytes;
	const char *string;
	uint32_t len;

	if (mt_mp_read_bytes(cur, &bytes, &len))
		return -MT_E_CORRUPT;
	if (len > max)
		return -MT_E_LIMIT;
	/* A C string would silently lose what follows. */
	if (memchr(bytes, 0, len))
		return -MT_E_CORRUPT;
	string = len ? mt_arena_string(arena, bytes, len) : "";
	if (!string)
		return -ENOMEM;
	*ret_string = string;
	return 0;
}

static int get_u32(struct mt_mp_cursor *cur, uint32_t *ret_value)
{
	uint64_t value;

	if (mt_mp_read_uint(cur, &value) || value > UINT32_MAX)
		return -MT_E_CORRUPT;
	*ret_value = (uint32_t)value;
	return 0;
}

static int get_i32(struct mt_mp_cursor *cur, int32_t *ret_value)
{
	int64_t value;

	if (mt_mp_read_int(cur, &value) || value > INT32_MAX || value < INT32_MIN)
		return -MT_E_CORRUPT;
	*ret_value = (int32_t)value;
	return 0;
}

static int get_strings(struct mt_mp_cursor *cur, uint32_t n, const struct mt_field *field,
		       void *row, struct mt_arena *arena)
{
	const char **strings = mt_arena_alloc(arena, n, sizeof(*strings));
	uint32_t i;
	int err;

	if (!strings)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		err = get_string(cur, MT_ARG_MAX, arena, &strings[i]);
		if (err)
			return err;
	}
	SET(const char **, row, field->offset, strings);
	return 0;
}

static int get_list(struct mt_mp_cursor *cur, const struct mt_field *field, void *row,
		    struct mt_arena *arena)
{
	uint32_t i, n, *small;
	int err;

	if (mt_mp_read_array(cur, &n))
		return -MT_E_CORRUPT;
	if (n > field->max)
		return -MT_E_LIMIT;
	if (field->kind == MT_FIELD_STRS) {
		err = get_strings(cur, n, field, row, arena);
	} else if (field->kind == MT_FIELD_LIST64) {
		err = mt_mp_read_uints(cur, (uint64_t *)((char *)row + field->offset), n);
	} else {
		small = mt_arena_alloc(arena, n, sizeof(*small));
		err = small ? 0 : -ENOMEM;
		for (i = 0; i < n && !err; i++)
			err = get_u32(cur, &small[i]);
		SET(const uint32_t *, row, field->offset, small);
	}
	if (err)
		return err;
	SET(uint32_t, row, field->count, n);
	return 0;
}

static int get_bytes(struct mt_mp_cursor *cur, const struct mt_field *field, void *row)
{
	const uint8_t *bytes;
	uint32_t len;

	if (mt_mp_read_bytes(cur, &bytes, &len))
		return -MT_E_CORRUPT;
	if (len > field->max)
		return -MT_E_LIMIT;
	SET(const uint8_t *, row, field->offset, bytes);
	SET(uint32_t, row, field->count, len);
	return 0;
}

int mt_field_get(struct mt_mp_cursor *cur, const struct mt_field *field, void *row,
		 struct mt_arena *arena)
{
	char *at = (char *)row + field->offset;

	switch (field->kind) {
	case MT_FIELD_U32:
		return get_u32(cur, (uint32_t *)at);
	case MT_FIELD_U64:
	case MT_FIELD_MAYBE_U64:
		return mt_mp_read_uint(cur, (uint64_t *)at);
	case MT_FIELD_I32:
		return get_i32(cur, (int32_t *)at);
	case MT_FIELD_BOOL:
		return mt_mp_read_bool(cur, (bool *)at);
	case MT_FIELD_STR:
		return get_string(cur, field->max, arena, (const char **)at);
	case MT_FIELD_BYTES:
		return get_bytes(cur, field, row);
	case MT_FIELD_OPT_I32:
		if (mt_mp_read_nil(cur))
			return 0;
		SET(bool, row, field->count, true);
		return get_i32(cur, (int32_t *)at);
	case MT_FIELD_STRS:
	case MT_FIELD_LIST32:
	case MT_FIELD_LIST64:
		return get_list(cur, field, row, arena);
	}
	return -MT_E_CORRUPT;
}
