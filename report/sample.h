/*
 * report/sample.h - what a sampled block stands for: mt-artifact(5), Sampling.
 */
#ifndef MT_SAMPLE_H
#define MT_SAMPLE_H

#include <math.h>
#include <stdint.h>

/*
 * Blocks are added up in these parts while events are replayed, because a sampled block stands for
 * a number of blocks that is not whole.
 */
#define MT_SAMPLE_PARTS 65536.0

/* What one block counts for. */
struct mt_share {
	uint64_t blocks;	/* in parts, if sampled */
	uint64_t bytes;
};

/* Blocks that one of this size stands for, if one of sample_bytes bytes was taken. */
static inline double mt_sample_weight(uint64_t size, uint64_t sample_bytes)
{
	return -1 / expm1(-(double)(size ? size : 1) / (double)sample_bytes);
}

static inline struct mt_share mt_share_of(uint64_t size, uint64_t sample_bytes)
{
	struct mt_share share = { 1, size };
	double weight;

	if (sample_bytes) {
		weight = mt_sample_weight(size, sample_bytes);
		share.blocks = (uint64_t)(weight * MT_SAMPLE_PARTS + 0.5);
		/* A larger one stands for itself, and no double has its last bits. */
		if (weight > 1)
			share.bytes = (uint64_t)(weight * (double)size + 0.5);
	}
	return share;
}

static inline uint64_t mt_sample_whole(uint64_t parts)
{
	return (parts >> 16) + (parts >> 15 & 1);
}

#endif
