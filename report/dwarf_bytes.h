/*
 * report/dwarf_bytes.h - bounded reads of the little-endian encodings DWARF uses.
 *
 * A cursor never moves past its end. The first read that would sets bad, after
 * which every read yields 0, so that callers check once, after a group of reads.
 */
#ifndef MT_DWARF_BYTES_H
#define MT_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline struct mt_bytes mt_bytes_of(const uint8_t *data, size_t len)
{
	struct mt_bytes bytes = { data, data ? data + len : data, false };

	return bytes;
}

static inline size_t mt_bytes_left(const struct mt_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

static inline bool mt_bytes_fail(struct mt_bytes *bytes)
{
	bytes->bad = true;
	bytes->at = bytes->end;
	return false;
}

static inline bool mt_bytes_skip(struct mt_bytes *bytes, uint64_t n)
{
	if (n > mt_bytes_left(bytes))
		return mt_bytes_fail(bytes);
	if (n)
		bytes->at += n;
	return true;
}

/* Unsigned integer of size 1, 2, 4 or 8 bytes. */
static inline uint64_t mt_bytes_uint(struct mt_bytes *bytes, unsigned int size)
{
	uint64_t value = 0;
	unsigned int i;

	if (size > mt_bytes_left(bytes)) {
		mt_bytes_fail(bytes);
		return 0;
	}
	for (i = 0; i < size; i++)
		value |= (uint64_t)bytes->at[i] << (8 * i);
	bytes->at += size;
	return value;
}

/* Two's complement integer of size 1, 2, 4 or 8 bytes, sign-extended. */
static inline int64_t mt_bytes_sint(struct mt_bytes *bytes, unsigned int size)
{
	uint64_t value = mt_bytes_uint(bytes, size);
	unsigned int shift = 64 - 8 * size;

	return (int64_t)(value << shift) >> shift;
}

/* LEB128. Bits beyond 64 are an error unless they only pad. */
static inline uint64_t mt_bytes_uleb(struct mt_bytes *bytes)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)mt_bytes_uint(bytes, 1);
		if (shift >= 63 && (shift > 63 ? byte & 0x7f : byte & 0x7e)) {
			mt_bytes_fail(bytes);
			return 0;
		}
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 70 ? 7 : 0;
	} while (byte & 0x80);
	return value;
}

static inline int64_t mt_bytes_sleb(struct mt_bytes *bytes)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)mt_bytes_uint(bytes, 1);
		if (shift >= 63 && (byte & 0x7f) != 0 && (byte & 0x7f) != 0x7f) {
			mt_bytes_fail(bytes);
			return 0;
		}
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 70 ? 7 : 0;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

#endif
