#include "record/elf_symbols.h"

#include "record/elf_image.h"

#define SYMBOLS_MAX (1u << 24)	/* of a table; one of more is not looked at */
#define TEXTS_MAX (16u << 20)	/* of more, names are read one by one */
#define NAME_BYTES 256		/* then; none that is looked for is as long */

struct search {
	const char *const *names;
	size_t n;
	uint64_t *vaddrs;
	int type;		/* of the symbols, */
	uint32_t flags;		/* and of the memory that they are in */
	bool in_symtab;
	bool has_any;		/* there */
};

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

/* The name that begins there; borrowed from buffer or the file. NULL: it cannot be one of ours. */
static const char *name_at(const struct mt_elf_image *image, const Elf64_Shdr *strings,
			   const char *texts, uint32_t offset, char buffer[NAME_BYTES])
{
	size_t n = strings->sh_size - offset;

	if (texts)
		return texts + offset;
	n = mt_elf_image_copy(image, strings->sh_offset + offset, buffer,
			      n < NAME_BYTES ? n : NAME_BYTES);
	return memchr(buffer, '\0', n) ? buffer : NULL;
}

static void search_symbols(const struct mt_elf_image *image, const Elf64_Sym *syms, size_t n_syms,
			   const Elf64_Shdr *strings, const char *texts, struct search *search)
{
	const char *const *found;
	char buffer[NAME_BYTES];
	const char *name;
	size_t i;

	for (i = 0; i < n_syms; i++) {
		if (ELF64_ST_TYPE(syms[i].st_info) != search->type ||
		    syms[i].st_shndx == SHN_UNDEF || syms[i].st_name >= strings->sh_size)
			continue;
		search->has_any |= search->in_symtab;
		name = name_at(image, strings, texts, syms[i].st_name, buffer);
		found = name ? bsearch(name, search->names, search->n, sizeof(*search->names),
				       compare_name) : NULL;
		if (found && mt_elf_image_offset(image, syms[i].st_value, search->flags) > 0)
			search->vaddrs[found - search->names] = syms[i].st_value;
	}
}

static void search_table(const struct mt_elf_image *image, const Elf64_Shdr *table,
			 struct search *search)
{
	const Elf64_Shdr *strings;
	const char *texts = NULL;
	Elf64_Sym syms[256];
	size_t n_syms, i, n;

	if (table->sh_link >= image->n_shdrs || table->sh_entsize != sizeof(Elf64_Sym))
		return;
	strings = &image->shdrs[table->sh_link];
	n_syms = table->sh_size / sizeof(Elf64_Sym);
	if (n_syms > SYMBOLS_MAX || table->sh_offset > image->size ||
	    strings->sh_offset > image->size ||
	    strings->sh_size > image->size - strings->sh_offset)
		return;
	if (strings->sh_size <= TEXTS_MAX) {
		texts = (const char *)mt_elf_image_bytes(image, strings->sh_offset,
							 strings->sh_size);
		/* Once the last string is known to end, every one is. */
		if (!texts || !strings->sh_size || texts[strings->sh_size - 1])
			return;
	}
	search->in_symtab = table->sh_type == SHT_SYMTAB;
	for (i = 0; i < n_syms; i += n) {
		n = n_syms - i < MT_ARRAY_SIZE(syms) ? n_syms - i : MT_ARRAY_SIZE(syms);
		n = mt_elf_image_copy(image, table->sh_offset + i * sizeof(*syms), syms,
				      n * sizeof(*syms)) / sizeof(*syms);
		if (!n)
			return;
		search_symbols(image, syms, n, strings, texts, search);
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
