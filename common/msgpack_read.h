/*
 * common/msgpack_read.h - a cursor over hostile MessagePack bytes.
 *
 * Nothing is allocated. Every function reads one value at the cursor and moves it behind,
 * or returns -MT_E_CORRUPT (wrong type, out of range, or not all there); the cursor is
 * then of no further use. Integers are accepted in any width. Ext types are only skipped.
 */
#ifndef MT_MSGPACK_READ_H
#define MT_MSGPACK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_mp_cursor {
	const uint8_t *pos;
	const uint8_t *end;
};

int mt_mp_read_uint(struct mt_mp_cursor *cur, uint64_t *ret_value);
int mt_mp_read_int(struct mt_mp_cursor *cur, int64_t *ret_value);
int mt_mp_read_bool(struct mt_mp_cursor *cur, bool *ret_value);
/* true, and moved behind it, if the next value is nil. */
bool mt_mp_read_nil(struct mt_mp_cursor *cur);
/* *ret_n elements (pairs) follow; never more than there are bytes left for. */
int mt_mp_read_array(struct mt_mp_cursor *cur, uint32_t *ret_n);
int mt_mp_read_map(struct mt_mp_cursor *cur, uint32_t *ret_n);
/* A str or a bin; borrowed, not terminated. */
int mt_mp_read_bytes(struct mt_mp_cursor *cur, const uint8_t **ret_bytes, uint32_t *ret_len);
/* Any value with all that it holds. Not recursive: nesting costs no stack. */
int mt_mp_skip(struct mt_mp_cursor *cur);

/*
 * n integers that follow each other (the elements of an array), straight into an array.
 * uints: none negative. ints: each in the range of int64_t, stored as two's complement.
 */
int mt_mp_read_uints(struct mt_mp_cursor *cur, uint64_t *values, uint32_t n);
int mt_mp_read_ints(struct mt_mp_cursor *cur, uint64_t *values, uint32_t n);

#endif
