/*
 * record/ring_room.h - how large a ring is, and from what on it counts as filling up.
 *
 * When the programs find a ring filling up, each processor can be about to add one more record,
 * and so can each process that runs before its stop arrives, one after the other: there must be
 * room for them, or a pause would not save them.
 */
#ifndef MT_RING_ROOM_H
#define MT_RING_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct mt_ring_room {
	uint64_t size;
	uint64_t limit;		/* bytes in it */
};

/* For these that are left at the limit, if there are pauses. */
#define MT_EVENT_ROOM (15u << 16)
#define MT_STACK_ROOM (15u << 20)

/*
 * asked: a power of two. Without pauses the ring is as large. With them a smaller one than for two
 * of the largest records a processor counts as one for these, and there is room, or at least for
 * one such record a processor, from the limit on.
 */
struct mt_ring_room mt_ring_room(uint64_t asked, bool pauses, uint64_t room, uint64_t record,
				 uint64_t processors);

#endif
