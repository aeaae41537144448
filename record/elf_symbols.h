/*
 * record/elf_symbols.h - where named functions of an ELF file lie in the file.
 *
 * Reads ELF-64 little-endian .dynsym and .symtab directly (gABI chapters 4 and 5); the file is
 * hostile. Needs no build-id, no DWARF, no library.
 */
#ifndef MT_ELF_SYMBOLS_H
#define MT_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * For each of names (sorted by strcmp) the file offset of the defined function of that name, 0 if
 * there is none. A name with several versions gives the last one seen in .dynsym, whose aliases
 * mostly share an address. -MT_E_NOT_ELF: not an ELF file of this machine; -errno.
 */
int mt_elf_find_functions(int fd, const char *const *names, size_t n, uint64_t *ret_offsets);

#endif
