/*
 * record/elf_symbols.h - where named functions of an ELF file are.
 *
 * Reads .dynsym and .symtab directly (gABI chapters 4 and 5), in pieces; the file is hostile. Needs
 * no build-id, no DWARF, no library.
 */
#ifndef MT_ELF_SYMBOLS_H
#define MT_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_elf_image;

/*
 * For each of names (below MT_ELF_NAME_MAX bytes) the virtual address of the defined function of
 * that name, 0 if there is none. A name with several versions gives the last one seen in .dynsym,
 * whose aliases mostly share an address. True: the file has a table of its own functions (.symtab).
 */
bool mt_elf_find_functions(const struct mt_elf_image *image, const char *const *names, size_t n,
			   uint64_t *ret_vaddrs);

/* The same of data that is in the file and can be written to. */
void mt_elf_find_objects(const struct mt_elf_image *image, const char *const *names, size_t n,
			 uint64_t *ret_vaddrs);

#endif
