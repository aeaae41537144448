#include "common/msgpack_read.h"
#include "common/error.h"

/*
 * What a tag says about an integer. extra: bytes after the tag. keep: how far to shift
 * the 8 bytes after the tag right (64 for none: the value is in the tag). Signed ones
 * are shifted arithmetically.
 */
enum { INT_UNSIGNED, INT_SIGNED, INT_NOT };

static inline int int_class(uint8_t tag)
{
	if (tag < 0x80 || (tag >= 0xcc && tag <= 0xcf))
		return INT_UNSIGNED;
	if (tag >= 0xe0 || (tag >= 0xd0 && tag <= 0xd3))
		return INT_SIGNED;
	return INT_NOT;
}

static inline size_t left(const struct mt_mp_cursor *cur)
{
	return (size_t)(cur->end - cur->pos);
}

static inline uint64_t load_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static uint64_t load_be(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

/* The next integer's bits, and whether it is negative. */
static int read_integer(struct mt_mp_cursor *cur, uint64_t *ret_bits, bool *ret_negative)
{
	unsigned int bytes, shift;
	uint64_t v;
	uint8_t tag;

	if (!left(cur))
		return -MT_E_CORRUPT;
	tag = *cur->pos;
	if (tag < 0x80 || tag >= 0xe0) {
		cur->pos++;
		*ret_bits = (uint64_t)(int8_t)tag;
		*ret_negative = tag >= 0xe0;
		return 0;
	}
	if (int_class(tag) == INT_NOT)
		return -MT_E_CORRUPT;
	bytes = 1u << (tag & 3);
	if (left(cur) - 1 < bytes)
		return -MT_E_CORRUPT;

	v = load_be(cur->pos + 1, bytes);
	if (tag >= 0xd0) {
		shift = 64 - 8 * bytes;
		v = (uint64_t)((int64_t)(v << shift) >> shift);
	}
	cur->pos += 1 + bytes;
	*ret_bits = v;
	*ret_negative = tag >= 0xd0 && (int64_t)v < 0;
	return 0;
}

int mt_mp_read_uint(struct mt_mp_cursor *cur, uint64_t *ret_value)
{
	uint64_t bits;
	bool negative;

	if (read_integer(cur, &bits, &negative) || negative)
		return -MT_E_CORRUPT;
	*ret_value = bits;
	return 0;
}

int mt_mp_read_int(struct mt_mp_cursor *cur, int64_t *ret_value)
{
	uint64_t bits;
	bool negative;

	if (read_integer(cur, &bits, &negative))
		return -MT_E_CORRUPT;
	if (!negative && bits > INT64_MAX)
		return -MT_E_CORRUPT;
	*ret_value = (int64_t)bits;
	return 0;
}

int mt_mp_read_bool(struct mt_mp_cursor *cur, bool *ret_value)
{
	if (!left(cur) || (*cur->pos & 0xfe) != 0xc2)
		return -MT_E_CORRUPT;
	*ret_value = *cur->pos++ & 1;
	return 0;
}

bool mt_mp_read_nil(struct mt_mp_cursor *cur)
{
	if (!left(cur) || *cur->pos != 0xc0)
		return false;
	cur->pos++;
	return true;
}

/* A length of bytes bytes behind the tag. */
static int read_length(struct mt_mp_cursor *cur, unsigned int bytes, uint32_t *ret_n)
{
	if (left(cur) - 1 < bytes)
		return -MT_E_CORRUPT;
	*ret_n = (uint32_t)load_be(cur->pos + 1, bytes);
	cur->pos += 1 + bytes;
	return 0;
}

int mt_mp_read_array(struct mt_mp_cursor *cur, uint32_t *ret_n)
{
	uint32_t n;
	uint8_t tag;

	if (!left(cur))
		return -MT_E_CORRUPT;
	tag = *cur->pos;
	if ((tag & 0xf0) == 0x90) {
		n = tag & 15;
		cur->pos++;
	} else if ((tag != 0xdc && tag != 0xdd) || read_length(cur, tag == 0xdc ? 2 : 4, &n)) {
		return -MT_E_CORRUPT;
	}
	if (n > left(cur))
		return -MT_E_CORRUPT;
	*ret_n = n;
	return 0;
}

int mt_mp_read_map(struct mt_mp_cursor *cur, uint32_t *ret_n)
{
	uint32_t n;
	uint8_t tag;

	if (!left(cur))
		return -MT_E_CORRUPT;
	tag = *cur->pos;
	if ((tag & 0xf0) == 0x80) {
		n = tag & 15;
		cur->pos++;
	} else if ((tag != 0xde && tag != 0xdf) || read_length(cur, tag == 0xde ? 2 : 4, &n)) {
		return -MT_E_CORRUPT;
	}
	if (n > left(cur) / 2)
		return -MT_E_CORRUPT;
	*ret_n = n;
	return 0;
}

int mt_mp_read_bytes(struct mt_mp_cursor *cur, const uint8_t **ret_bytes, uint32_t *ret_len)
{
	unsigned int bytes;
	uint32_t len;
	uint8_t tag;

	if (!left(cur))
		return -MT_E_CORRUPT;
	tag = *cur->pos;
	if ((tag & 0xe0) == 0xa0) {
		len = tag & 31;
		cur->pos++;
	} else {
		if (tag >= 0xd9 && tag <= 0xdb)
			bytes = 1u << (tag - 0xd9);
		else if (tag >= 0xc4 && tag <= 0xc6)
			bytes = 1u << (tag - 0xc4);
		else
			return -MT_E_CORRUPT;
		if (read_length(cur, bytes, &len))
			return -MT_E_CORRUPT;
	}
	if (len > left(cur))
		return -MT_E_CORRUPT;
	*ret_bytes = cur->pos;
	*ret_len = len;
	cur->pos += len;
	return 0;
}

/*
 * Length of a value without the values it holds: tag, length field, payload. *ret_inner
 * is the number of values inside. 0: not all there, or no valid tag.
 */
static size_t value_span(const struct mt_mp_cursor *cur, uint64_t *ret_inner)
{
	/* 0xc0 to 0xdf: bytes behind the tag, of which some are a length. */
	static const uint8_t fixed[32] = {
		0, 0, 0, 0, 1, 2, 4, 2, 3, 5, 4, 8, 1, 2, 4, 8,
		1, 2, 4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4,
	};
	static const uint8_t length[32] = {
		[4] = 1, [5] = 2, [6] = 4, [7] = 1, [8] = 2, [9] = 4, [25] = 1, [26] = 2,
		[27] = 4, [28] = 2, [29] = 4, [30] = 2, [31] = 4,
	};
	uint8_t tag = *cur->pos;
	size_t span;
	uint64_t n;

	*ret_inner = 0;
	if (tag < 0x80 || tag >= 0xe0)
		return 1;
	if (tag < 0xa0) {
		*ret_inner = tag < 0x90 ? 2 * (tag & 15) : tag & 15;
		return 1;
	}
	if (tag < 0xc0)
		return 1 + (tag & 31u);
	if (tag == 0xc1)
		return 0;

	tag -= 0xc0;
	span = 1 + (size_t)fixed[tag];
	if (!length[tag] || span > left(cur))
		return span;
	n = load_be(cur->pos + 1, length[tag]);
	if (tag >= 28)
		*ret_inner = tag < 30 ? n : 2 * n;
	else
		span += n;
	return span;
}

int mt_mp_skip(struct mt_mp_cursor *cur)
{
	uint64_t pending = 1, inner;
	size_t span;

	for (; pending; pending--) {
		if (!left(cur))
			return -MT_E_CORRUPT;
		span = value_span(cur, &inner);
		if (!span || span > left(cur))
			return -MT_E_CORRUPT;
		cur->pos += span;
		/* Each pending value takes a byte, so the sum stays far from overflow. */
		if (inner > left(cur))
			return -MT_E_CORRUPT;
		pending += inner;
	}
	return 0;
}

/*
 * The common case of both functions below: while 9 bytes are left no value can run over
 * the end. Returns how many values were read; the caller does the rest one by one.
 * *ret_signs collects the sign bits of signed forms, *ret_tops those of unsigned ones.
 */
static uint32_t read_fast(struct mt_mp_cursor *cur, uint64_t *values, uint32_t n,
			  uint64_t *ret_signs, uint64_t *ret_tops)
{
	const uint8_t *pos = cur->pos;
	uint64_t signs = 0, tops = 0, v;
	unsigned int shift;
	uint32_t i;
	uint8_t tag;

	for (i = 0; i < n && (size_t)(cur->end - pos) >= 9; i++) {
		tag = *pos;
		if (tag < 0x80 || tag >= 0xe0) {
			v = (uint64_t)(int8_t)tag;
			signs |= v;
			pos++;
		} else if (tag >= 0xcc && tag <= 0xd3) {
			shift = 64 - (8u << (tag & 3));
			v = load_be64(pos + 1);
			if (tag >= 0xd0) {
				v = (uint64_t)((int64_t)v >> shift);
				signs |= v;
			} else {
				v >>= shift;
				tops |= v;
			}
			pos += 1 + (1u << (tag & 3));
		} else {
			break;
		}
		values[i] = v;
	}
	cur->pos = pos;
	*ret_signs = signs;
	*ret_tops = tops;
	return i;
}

int mt_mp_read_uints(struct mt_mp_cursor *cur, uint64_t *values, uint32_t n)
{
	uint64_t signs, tops;
	uint32_t i = read_fast(cur, values, n, &signs, &tops);

	if (signs >> 63)
		return -MT_E_CORRUPT;
	for (; i < n; i++) {
		if (mt_mp_read_uint(cur, &values[i]))
			return -MT_E_CORRUPT;
	}
	return 0;
}

int mt_mp_read_ints(struct mt_mp_cursor *cur, uint64_t *values, uint32_t n)
{
	uint64_t signs, tops;
	uint32_t i = read_fast(cur, values, n, &signs, &tops);
	int64_t v;

	if (tops >> 63)
		return -MT_E_CORRUPT;
	for (; i < n; i++) {
		if (mt_mp_read_int(cur, &v))
			return -MT_E_CORRUPT;
		values[i] = (uint64_t)v;
	}
	return 0;
}
