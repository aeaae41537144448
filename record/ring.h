/*
 * record/ring.h - consumer side of a BPF ring buffer (kernel/bpf/ringbuf.c).
 *
 * Records are read in place: what mt_ring_next() gives is valid until mt_ring_release() returns
 * its space to the kernel. One consumer thread per ring.
 */
#ifndef MT_RECORD_RING_H
#define MT_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_ring;

/* map_fd is borrowed. 0, -ENOMEM, -errno. */
int mt_ring_open(int map_fd, struct mt_ring **ret_ring);
void mt_ring_free(struct mt_ring *ring);

/* Next record that is complete: false if there is none now. Discarded ones are passed over. */
bool mt_ring_next(struct mt_ring *ring, const void **ret_data, size_t *ret_len);

/* Has all that was ever reserved been released? From any thread. */
bool mt_ring_empty(const struct mt_ring *ring);

/* Position behind the last record reserved so far, for mt_ring_passed(). */
uint64_t mt_ring_mark(const struct mt_ring *ring);
/* Position behind the last record that mt_ring_next() gave or passed over. */
uint64_t mt_ring_position(const struct mt_ring *ring);
/*
 * Has all before the mark been read? If not and mt_ring_next() gives nothing, a record is being
 * filled.
 */
bool mt_ring_passed(const struct mt_ring *ring, uint64_t mark);

/* Go back to the first record that has not been released. */
void mt_ring_restart(struct mt_ring *ring);

/* Give all that mt_ring_next() has passed back to the kernel. */
void mt_ring_release(struct mt_ring *ring);

#endif
