/*
 * record/elf_dynamic.h - what an ELF file needs to be loaded: interpreter, libraries, search paths.
 *
 * Reads program headers and the dynamic section of a 64-bit little-endian file (gABI chapter 5);
 * the file is hostile.
 */
#ifndef MT_ELF_DYNAMIC_H
#define MT_ELF_DYNAMIC_H

#include <stddef.h>

struct mt_elf_dynamic;

/* 0, -MT_E_NOT_ELF, -ENOMEM, -errno. fd is borrowed, and not needed afterwards. */
int mt_elf_dynamic_read(int fd, struct mt_elf_dynamic **ret_dynamic);
void mt_elf_dynamic_free(struct mt_elf_dynamic *dynamic);

/* Strings live as long as the object; "" if absent. */
const char *mt_elf_dynamic_interpreter(const struct mt_elf_dynamic *dynamic);
const char *mt_elf_dynamic_rpath(const struct mt_elf_dynamic *dynamic);
const char *mt_elf_dynamic_runpath(const struct mt_elf_dynamic *dynamic);
size_t mt_elf_dynamic_needed(const struct mt_elf_dynamic *dynamic);
const char *mt_elf_dynamic_needed_at(const struct mt_elf_dynamic *dynamic, size_t index);

#endif
