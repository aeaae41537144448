/*
 * record/wait_places.h - the places in a file where a process can wait for probes instead of being
 * stopped for them.
 *
 * Dynamic linkers call _dl_debug_state(), which does nothing, for debuggers: when files have been
 * mapped and none of their code has run. Who executes a file calls execve() or its like.
 *
 * In one that is the C library too (musl's) code is also mapped for whoever calls mmap(), without
 * coming by. But it calls _dl_debug_state() before too, and whether it is before or after is in
 * what it tells debuggers: the probe's cookie leads to that.
 */
#ifndef MT_WAIT_PLACES_H
#define MT_WAIT_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "record/allocators.h"

#define MT_WAIT_PLACES_MAX 4

struct mt_wait_places {
	struct mt_probe probes[MT_WAIT_PLACES_MAX];
	size_t n;
	uint8_t linker;		/* MT_LINKER_*, if one is that of a dynamic linker; 0 */
};

/* Of the file at fd. 0, -MT_E_NOT_ELF, -errno. */
int mt_wait_places_find(int fd, struct mt_wait_places *ret_places);

#endif
