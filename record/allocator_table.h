/*
 * record/allocator_table.h - the functions of the allocators we know, and the user's own.
 */
#ifndef MT_ALLOCATOR_TABLE_H
#define MT_ALLOCATOR_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct mt_allocator_specs;
struct mt_allocator_table;

/* Which functions a name belongs to; whose implementation it is can depend on the file. */
enum mt_function_family {
	MT_FAMILY_C,		/* malloc, free, ... as every allocator may define them */
	MT_FAMILY_LIBC,		/* the C library's other names for its own */
	MT_FAMILY_OPERATOR,	/* C++ operator new and delete */
	MT_FAMILY_JEMALLOC,
	MT_FAMILY_MIMALLOC,
	MT_FAMILY_TCMALLOC,
	MT_FAMILY_USER,
	MT_FAMILY_LEAVE,	/* where an allocator calls the program */
	MT_FAMILY_MARKER,	/* not probed; tells what the file is */
};

struct mt_allocator_function {
	const char *name;
	uint64_t cookie;	/* MT_COOKIE and MT_CALL_* of bpf/mt_ring.h */
	uint64_t fixed_size;	/* user: of every block, 0 if the call says */
	uint8_t family;		/* enum mt_function_family */
};

/* specs is borrowed and may be NULL. A user's function replaces a known one of its name. */
int mt_allocator_table_new(const struct mt_allocator_specs *specs,
			   struct mt_allocator_table **ret_table);
void mt_allocator_table_free(struct mt_allocator_table *table);

/* Sorted by name; both arrays have the same order. */
size_t mt_allocator_table_size(const struct mt_allocator_table *table);
const struct mt_allocator_function *mt_allocator_table_functions(
	const struct mt_allocator_table *table);
const char *const *mt_allocator_table_names(const struct mt_allocator_table *table);

/* Index of a name, -1 if it is not there. */
int mt_allocator_table_find(const struct mt_allocator_table *table, const char *name);

#endif
