#include "report/regions.h"
#include "report/timeline.h"

#include "common/error.h"

#include <criterion/criterion.h>
#include <errno.h>

#define PAGES 300u
#define OWNERS 40u
#define ROUNDS 40000u

/* What is told, summed up. */
static int64_t bytes_of[OWNERS], count_of[OWNERS];

static void gone(void *arg, uint32_t stack, uint32_t thread, uint64_t bytes, int regions)
{
	cr_assert_eq(arg, bytes_of);
	cr_assert_eq(thread, stack + 1000);
	bytes_of[stack] -= (int64_t)bytes;
	count_of[stack] -= regions;
}

static uint32_t next_random(uint32_t limit)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % limit;
}

/* Page by page: by which call it was mapped, 0 none; and whose that call was. */
static uint32_t model[2][PAGES];
static uint32_t owner_of[ROUNDS + 1];

static void compare(uint32_t round)
{
	int64_t bytes[OWNERS] = { 0 }, count[OWNERS] = { 0 };
	uint32_t space, page, call, i;

	for (space = 0; space < 2; space++)
		for (page = 0; page < PAGES; page++) {
			call = model[space][page];
			if (!call)
				continue;
			bytes[owner_of[call]]++;
			count[owner_of[call]] += !page || model[space][page - 1] != call;
		}
	for (i = 0; i < OWNERS; i++) {
		cr_assert_eq(bytes_of[i], bytes[i], "round %u", round);
		cr_assert_eq(count_of[i], count[i], "round %u", round);
	}
}

/* Every way in which ranges can overlap, against an array of pages. */
Test(regions, as_page_by_page)
{
	struct mt_regions *regions;
	struct mt_region region;
	uint32_t round, space, i;

	cr_assert_eq(mt_regions_new(2, gone, bytes_of, &regions), 0);
	for (round = 1; round <= ROUNDS; round++) {
		space = next_random(2);
		region.start = next_random(PAGES);
		region.end = region.start + 1 + next_random(next_random(4) ? 8 : 90);
		region.end = region.end < PAGES ? region.end : PAGES;
		if (next_random(1000) == 0) {
			mt_regions_clear(regions, space);
			region.start = 0;
			region.end = PAGES;
			memset(model[space], 0, sizeof(model[space]));
		} else if (next_random(2)) {
			region.stack = owner_of[round] = next_random(OWNERS);
			region.thread = region.stack + 1000;
			cr_assert_eq(mt_regions_map(regions, space, &region), 0);
			bytes_of[region.stack] += (int64_t)(region.end - region.start);
			count_of[region.stack]++;
			for (i = region.start; i < region.end; i++)
				model[space][i] = round;
		} else {
			cr_assert_eq(mt_regions_unmap(regions, space, region.start, region.end), 0);
			for (i = region.start; i < region.end; i++)
				model[space][i] = 0;
		}
		compare(round);
	}
	mt_regions_free(regions);
	mt_regions_free(NULL);
}

/* In whatever order they come, many are not slow. */
Test(regions, many, .timeout = 60)
{
	struct mt_region region = { .thread = 1000 };
	struct mt_regions *regions;
	uint64_t i;

	cr_assert_eq(mt_regions_new(1, gone, bytes_of, &regions), 0);
	for (i = 0; i < 400000; i++) {
		region.start = i * 8192;
		region.end = region.start + 4096;
		cr_assert_eq(mt_regions_map(regions, 0, &region), 0);
	}
	cr_assert_eq(mt_regions_unmap(regions, 0, 0, UINT64_MAX), 0);
	cr_expect_eq(bytes_of[0], -400000 * 4096ll);
	cr_expect_eq(count_of[0], -400000);
	mt_regions_free(regions);
}

static void expect(struct mt_event event, uint64_t start, uint64_t end, bool maps)
{
	struct mt_region_change change;

	cr_assert_eq(mt_region_change_of(&event, 4096, &change), 0);
	cr_expect_eq(change.start, start, "%lx", change.start);
	cr_expect_eq(change.end, end, "%lx", change.end);
	cr_expect_eq(change.maps, maps);
}

Test(regions, of_calls)
{
	struct mt_region_change change;
	struct mt_event event = { .type = MT_EV_MMAP, .addr = UINT64_MAX - 4096, .size = 2 };

	expect((struct mt_event){ .type = MT_EV_MMAP, .addr = 0x1000, .size = 1 }, 0x1000, 0x2000,
	       true);
	expect((struct mt_event){ .type = MT_EV_MUNMAP, .addr = 0x1000, .size = 0x1001 }, 0x1000,
	       0x3000, false);
	expect((struct mt_event){ .type = MT_EV_MREMAP, .addr = 0x1000, .size = 0x1000,
				  .old_addr = 0x9000, .old_size = 0x5000 }, 0x1000, 0x2000, true);
	expect((struct mt_event){ .type = MT_EV_GIVE_UP_REGION, .addr = 0x9000, .size = 0x5000 },
	       0x9000, 0xe000, false);
	/* A heap that does not begin with a page has its first page behind its begin. */
	expect((struct mt_event){ .type = MT_EV_BRK, .addr = 0x1234, .size = 0x2000 }, 0x2000,
	       0x4000, true);
	expect((struct mt_event){ .type = MT_EV_BRK, .addr = 0x1000, .size = 0x2800,
				  .old_size = 0x1800 }, 0x3000, 0x4000, true);
	expect((struct mt_event){ .type = MT_EV_BRK, .addr = 0x1000, .size = 0x800,
				  .old_size = 0x3800 }, 0x2000, 0x5000, false);
	expect((struct mt_event){ .type = MT_EV_BRK, .addr = 0x1000, .size = 0x900,
				  .old_size = 0x800 }, 0x2000, 0x2000, false);
	cr_expect_eq(mt_region_change_of(&event, 4096, &change), -EINVAL);
	event = (struct mt_event){ .type = MT_EV_MUNMAP, .addr = 4096, .size = UINT64_MAX };
	cr_expect_eq(mt_region_change_of(&event, 4096, &change), -EINVAL);
	event = (struct mt_event){ .type = MT_EV_MALLOC, .addr = 4096, .size = 1 };
	cr_expect_eq(mt_region_change_of(&event, 4096, &change), -EINVAL);
}
