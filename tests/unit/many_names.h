/*
 * tests/unit/many_names.h - a file with one symbol table, and names of any size.
 */
#ifndef MT_TESTS_MANY_NAMES_H
#define MT_TESTS_MANY_NAMES_H

#include <criterion/criterion.h>
#include <elf.h>
#include <stddef.h>

struct many_names {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[3];
	Elf64_Sym syms[3];
	char names[];
};

/* Section headers, two functions and their names. */
static inline void *make_many_names(size_t n_names, size_t *ret_size)
{
	size_t size = sizeof(struct many_names) + n_names;
	struct many_names *file = calloc(1, size);

	cr_assert_not_null(file);
	memcpy(file->ehdr.e_ident, ELFMAG "\2\1\1", 7);
	file->ehdr.e_phoff = offsetof(struct many_names, phdr);
	file->ehdr.e_phentsize = sizeof(file->phdr);
	file->ehdr.e_phnum = 1;
	file->ehdr.e_shoff = offsetof(struct many_names, shdrs);
	file->ehdr.e_shentsize = sizeof(file->shdrs[0]);
	file->ehdr.e_shnum = MT_ARRAY_SIZE(file->shdrs);
	file->phdr = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = size };
	file->shdrs[1] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct many_names, syms),
		.sh_size = sizeof(file->syms), .sh_entsize = sizeof(file->syms[0]), .sh_link = 2,
	};
	file->shdrs[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct many_names, names),
		.sh_size = n_names,
	};
	file->syms[1] = (Elf64_Sym){ .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x40 };
	file->syms[2] = file->syms[1];
	memset(file->names, 'x', n_names);
	*ret_size = size;
	return file;
}

#endif
