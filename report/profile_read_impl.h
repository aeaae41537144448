/*
 * report/profile_read_impl.h - the inside of struct mt_profile_modules, for profile_read.c and
 * profile_modules.c only.
 */
#ifndef MT_PROFILE_READ_IMPL_H
#define MT_PROFILE_READ_IMPL_H

#include "report/profile_read.h"

/* Of debug_info: the functions of one key, as they come. */
struct mt_located_list {
	const char *key;
	size_t first, n;	/* in located */
};

/* Of "modules": a function that DWARF has another name for. */
struct mt_renamed_function {
	uint64_t svma;
	const char *name;
};

struct mt_profile_modules {
	int folder;		/* -1: there is none */
	char *text;		/* of the metadata; strings are in it */
	struct mt_profile_module *modules;	/* sorted by build-id */
	size_t n;
	uint32_t cap;
	struct mt_profile_located *located;
	size_t n_located;
	uint32_t cap_located;
	struct mt_located_list *lists;	/* sorted by key */
	size_t n_lists;
	uint32_t cap_lists;
	struct mt_renamed_function *functions;
	size_t n_functions;
	uint32_t cap_functions;
};

/* -1, 0, 1: by length, then by bytes. */
int mt_profile_compare_ids(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b);

#endif
