#include "record/elf_imports.h"

#include "record/elf_image.h"

#define RELA_MAX 1000000u
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
	const Elf64_Dyn *entry;
	size_t i, n;

	for (i = 0; i < image->n_phdrs && image->phdrs[i].p_type != PT_DYNAMIC; i++)
		;
	if (i == image->n_phdrs)
		return false;
	entry = mt_elf_image_range(image, image->phdrs[i].p_offset, image->phdrs[i].p_filesz);
	n = image->phdrs[i].p_filesz / sizeof(*entry);
	if (!entry)
		return false;
	for (i = 0; i < n && entry->d_tag != DT_NULL; i++, entry++) {
		switch (entry->d_tag) {
		case DT_RELA: dynamic.rela = entry->d_un.d_ptr; break;
		case DT_RELASZ: dynamic.rela_size = entry->d_un.d_val; break;
		case DT_JMPREL: dynamic.jmprel = entry->d_un.d_ptr; break;
		case DT_PLTRELSZ: dynamic.jmprel_size = entry->d_un.d_val; break;
		case DT_SYMTAB: dynamic.symtab = entry->d_un.d_ptr; break;
		case DT_STRTAB: dynamic.strtab = entry->d_un.d_ptr; break;
		case DT_STRSZ: dynamic.strtab_size = entry->d_un.d_val; break;
		}
	}
	*ret_dynamic = dynamic;
	return true;
}

static const Elf64_Rela *find_rela(const struct mt_elf_image *image, uint64_t table, uint64_t size,
				   uint64_t slot)
{
	int64_t offset = size ? mt_elf_image_offset(image, table, 0) : -1;
	const Elf64_Rela *rela;
	size_t i, n = size / sizeof(*rela);

	rela = offset < 0 ? NULL : mt_elf_image_range(image, (uint64_t)offset, n * sizeof(*rela));
	if (!rela || n > RELA_MAX)
		return NULL;
	for (i = 0; i < n; i++)
		if (rela[i].r_offset == slot)
			return &rela[i];
	return NULL;
}

static bool read_symbol(const struct mt_elf_image *image, const struct dynamic *dynamic,
			const Elf64_Rela *rela, struct mt_elf_import *ret_import)
{
	uint64_t index = ELF64_R_SYM(rela->r_info);
	int64_t symtab = mt_elf_image_offset(image, dynamic->symtab, 0);
	int64_t strtab = mt_elf_image_offset(image, dynamic->strtab, 0);
	const Elf64_Sym *symbol;
	const char *name;

	if (symtab < 0 || strtab < 0 || index > image->size / sizeof(*symbol))
		return false;
	symbol = mt_elf_image_range(image, (uint64_t)symtab + index * sizeof(*symbol),
				    sizeof(*symbol));
	if (!symbol)
		return false;
	name = mt_elf_image_string(image, (uint64_t)strtab, dynamic->strtab_size, symbol->st_name);
	if (!name)
		return false;
	ret_import->name = name;
	ret_import->vaddr = symbol->st_shndx == SHN_UNDEF ? 0 : symbol->st_value;
	return true;
}

bool mt_elf_import_find(const struct mt_elf_image *image, uint64_t slot,
			struct mt_elf_import *ret_import)
{
	struct dynamic dynamic;
	const Elf64_Rela *rela;
	uint64_t type;

	if (!read_dynamic(image, &dynamic))
		return false;
	rela = find_rela(image, dynamic.jmprel, dynamic.jmprel_size, slot);
	if (!rela)
		rela = find_rela(image, dynamic.rela, dynamic.rela_size, slot);
	if (!rela)
		return false;
	type = ELF64_R_TYPE(rela->r_info);
	if (!ELF64_R_SYM(rela->r_info)) {
		if (type != R_X86_64_RELATIVE_ && type != R_AARCH64_RELATIVE_)
			return false;
		ret_import->name = "";
		ret_import->vaddr = (uint64_t)rela->r_addend;
		return true;
	}
	return read_symbol(image, &dynamic, rela, ret_import);
}
