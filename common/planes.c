#include "common/planes.h"

/* The compiler turns loops of this fixed length into vector instructions. */
#define GROUP 16

void mt_planes_split(const uint64_t *values, size_t n, uint8_t *const *planes,
		     unsigned int n_planes)
{
	unsigned int k, j;
	uint8_t *plane;
	size_t i;

	for (k = 0; k < n_planes; k++) {
		plane = planes[k];
		for (i = 0; n - i >= GROUP; i += GROUP) {
			for (j = 0; j < GROUP; j++)
				plane[i + j] = (uint8_t)(values[i + j] >> (8 * k));
		}
		for (; i < n; i++)
			plane[i] = (uint8_t)(values[i] >> (8 * k));
	}
}

void mt_planes_join(uint64_t *values, size_t n, const uint8_t *const *planes,
		    unsigned int n_planes)
{
	unsigned int k, j;
	const uint8_t *plane;
	size_t i;

	memset(values, 0, n * sizeof(*values));
	for (k = 0; k < n_planes; k++) {
		plane = planes[k];
		for (i = 0; n - i >= GROUP; i += GROUP) {
			for (j = 0; j < GROUP; j++)
				values[i + j] |= (uint64_t)plane[i + j] << (8 * k);
		}
		for (; i < n; i++)
			values[i] |= (uint64_t)plane[i] << (8 * k);
	}
}
