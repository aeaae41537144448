/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/exponential.h - exponentially distributed integers, where there is no floating point.
 */
#ifndef MT_EXPONENTIAL_H
#define MT_EXPONENTIAL_H

#include <linux/types.h>

#define MT_EXPONENTIAL_MEAN_MAX (1ULL << 32)

/*
 * -ln(random / 2^64) in units of 2^-32, off by less than a part in 2^18; random is not 0.
 */
static inline __attribute__((always_inline)) __u64 mt_minus_ln(__u64 random)
{
	__u64 below = -random, x, square, log2 = 0, halvings = 1, top, bit;
	int i;

	/* Near 1: -ln(1 - b) = b + b^2 / 2 + b^3 / 3 + ..., of which b^4 / 4 is left out. */
	if (below < 1ULL << 54) {
		x = below >> 32;
		square = x * x;
		return (below + (square >> 1) + (square >> 32) * x / 3) >> 32;
	}
	/* random / 2^64 = x / 2^halvings, 1 <= x < 2. */
	for (i = 32; i; i >>= 1) {
		top = random >> (64 - i);
		bit = !top;
		random <<= bit * i;
		halvings += bit * i;
	}
	/* Bits of log2(x), each of which squaring brings before the point: x has 31 behind it. */
	x = random >> 32;
	for (i = 0; i < 32; i++) {
		square = x * x;
		bit = square >> 63;
		x = square >> (31 + bit);
		log2 = log2 << 1 | bit;
	}
	/* Times ln(2), in 24 bits. */
	return ((halvings << 32) - log2) * 11629080 >> 24;
}

/*
 * An integer of 1 or more that is above n with the probability exp(-n / mean), from 64 random
 * bits. mean: 1 to MT_EXPONENTIAL_MEAN_MAX.
 */
static inline __attribute__((always_inline)) __u64 mt_exponential(__u64 random, __u64 mean)
{
	__u64 factor = mt_minus_ln(random ? random : 1);

	return (factor >> 32) * mean + ((factor & 0xffffffff) * mean >> 32) + 1;
}

#endif
