/*
 * common/msgpack_write.h - MessagePack values written to memory that is known to suffice.
 *
 * Every function writes at p and returns the position behind the value. The caller has
 * reserved the room: at most MT_MP_MAX bytes for anything but the content of strings and
 * binaries. Integers take their shortest form. Integers are written without branches that
 * depend on the value: columns of them are most of an artifact.
 */
#ifndef MT_MSGPACK_WRITE_H
#define MT_MSGPACK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_MP_MAX 9

static inline uint8_t *mt_mp_put_be(uint8_t *p, uint64_t value, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
	return p + bytes;
}

/*
 * A tag and the low 1 << log2 bytes of value. Always stores 9 bytes, of which the
 * following value overwrites what was too much.
 */
static inline uint8_t *mt_mp_put_sized(uint8_t *p, uint8_t tag, uint64_t value, unsigned int log2)
{
	unsigned int bytes = 1u << log2;
	uint64_t be = __builtin_bswap64(value << (64 - 8 * bytes));

	p[0] = tag;
	__builtin_memcpy(p + 1, &be, 8);
	return p + 1 + bytes;
}

/* log2 of the number of bytes (1, 2, 4 or 8) that hold an unsigned value of this many bits. */
static inline unsigned int mt_mp_log2_bytes(unsigned int bits)
{
	return (bits > 8) + (bits > 16) + (bits > 32);
}

static inline uint8_t *mt_mp_put_uint(uint8_t *p, uint64_t value)
{
	unsigned int log2;

	if (value < 128) {
		*p = (uint8_t)value;
		return p + 1;
	}
	log2 = mt_mp_log2_bytes(64 - (unsigned int)__builtin_clzll(value));
	return mt_mp_put_sized(p, (uint8_t)(0xcc + log2), value, log2);
}

static inline uint8_t *mt_mp_put_int(uint8_t *p, int64_t value)
{
	unsigned int log2;

	if (value >= 0)
		return mt_mp_put_uint(p, (uint64_t)value);
	if (value >= -32) {
		*p = (uint8_t)value;
		return p + 1;
	}
	log2 = mt_mp_log2_bytes(64 - (unsigned int)__builtin_clrsbll(value));
	return mt_mp_put_sized(p, (uint8_t)(0xd0 + log2), (uint64_t)value, log2);
}

static inline uint8_t *mt_mp_put_nil(uint8_t *p)
{
	*p = 0xc0;
	return p + 1;
}

static inline uint8_t *mt_mp_put_bool(uint8_t *p, bool value)
{
	*p = value ? 0xc3 : 0xc2;
	return p + 1;
}

static inline uint8_t *mt_mp_put_array(uint8_t *p, uint32_t n)
{
	if (n < 16) {
		*p = (uint8_t)(0x90 | n);
		return p + 1;
	}
	*p = n <= UINT16_MAX ? 0xdc : 0xdd;
	return mt_mp_put_be(p + 1, n, n <= UINT16_MAX ? 2 : 4);
}

static inline uint8_t *mt_mp_put_map(uint8_t *p, uint32_t n)
{
	if (n < 16) {
		*p = (uint8_t)(0x80 | n);
		return p + 1;
	}
	*p = n <= UINT16_MAX ? 0xde : 0xdf;
	return mt_mp_put_be(p + 1, n, n <= UINT16_MAX ? 2 : 4);
}

/* Also the content, len bytes. */
static inline uint8_t *mt_mp_put_str(uint8_t *p, const void *bytes, uint32_t len)
{
	if (len < 32) {
		*p++ = (uint8_t)(0xa0 | len);
	} else {
		*p++ = len <= UINT8_MAX ? 0xd9 : len <= UINT16_MAX ? 0xda : 0xdb;
		p = mt_mp_put_be(p, len, len <= UINT8_MAX ? 1 : len <= UINT16_MAX ? 2 : 4);
	}
	if (len)
		__builtin_memcpy(p, bytes, len);
	return p + len;
}

/* The content of len bytes is to follow. */
static inline uint8_t *mt_mp_put_bin_head(uint8_t *p, uint32_t len)
{
	*p++ = len <= UINT8_MAX ? 0xc4 : len <= UINT16_MAX ? 0xc5 : 0xc6;
	return mt_mp_put_be(p, len, len <= UINT8_MAX ? 1 : len <= UINT16_MAX ? 2 : 4);
}

static inline uint8_t *mt_mp_put_bin(uint8_t *p, const void *bytes, uint32_t len)
{
	p = mt_mp_put_bin_head(p, len);
	if (len)
		__builtin_memcpy(p, bytes, len);
	return p + len;
}

#endif
