#include "record/ring_room.h"

#include <criterion/criterion.h>

#include "record/record_opts.h"

Test(record_ring_room, without_pauses_as_asked_for)
{
	struct mt_ring_room ring = mt_ring_room(65536, false, MT_STACK_ROOM, 34000, 2);

	cr_assert_eq(ring.size, 65536);
}

/* Pauses come no later than at three quarters of what is asked for, if that is not tiny. */
Test(record_ring_room, room_is_left)
{
	uint64_t asked, processors, once, small;

	for (asked = 4096; asked <= MT_RING_SIZE_MAX / 4; asked *= 2) {
		for (processors = 1; processors <= 1024; processors *= 2) {
			struct mt_ring_room ring =
				mt_ring_room(asked, true, MT_STACK_ROOM, 34000, processors);

			cr_assert_eq(ring.size & (ring.size - 1), 0);
			cr_assert_geq(ring.size, asked);
			once = (processors + 1) * 34008;
			small = 4 * once;	/* at most */
			cr_assert_leq(ring.limit, (asked < small ? small : asked) / 4 * 3);
			cr_assert_gt(ring.limit, 0);
			cr_assert_geq(ring.size - ring.limit, MT_STACK_ROOM);
			cr_assert_geq(ring.size - ring.limit, once);
		}
	}
}

/* The defaults do not grow: pauses come earlier. */
Test(record_ring_room, large_rings_stay)
{
	struct mt_ring_room ring = mt_ring_room(32u << 20, true, MT_STACK_ROOM, 34000, 2);

	cr_assert_eq(ring.size, 32u << 20);
	cr_assert_eq(ring.limit, (32u << 20) - MT_STACK_ROOM);
	ring = mt_ring_room(32u << 20, true, MT_EVENT_ROOM, 352, 2);
	cr_assert_eq(ring.size, 32u << 20);
	cr_assert_eq(ring.limit, 24u << 20);
	ring = mt_ring_room(65536, true, MT_EVENT_ROOM, 352, 2);
	cr_assert_eq(ring.size, 1u << 20);
	cr_assert_eq(ring.limit, 49152);
}

Test(record_ring_room, the_largest_ring)
{
	struct mt_ring_room ring = mt_ring_room(MT_RING_SIZE_MAX, true, MT_STACK_ROOM, 65536,
						65536);

	cr_assert_eq(ring.size, MT_RING_SIZE_MAX);
	cr_assert_eq(ring.limit, MT_RING_SIZE_MAX / 4 * 3);
}
