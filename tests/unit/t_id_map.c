#include "report/id_map.h"
#include "report/pages.h"

#include <criterion/criterion.h>

/* Each of n ids, which differ, gets the next slot, and keeps it. */
static void check(const uint32_t *ids, uint32_t n)
{
	struct mt_id_map map;
	uint32_t i;

	mt_id_map_init(&map);
	for (i = 0; i < n; i++) {
		cr_assert_eq(mt_id_map_count(&map), i);
		cr_assert_eq(mt_id_map_find(&map, ids[i]), UINT32_MAX, "id %u", ids[i]);
		cr_assert_eq(mt_id_map_add(&map, ids[i]), 0);
		cr_assert_eq(mt_id_map_find(&map, ids[i]), i);
	}
	for (i = 0; i < n; i++)
		cr_assert_eq(mt_id_map_find(&map, ids[i]), i, "id %u", ids[i]);
	/* Four bytes for each id that may come, at the most. */
	cr_expect_leq(map.n_small, 2 * (1024 + 4 * n));
	mt_id_map_release(&map);
	cr_expect_eq(mt_id_map_count(&map), 0);
}

Test(id_map, ids_of_any_size)
{
	static const uint32_t odd[] = { UINT32_MAX, 0, 1023, 1024, 1u << 31, 1, 5000, 1025, 4096 };
	static uint32_t ids[30000];
	uint32_t i;

	check(odd, MT_ARRAY_SIZE(odd));
	for (i = 0; i < MT_ARRAY_SIZE(ids); i++)
		ids[i] = i + 1;
	check(ids, MT_ARRAY_SIZE(ids));
	for (i = 0; i < MT_ARRAY_SIZE(ids); i++)
		ids[i] = (uint32_t)MT_ARRAY_SIZE(ids) - i;
	check(ids, MT_ARRAY_SIZE(ids));
	/* First in the table, later small enough for the array. */
	for (i = 0; i < MT_ARRAY_SIZE(ids); i++)
		ids[i] = i % 2 ? i : 70000 - i;
	check(ids, MT_ARRAY_SIZE(ids));
	for (i = 0; i < MT_ARRAY_SIZE(ids); i++)
		ids[i] = i * 100003u;
	check(ids, MT_ARRAY_SIZE(ids));
}

Test(pages, cleared_and_at_a_cache_line)
{
	static const size_t sizes[] = { 0, 1, 64, 100000, 4194303, 4194304, 5000001 };
	unsigned char *memory;
	size_t i, k;

	for (i = 0; i < MT_ARRAY_SIZE(sizes); i++) {
		memory = mt_pages_alloc(sizes[i], 1);
		cr_assert_not_null(memory);
		cr_expect_eq((uintptr_t)memory % MT_CACHE_LINE, 0);
		for (k = 0; k < sizes[i]; k++)
			cr_assert_eq(memory[k], 0);
		memset(memory, 1, sizes[i]);
		mt_pages_free(memory, sizes[i], 1);
	}
	cr_expect_null(mt_pages_alloc(SIZE_MAX / 2, 4));
	mt_pages_free(NULL, 0, 1);
}
