#include "bpf/exponential.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

static uint64_t seed = 88172645463325252;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void check(uint64_t random)
{
	double want = (double)-logl((long double)random / 18446744073709551616.0L);
	double got = (double)mt_minus_ln(random) / 4294967296.0;

	/* 2 units: what lies behind the point is cut off. */
	cr_assert_lt(fabs(got - want), want / (1 << 18) + 2 / 4294967296.0,
		     "%llx: %.12g, not %.12g", (unsigned long long)random, got, want);
}

Test(exponential, logarithms)
{
	unsigned int shift, i;

	check(1);
	check(UINT64_MAX);
	for (shift = 0; shift < 64; shift++) {
		check(1ull << shift);
		check(-(1ull << shift));
		for (i = 0; i < 2000; i++) {
			check(next_random() >> shift | 1);
			check(-(next_random() >> shift | 1));
		}
	}
}

/* As many are above n as there should be, for n far below the mean, about it and above it. */
static void check_tail(uint64_t mean, uint64_t n)
{
	const unsigned int turns = 2000000;
	double p = exp(-(double)n / (double)mean), above = 0;
	unsigned int i;

	for (i = 0; i < turns; i++)
		above += mt_exponential(next_random(), mean) > n;
	cr_assert_lt(fabs(above - turns * p), 5 * sqrt(turns * p * (1 - p)) + 1e-9,
		     "mean %llu: %.0f of %u are above %llu, not %.0f", (unsigned long long)mean,
		     above, turns, (unsigned long long)n, turns * p);
}

Test(exponential, tails)
{
	static const uint64_t means[] = { 1, 2, 7, 1000, 524288, MT_EXPONENTIAL_MEAN_MAX };
	size_t i;

	for (i = 0; i < sizeof(means) / sizeof(*means); i++) {
		check_tail(means[i], 0);
		check_tail(means[i], means[i] / 1000 + 1);
		check_tail(means[i], means[i] / 20 + 1);
		check_tail(means[i], means[i]);
		check_tail(means[i], 3 * means[i]);
	}
}

Test(exponential, every_value_is_one_or_more)
{
	cr_assert_eq(mt_exponential(UINT64_MAX, 1), 1);
	cr_assert_eq(mt_exponential(UINT64_MAX, MT_EXPONENTIAL_MEAN_MAX), 1);
	cr_assert_geq(mt_exponential(0, MT_EXPONENTIAL_MEAN_MAX), 40 * MT_EXPONENTIAL_MEAN_MAX);
}
