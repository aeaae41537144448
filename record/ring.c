#include "record/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A ring's map fd maps as: consumer position (one page, writable), producer position (one page),
 * then the data twice in a row, so that no record wraps.
 */
struct mt_ring {
	unsigned long *consumer_pos;
	unsigned long *producer_pos;
	const uint8_t *data;
	size_t mask;
	size_t page_size;
	unsigned long pos;	/* of the next record; ahead of *consumer_pos until release */
};

int mt_ring_open(int map_fd, struct mt_ring **ret_ring)
{
	struct bpf_map_info info = {};
	__u32 info_len = sizeof(info);
	struct mt_ring *ring;
	void *area;
	int err;

	if (bpf_obj_get_info_by_fd(map_fd, &info, &info_len))
		return -errno;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->page_size = sysconf(_SC_PAGESIZE);
	ring->mask = info.max_entries - 1;

	area = mmap(NULL, ring->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (area == MAP_FAILED) {
		err = -errno;
		goto out_free;
	}
	ring->consumer_pos = area;
	area = mmap(NULL, ring->page_size + 2 * (ring->mask + 1), PROT_READ, MAP_SHARED, map_fd,
		    ring->page_size);
	if (area == MAP_FAILED) {
		err = -errno;
		goto out_free;
	}
	ring->producer_pos = area;
	ring->data = (uint8_t *)area + ring->page_size;
	ring->pos = *ring->consumer_pos;
	*ret_ring = ring;
	return 0;

out_free:
	mt_ring_free(ring);
	return err;
}

void mt_ring_free(struct mt_ring *ring)
{
	if (!ring)
		return;
	if (ring->consumer_pos)
		munmap(ring->consumer_pos, ring->page_size);
	if (ring->producer_pos)
		munmap(ring->producer_pos, ring->page_size + 2 * (ring->mask + 1));
	free(ring);
}

bool mt_ring_next(struct mt_ring *ring, const void **ret_data, size_t *ret_len)
{
	while (ring->pos < __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE)) {
		const uint8_t *record = ring->data + (ring->pos & ring->mask);
		uint32_t header = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		size_t len = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT)
			return false;
		ring->pos += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7UL;
		if (header & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_data = record + BPF_RINGBUF_HDR_SZ;
		*ret_len = len;
		return true;
	}
	return false;
}

void mt_ring_release(struct mt_ring *ring)
{
	__atomic_store_n(ring->consumer_pos, ring->pos, __ATOMIC_RELEASE);
}

void mt_ring_restart(struct mt_ring *ring)
{
	ring->pos = __atomic_load_n(ring->consumer_pos, __ATOMIC_ACQUIRE);
}

uint64_t mt_ring_mark(const struct mt_ring *ring)
{
	return __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE);
}

uint64_t mt_ring_position(const struct mt_ring *ring)
{
	return ring->pos;
}

bool mt_ring_passed(const struct mt_ring *ring, uint64_t mark)
{
	return ring->pos >= mark;
}

bool mt_ring_empty(const struct mt_ring *ring)
{
	return __atomic_load_n(ring->consumer_pos, __ATOMIC_ACQUIRE) >=
	       __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE);
}
