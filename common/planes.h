/*
 * common/planes.h - integers as planes of bytes.
 *
 * Plane k of a column holds byte k (the lowest is 0) of each value. Bytes that mean the same
 * stand together, which is what makes them compress; planes above the highest byte in use
 * are left out.
 */
#ifndef MT_PLANES_H
#define MT_PLANES_H

#include <stddef.h>
#include <stdint.h>

#define MT_PLANES_MAX 8

/* Planes that values of which all are the or need. */
static inline unsigned int mt_planes_needed(uint64_t all)
{
	return all ? (71 - (unsigned int)__builtin_clzll(all)) / 8 : 0;
}

/* Signed differences with small magnitude as small numbers. */
static inline uint64_t mt_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t mt_unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

/* n bytes to each of planes[0..n_planes). */
void mt_planes_split(const uint64_t *values, size_t n, uint8_t *const *planes,
		     unsigned int n_planes);

/* The reverse; bytes of planes that are not there are 0. */
void mt_planes_join(uint64_t *values, size_t n, const uint8_t *const *planes,
		    unsigned int n_planes);

#endif
