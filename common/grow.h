/*
 * common/grow.h - arrays that grow by one element at a time.
 */
#ifndef MT_GROW_H
#define MT_GROW_H

#include <stddef.h>
#include <stdint.h>

/* For arrays that nothing else limits: doubled once more, their room is still a uint32_t. */
#define MT_GROW_MAX (UINT32_MAX / 4)

/* What an allocation takes besides its bytes, for who counts what small ones take. */
#define MT_ALLOCATION_BYTES 16u

/*
 * Room for another element of size bytes behind the n that there are. array is the address of the
 * pointer to them; *cap is their room, 0 if there is none yet. 0, -ENOMEM; -MT_E_LIMIT if there are
 * max of them and no room is left. On error all is as it was.
 */
int mt_grow(void *array, uint32_t n, uint32_t *cap, size_t size, uint32_t max);

#endif
