#include "common/planes.h"

/*
 * Sixteen values at a time where the compiler can shuffle vectors: a tree of even and odd
 * halves takes them apart, a tree of interleavings puts them together.
 */
#if defined(__has_builtin) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#if __has_builtin(__builtin_shufflevector)
#define VECTORS 1
#endif
#endif

#define GROUP 16

#ifdef VECTORS

#define VECTOR(type) type __attribute__((vector_size(16)))

#define EVEN32(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD32(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define EVEN16(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD16(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define EVEN8(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, \
					    26, 28, 30)
#define ODD8(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, \
					   27, 29, 31)
#define LOW8(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, \
					   7, 23)
#define HIGH8(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, \
					    14, 30, 15, 31)
#define LOW16(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/* Sixteen 16-bit values to one or two planes. */
static inline void split2(const VECTOR(uint16_t) *v, uint8_t *const *planes, size_t at,
			  unsigned int n_planes)
{
	VECTOR(uint8_t) a = (VECTOR(uint8_t))v[0], b = (VECTOR(uint8_t))v[1], plane;

	plane = EVEN8(a, b);
	memcpy(planes[0] + at, &plane, sizeof(plane));
	if (n_planes < 2)
		return;
	plane = ODD8(a, b);
	memcpy(planes[1] + at, &plane, sizeof(plane));
}

/* Sixteen 32-bit values to up to four. */
static inline void split4(const VECTOR(uint32_t) *v, uint8_t *const *planes, size_t at,
			  unsigned int n_planes)
{
	VECTOR(uint16_t) half[2];
	unsigned int j;

	for (j = 0; j < 2; j++)
		half[j] = EVEN16((VECTOR(uint16_t))v[2 * j], (VECTOR(uint16_t))v[2 * j + 1]);
	split2(half, planes, at, n_planes);
	if (n_planes < 3)
		return;
	for (j = 0; j < 2; j++)
		half[j] = ODD16((VECTOR(uint16_t))v[2 * j], (VECTOR(uint16_t))v[2 * j + 1]);
	split2(half, planes + 2, at, n_planes - 2);
}

/* As many whole groups as there are; returns how many values that was. */
static inline __attribute__((always_inline)) size_t
split_groups(const uint64_t *values, size_t n, uint8_t *const *planes, unsigned int n_planes)
{
	VECTOR(uint32_t) v[8], half[4];
	unsigned int j;
	size_t i;

	for (i = 0; n - i >= GROUP; i += GROUP) {
		memcpy(v, values + i, sizeof(v));
		for (j = 0; j < 4; j++)
			half[j] = EVEN32(v[2 * j], v[2 * j + 1]);
		split4(half, planes, i, n_planes);
		if (n_planes < 5)
			continue;
		for (j = 0; j < 4; j++)
			half[j] = ODD32(v[2 * j], v[2 * j + 1]);
		split4(half, planes + 4, i, n_planes - 4);
	}
	return i;
}

static inline void join2(VECTOR(uint16_t) *v, const uint8_t *const *planes, size_t at,
			 unsigned int n_planes)
{
	VECTOR(uint8_t) a = { 0 }, b = { 0 };

	if (n_planes > 0)
		memcpy(&a, planes[0] + at, sizeof(a));
	if (n_planes > 1)
		memcpy(&b, planes[1] + at, sizeof(b));
	v[0] = (VECTOR(uint16_t))LOW8(a, b);
	v[1] = (VECTOR(uint16_t))HIGH8(a, b);
}

static inline void join4(VECTOR(uint32_t) *v, const uint8_t *const *planes, size_t at,
			 unsigned int n_planes)
{
	VECTOR(uint16_t) a[2], b[2] = { { 0 }, { 0 } };
	unsigned int j;

	join2(a, planes, at, n_planes);
	if (n_planes > 2)
		join2(b, planes + 2, at, n_planes - 2);
	for (j = 0; j < 2; j++) {
		v[2 * j] = (VECTOR(uint32_t))LOW16(a[j], b[j]);
		v[2 * j + 1] = (VECTOR(uint32_t))HIGH16(a[j], b[j]);
	}
}

static inline __attribute__((always_inline)) size_t
join_groups(uint64_t *values, size_t n, const uint8_t *const *planes, unsigned int n_planes)
{
	VECTOR(uint32_t) a[4], b[4] = { { 0 }, { 0 }, { 0 }, { 0 } }, v[8];
	unsigned int j;
	size_t i;

	for (i = 0; n - i >= GROUP; i += GROUP) {
		join4(a, planes, i, n_planes);
		if (n_planes > 4)
			join4(b, planes + 4, i, n_planes - 4);
		for (j = 0; j < 4; j++) {
			v[2 * j] = LOW32(a[j], b[j]);
			v[2 * j + 1] = HIGH32(a[j], b[j]);
		}
		memcpy(values + i, v, sizeof(v));
	}
	return i;
}

#else

static size_t split_groups(const uint64_t *values, size_t n, uint8_t *const *planes,
			   unsigned int n_planes)
{
	(void)values, (void)n, (void)planes, (void)n_planes;
	return 0;
}

static size_t join_groups(uint64_t *values, size_t n, const uint8_t *const *planes,
			  unsigned int n_planes)
{
	(void)values, (void)n, (void)planes, (void)n_planes;
	return 0;
}

#endif

/* The numbers of planes that are common get code of their own, without what they do not need. */
void mt_planes_split(const uint64_t *values, size_t n, uint8_t *const *planes,
		     unsigned int n_planes)
{
	unsigned int k;
	size_t i;

	switch (n_planes) {
	case 0:
		return;
	case 1:
		i = split_groups(values, n, planes, 1);
		break;
	case 2:
		i = split_groups(values, n, planes, 2);
		break;
	case 6:
		i = split_groups(values, n, planes, 6);
		break;
	default:
		i = split_groups(values, n, planes, n_planes);
		break;
	}
	for (; i < n; i++) {
		for (k = 0; k < n_planes; k++)
			planes[k][i] = (uint8_t)(values[i] >> (8 * k));
	}
}

void mt_planes_join(uint64_t *values, size_t n, const uint8_t *const *planes,
		    unsigned int n_planes)
{
	unsigned int k;
	size_t i;

	switch (n_planes) {
	case 1:
		i = join_groups(values, n, planes, 1);
		break;
	case 2:
		i = join_groups(values, n, planes, 2);
		break;
	case 6:
		i = join_groups(values, n, planes, 6);
		break;
	default:
		i = join_groups(values, n, planes, n_planes);
		break;
	}
	for (; i < n; i++) {
		values[i] = 0;
		for (k = 0; k < n_planes; k++)
			values[i] |= (uint64_t)planes[k][i] << (8 * k);
	}
}
