#include "record/ring_room.h"

#include "bpf/mt_ring.h"
#include "record/record_opts.h"

#define HEADER 8

struct mt_ring_room mt_ring_room(uint64_t asked, bool pauses, uint64_t room, uint64_t record,
				 uint64_t processors)
{
	struct mt_ring_room ring = { .size = asked, .limit = asked - asked / 4 };
	uint64_t once = (processors + 1) * (record + HEADER), needed;

	if (!pauses)
		return ring;
	while (asked < 2 * once && asked < MT_RING_SIZE_MAX)
		asked *= 2;
	ring.limit = asked - asked / 4;
	if (room < once)
		room = once;
	needed = room + (ring.limit < room ? ring.limit : room);
	while (ring.size < needed && ring.size < MT_RING_SIZE_MAX)
		ring.size *= 2;
	if (ring.size > room && ring.size - room < ring.limit)
		ring.limit = ring.size - room;
	return ring;
}
