/*
 * record/elf_names.h - where in a string table of an ELF file the names are that are looked for.
 *
 * A table is read once, from its start to its end and a piece at a time, however large it is and
 * whatever order its symbols have. Symbols are told apart by number then, without their names. The
 * file is hostile.
 */
#ifndef MT_ELF_NAMES_H
#define MT_ELF_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct mt_elf_image;
struct mt_elf_names;

/* Of a name that is looked for, its NUL included: longer ones are not found. */
#define MT_ELF_NAME_MAX 256u

/* Places that are found in a table; of one with more the others are left out, which is said. */
#define MT_ELF_PLACES_MAX 65536u

/*
 * Bytes of tables that are read, fewer if many strings end as names do that are looked for: a table
 * for which too few are left is left out, which is said.
 */
#define MT_ELF_NAME_BYTES_MAX (1ull << 30)

/* names are borrowed. -ENOMEM. */
int mt_elf_names_new(const char *const *names, size_t n, struct mt_elf_names **ret_names);
void mt_elf_names_free(struct mt_elf_names *names);

/*
 * Look through the table [at, at + size) of the file, which lies in it; not again if it is the one
 * that was last. What cannot be read or is too much is remembered by the image.
 */
void mt_elf_names_read(struct mt_elf_names *names, const struct mt_elf_image *image, uint64_t at,
		       uint64_t size);

/* The index of the name that this is the offset of in the table, -1 if it is of none. */
int mt_elf_names_at(const struct mt_elf_names *names, uint32_t offset);

#endif
