#include "record/elf_symbols.h"

#include "record/elf_image.h"

struct search {
	const char *const *names;
	size_t n;
	uint64_t *vaddrs;
	int type;		/* of the symbols, */
	uint32_t flags;		/* and of the memory that they are in */
	bool has_any;		/* in .symtab */
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
	const char *texts;
	size_t n_syms, i;

	if (table->sh_link >= image->n_shdrs || table->sh_entsize != sizeof(Elf64_Sym))
		return;
	strings = &image->shdrs[table->sh_link];
	n_syms = table->sh_size / sizeof(Elf64_Sym);
	syms = mt_elf_image_range(image, table->sh_offset, n_syms * sizeof(Elf64_Sym));
	texts = (const char *)mt_elf_image_bytes(image, strings->sh_offset, strings->sh_size);
	/* Once the last string is known to end, every one is. */
	if (!syms || !texts || !strings->sh_size || texts[strings->sh_size - 1])
		return;

	for (i = 0; i < n_syms; i++) {
		const char *const *found;
		const char *name;

		if (ELF64_ST_TYPE(syms[i].st_info) != search->type ||
		    syms[i].st_shndx == SHN_UNDEF || syms[i].st_name >= strings->sh_size)
			continue;
		search->has_any |= table->sh_type == SHT_SYMTAB;
		name = texts + syms[i].st_name;
		found = bsearch(name, search->names, search->n, sizeof(*search->names),
				compare_name);
		if (found && mt_elf_image_offset(image, syms[i].st_value, search->flags) > 0)
			search->vaddrs[found - search->names] = syms[i].st_value;
	}
}

static void search_image(const struct mt_elf_image *image, struct search *search)
{
	/* .dynsym last: it is what callers from other modules reach. */
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t t, i;

	memset(search->vaddrs, 0, search->n * sizeof(*search->vaddrs));
	for (t = 0; t < MT_ARRAY_SIZE(types); t++)
		for (i = 0; i < image->n_shdrs; i++)
			if (image->shdrs[i].sh_type == types[t])
				search_table(image, &image->shdrs[i], search);
}

bool mt_elf_find_functions(const struct mt_elf_image *image, const char *const *names, size_t n,
			   uint64_t *ret_vaddrs)
{
	struct search search = {
		.names = names, .n = n, .vaddrs = ret_vaddrs, .type = STT_FUNC, .flags = PF_X,
	};

	search_image(image, &search);
	return search.has_any;
}

void mt_elf_find_objects(const struct mt_elf_image *image, const char *const *names, size_t n,
			 uint64_t *ret_vaddrs)
{
	struct search search = {
		.names = names, .n = n, .vaddrs = ret_vaddrs, .type = STT_OBJECT, .flags = PF_W,
	};

	search_image(image, &search);
}
