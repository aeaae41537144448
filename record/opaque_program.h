/*
 * record/opaque_program.h - programs that may allocate where nobody can see it.
 */
#ifndef MT_OPAQUE_PROGRAM_H
#define MT_OPAQUE_PROGRAM_H

#include <stdbool.h>

struct mt_elf_image;

/*
 * Why blocks of the file's own are not seen, static, or NULL: it is a whole program, linked with
 * all it needs, whose functions have no names, and may well have an allocator; or its language has
 * a heap that no function as those of C allocates from. has_symbols: there is a symbol table with
 * functions. has_allocator: functions of it are probed. Or a part of it could not be read, be it
 * now or before, so that nobody knows.
 */
const char *mt_program_unseen(const struct mt_elf_image *image, bool has_symbols,
			      bool has_allocator);

#endif
