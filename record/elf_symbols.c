#include "record/elf_symbols.h"

#include "common/error.h"
#include "record/elf_image.h"

struct search {
	const char *const *names;
	size_t n;
	uint64_t *offsets;
};

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

static void search_table(const struct mt_elf_image *image, const Elf64_Shdr *table,
			 struct search *search)
{
	const Elf64_Shdr *strings;
	const Elf64_Sym *syms;
	size_t n_syms, i;

	if (table->sh_link >= image->n_shdrs || table->sh_entsize != sizeof(Elf64_Sym))
		return;
	strings = &image->shdrs[table->sh_link];
	n_syms = table->sh_size / sizeof(Elf64_Sym);
	syms = mt_elf_image_range(image, table->sh_offset, n_syms * sizeof(Elf64_Sym));
	/* Once the last string is known to end, every one is. */
	if (!syms || !strings->sh_size ||
	    !mt_elf_image_string(image, strings->sh_offset, strings->sh_size, strings->sh_size - 1))
		return;

	for (i = 0; i < n_syms; i++) {
		const char *const *found;
		const char *name;
		int64_t offset;

		if (ELF64_ST_TYPE(syms[i].st_info) != STT_FUNC || syms[i].st_shndx == SHN_UNDEF ||
		    syms[i].st_name >= strings->sh_size)
			continue;
		name = (const char *)image->bytes + strings->sh_offset + syms[i].st_name;
		found = bsearch(name, search->names, search->n, sizeof(*search->names),
				compare_name);
		if (!found)
			continue;
		offset = mt_elf_image_offset(image, syms[i].st_value, PF_X);
		if (offset > 0)
			search->offsets[found - search->names] = (uint64_t)offset;
	}
}

int mt_elf_find_functions(int fd, const char *const *names, size_t n, uint64_t *ret_offsets)
{
	/* .dynsym last: it is what callers from other modules reach. */
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct search search = { names, n, ret_offsets };
	struct mt_elf_image image;
	size_t t, i;
	int err;

	err = mt_elf_image_open(fd, &image);
	if (err)
		return err;
	memset(ret_offsets, 0, n * sizeof(*ret_offsets));
	for (t = 0; t < MT_ARRAY_SIZE(types); t++)
		for (i = 0; i < image.n_shdrs; i++)
			if (image.shdrs[i].sh_type == types[t])
				search_table(&image, &image.shdrs[i], &search);
	mt_elf_image_close(&image);
	return 0;
}
