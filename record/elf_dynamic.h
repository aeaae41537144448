/*
 * record/elf_dynamic.h - what an ELF file needs to be loaded: interpreter, libraries, search paths.
 *
 * Reads program headers and the dynamic section of a 64-bit little-endian file (gABI chapter 5);
 * the file is hostile.
 */
#ifndef MT_ELF_DYNAMIC_H
#define MT_ELF_DYNAMIC_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct mt_elf_dynamic;
struct mt_elf_image;

/* Of a file's libraries and search paths, so much in all. */
#define MT_ELF_DYNAMIC_TEXT_MAX (256u << 10)

/* Entry i of a PT_DYNAMIC segment; false at its end and DT_NULL, and where it cannot be read. */
bool mt_elf_dynamic_entry(const struct mt_elf_image *image, const Elf64_Phdr *phdr, size_t i,
			  Elf64_Dyn *ret_entry);

/* The PT_DYNAMIC segment that counts: of several, as to ld.so, the last. NULL: there is none. */
const Elf64_Phdr *mt_elf_dynamic_segment(const struct mt_elf_image *image);

/*
 * 0, -MT_E_NOT_ELF, -ENOMEM, -EFBIG (more than the bounds here and of elf_image), -errno.
 * fd is borrowed, and not needed afterwards.
 */
int mt_elf_dynamic_read(int fd, struct mt_elf_dynamic **ret_dynamic);
void mt_elf_dynamic_free(struct mt_elf_dynamic *dynamic);

/* Strings live as long as the object; "" if absent. */
const char *mt_elf_dynamic_interpreter(const struct mt_elf_dynamic *dynamic);
const char *mt_elf_dynamic_rpath(const struct mt_elf_dynamic *dynamic);
const char *mt_elf_dynamic_runpath(const struct mt_elf_dynamic *dynamic);
size_t mt_elf_dynamic_needed(const struct mt_elf_dynamic *dynamic);
const char *mt_elf_dynamic_needed_at(const struct mt_elf_dynamic *dynamic, size_t index);

#endif
