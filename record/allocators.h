/*
 * record/allocators.h - the allocator functions of a file and how to probe them.
 */
#ifndef MT_ALLOCATORS_H
#define MT_ALLOCATORS_H

#include <stddef.h>
#include <stdint.h>

#define MT_PROBES_MAX 32

struct mt_probe {
	const char *function;	/* static */
	uint64_t offset;	/* in the file */
	uint64_t cookie;	/* MT_COOKIE of bpf/mt_ring.h */
};

/*
 * Which probes the file at fd needs: one per offset, however many names lead there.
 * *ret_n is 0 for a file without allocators. -MT_E_NOT_ELF, -errno.
 */
int mt_allocators_find(int fd, struct mt_probe ret_probes[MT_PROBES_MAX], size_t *ret_n);

#endif
