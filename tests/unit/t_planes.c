#include "common/planes.h"

#include <criterion/criterion.h>

Test(planes, zigzag)
{
	static const struct {
		int64_t difference;
		uint64_t value;
	} cases[] = {
		{ 0, 0 }, { -1, 1 }, { 1, 2 }, { -2, 3 }, { INT64_MAX, UINT64_MAX - 1 },
		{ INT64_MIN, UINT64_MAX },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(cases); i++) {
		cr_assert_eq(mt_zigzag((uint64_t)cases[i].difference), cases[i].value);
		cr_assert_eq(mt_unzigzag(cases[i].value), (uint64_t)cases[i].difference);
	}
}

Test(planes, needed)
{
	unsigned int bit;

	cr_assert_eq(mt_planes_needed(0), 0);
	for (bit = 0; bit < 64; bit++)
		cr_assert_eq(mt_planes_needed(1ull << bit), bit / 8 + 1);
	cr_assert_eq(mt_planes_needed(UINT64_MAX), 8);
}

/* Every number of values and planes around the size of a vector. */
Test(planes, split_and_join)
{
	uint64_t values[70], joined[70], mask;
	uint8_t *planes[MT_PLANES_MAX];
	const uint8_t *from[MT_PLANES_MAX];
	unsigned int n, n_planes, k, i;

	for (i = 0; i < 70; i++)
		values[i] = 0x9e3779b97f4a7c15ull * (i + 1);
	for (n = 0; n <= 70; n++) {
		for (n_planes = 0; n_planes <= MT_PLANES_MAX; n_planes++) {
			for (k = 0; k < n_planes; k++)
				from[k] = planes[k] = malloc(n ? n : 1);
			mt_planes_split(values, n, planes, n_planes);
			for (k = 0; k < n_planes; k++) {
				for (i = 0; i < n; i++)
					cr_assert_eq(planes[k][i], (uint8_t)(values[i] >> 8 * k));
			}
			memset(joined, 0xee, sizeof(joined));
			mt_planes_join(joined, n, from, n_planes);
			mask = n_planes == 8 ? UINT64_MAX : (1ull << 8 * n_planes) - 1;
			for (i = 0; i < n; i++)
				cr_assert_eq(joined[i], values[i] & mask);
			for (k = 0; k < n_planes; k++)
				free(planes[k]);
		}
	}
}
