/*
 * record/wait_places.h - the places in a file where a process can wait for probes instead of being
 * stopped for them.
 *
 * Dynamic linkers call _dl_debug_state(), which does nothing, for debuggers: when files have been
 * mapped and none of their code has run. Who executes a file calls execve() or its like.
 */
#ifndef MT_WAIT_PLACES_H
#define MT_WAIT_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "record/allocators.h"

#define MT_WAIT_PLACES_MAX 4

struct mt_wait_places {
	struct mt_probe probes[MT_WAIT_PLACES_MAX];
	size_t n;
	/*
	 * One is that of a dynamic linker that no program calls mmap() of: in one that is the C
	 * library too (musl's) code is mapped without coming by.
	 */
	bool linker;
};

/* Of the file at fd. 0, -MT_E_NOT_ELF, -errno. */
int mt_wait_places_find(int fd, struct mt_wait_places *ret_places);

#endif
