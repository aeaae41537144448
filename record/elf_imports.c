#include "record/elf_imports.h"

#include <errno.h>

#include "record/elf_dynamic.h"
#include "record/elf_image.h"

#define RELA_MAX 1000000u
#define RELAS_AT_ONCE 128u
#define R_X86_64_RELATIVE_ 8
#define R_AARCH64_RELATIVE_ 1027

struct dynamic {
	uint64_t rela;
	uint64_t rela_size;
	uint64_t jmprel;
	uint64_t jmprel_size;
	uint64_t symtab;
	uint64_t strtab;
	uint64_t strtab_size;
};

static bool read_dynamic(const struct mt_elf_image *image, struct dynamic *ret_dynamic)
{
	struct dynamic dynamic = {};
	Elf64_Dyn entry;
	const Elf64_Phdr *segment = mt_elf_dynamic_segment(image);
	size_t i;

	if (!segment)
		return false;
	for (i = 0; mt_elf_dynamic_entry(image, segment, i, &entry); i++) {
		switch (entry.d_tag) {
		case DT_RELA: dynamic.rela = entry.d_un.d_ptr; break;
		case DT_RELASZ: dynamic.rela_size = entry.d_un.d_val; break;
		case DT_JMPREL: dynamic.jmprel = entry.d_un.d_ptr; break;
		case DT_PLTRELSZ: dynamic.jmprel_size = entry.d_un.d_val; break;
		case DT_SYMTAB: dynamic.symtab = entry.d_un.d_ptr; break;
		case DT_STRTAB: dynamic.strtab = entry.d_un.d_ptr; break;
		case DT_STRSZ: dynamic.strtab_size = entry.d_un.d_val; break;
		}
	}
	*ret_dynamic = dynamic;
	return true;
}

static bool find_rela(const struct mt_elf_image *image, uint64_t table, uint64_t size,
		      uint64_t slot, Elf64_Rela *ret_rela)
{
	int64_t offset = size ? mt_elf_image_offset(image, table, 0) : -1;
	size_t i, k, some, n = size / sizeof(*ret_rela);
	Elf64_Rela relas[RELAS_AT_ONCE];

	if (offset < 0 || n > RELA_MAX)
		return false;
	for (i = 0; i < n; i += some) {
		some = n - i < RELAS_AT_ONCE ? n - i : RELAS_AT_ONCE;
		if (!mt_elf_image_get(image, (uint64_t)offset + i * sizeof(*relas), relas,
				      some * sizeof(*relas)))
			return false;
		for (k = 0; k < some; k++) {
			if (relas[k].r_offset != slot)
				continue;
			*ret_rela = relas[k];
			return true;
		}
	}
	return false;
}

static bool read_symbol(const struct mt_elf_image *image, const struct dynamic *dynamic,
			const Elf64_Rela *rela, struct mt_elf_import *ret_import)
{
	uint64_t index = ELF64_R_SYM(rela->r_info);
	int64_t symtab = mt_elf_image_offset(image, dynamic->symtab, 0);
	int64_t strtab = mt_elf_image_offset(image, dynamic->strtab, 0);
	Elf64_Sym symbol;
	int len;

	if (symtab < 0 || strtab < 0 || index > image->size / sizeof(symbol) ||
	    !mt_elf_image_get(image, (uint64_t)symtab + index * sizeof(symbol), &symbol,
			      sizeof(symbol)))
		return false;
	len = mt_elf_image_string(image, (uint64_t)strtab, dynamic->strtab_size, symbol.st_name,
				  ret_import->name, sizeof(ret_import->name));
	if (len < 0 && len != -E2BIG)
		return false;
	if (len < 0)
		ret_import->name[0] = '\0';
	ret_import->vaddr = symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
	return true;
}

bool mt_elf_import_find(const struct mt_elf_image *image, uint64_t slot,
			struct mt_elf_import *ret_import)
{
	struct dynamic dynamic;
	Elf64_Rela rela;
	uint64_t type;

	if (!read_dynamic(image, &dynamic) ||
	    (!find_rela(image, dynamic.jmprel, dynamic.jmprel_size, slot, &rela) &&
	     !find_rela(image, dynamic.rela, dynamic.rela_size, slot, &rela)))
		return false;
	type = ELF64_R_TYPE(rela.r_info);
	if (ELF64_R_SYM(rela.r_info))
		return read_symbol(image, &dynamic, &rela, ret_import);
	if (type != R_X86_64_RELATIVE_ && type != R_AARCH64_RELATIVE_)
		return false;
	ret_import->name[0] = '\0';
	ret_import->vaddr = (uint64_t)rela.r_addend;
	return true;
}
