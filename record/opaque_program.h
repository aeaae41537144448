/*
 * record/opaque_program.h - programs that may allocate where nobody can see it.
 */
#ifndef MT_OPAQUE_PROGRAM_H
#define MT_OPAQUE_PROGRAM_H

#include <stdbool.h>

struct mt_elf_image;

/*
 * Is the file a whole program, linked with all it needs, whose functions have no names? It
 * may well have an allocator. has_symbols: there is a symbol table with functions.
 */
bool mt_program_is_opaque(const struct mt_elf_image *image, bool has_symbols);

#endif
