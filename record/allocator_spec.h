/*
 * record/allocator_spec.h - allocator functions that the user names: --allocator.
 *
 *	SPEC = FUNCTION=KIND(ARGUMENT,...)[:throws] [SPEC...]
 *
 * "pool_alloc=malloc(2)" says that pool_alloc works as malloc does, with the size as its second
 * argument. KIND is the standard function it resembles, and the numbers stand where that function
 * has its arguments. An argument can be named instead (size, count, ptr, align, out), and
 * "#48" in the place of a size is one that is always the same. ":throws" behind the ")" says that a
 * C++ exception may leave the function, as it may one with a mangled name. See mt-record(1).
 */
#ifndef MT_ALLOCATOR_SPEC_H
#define MT_ALLOCATOR_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "common/options.h"

#define MT_SPEC_NAME_MAX 256
#define MT_SPECS_MAX 256

struct mt_allocator_spec {
	char function[MT_SPEC_NAME_MAX];
	uint64_t cookie;		/* MT_COOKIE and MT_CALL_* of bpf/mt_ring.h */
	uint64_t fixed_size;		/* of every block; 0: the call says */
};

struct mt_allocator_specs {
	struct mt_allocator_spec *items;
	size_t n;
};

/*
 * Add what text says to specs. -EINVAL with one line in error that names the column, -ENOMEM;
 * specs is valid in any case.
 */
int mt_allocator_specs_parse(struct mt_allocator_specs *specs, const char *text,
			     char error[MT_OPTIONS_ERROR_MAX]);
void mt_allocator_specs_release(struct mt_allocator_specs *specs);

#endif
