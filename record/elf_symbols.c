#include "record/elf_symbols.h"

#include <errno.h>

#include "record/elf_image.h"
#include "record/elf_names.h"

#define SYMBOLS_MAX (1u << 24)	/* of a file; of more tables none is looked at */
#define PIECE 1024u		/* of them, read at once */

struct search {
	struct mt_elf_names *names;
	uint64_t *vaddrs;
	int type;		/* of the symbols, */
	uint32_t flags;		/* and of the memory that they are in */
	bool in_symtab;
	bool has_any;		/* there */
	size_t left;		/* of the symbols that are looked at */
};

static void search_symbols(const struct mt_elf_image *image, const Elf64_Sym *syms, size_t n_syms,
			   uint64_t texts_size, struct search *search)
{
	size_t i;
	int name;

	for (i = 0; i < n_syms; i++) {
		if (ELF64_ST_TYPE(syms[i].st_info) != search->type ||
		    syms[i].st_shndx == SHN_UNDEF || syms[i].st_name >= texts_size)
			continue;
		search->has_any |= search->in_symtab;
		name = mt_elf_names_at(search->names, syms[i].st_name);
		if (name >= 0 && mt_elf_image_offset(image, syms[i].st_value, search->flags) > 0)
			search->vaddrs[name] = syms[i].st_value;
	}
}

static void search_pieces(const struct mt_elf_image *image, const Elf64_Shdr *table,
			  uint64_t texts_size, struct search *search)
{
	size_t n_syms = table->sh_size / sizeof(Elf64_Sym), i, n;
	Elf64_Sym syms[PIECE];

	search->in_symtab = table->sh_type == SHT_SYMTAB;
	for (i = 0; i < n_syms; i += n) {
		n = n_syms - i < PIECE ? n_syms - i : PIECE;
		n = mt_elf_image_copy(image, table->sh_offset + i * sizeof(*syms), syms,
				      n * sizeof(*syms)) / sizeof(*syms);
		if (!n)
			return;
		search_symbols(image, syms, n, texts_size, search);
	}
}

static void search_table(const struct mt_elf_image *image, const Elf64_Shdr *table,
			 struct search *search)
{
	Elf64_Shdr texts;

	if (table->sh_entsize != sizeof(Elf64_Sym) ||
	    !mt_elf_image_section_at(image, table->sh_link, &texts) ||
	    table->sh_offset > image->size || texts.sh_offset > image->size ||
	    texts.sh_size > image->size - texts.sh_offset)
		return;
	if (table->sh_size / sizeof(Elf64_Sym) > search->left) {
		if (table->sh_size <= image->size - table->sh_offset)
			mt_elf_image_fail(image, -EFBIG);
		return;
	}
	search->left -= table->sh_size / sizeof(Elf64_Sym);
	mt_elf_names_read(search->names, image, texts.sh_offset, texts.sh_size);
	search_pieces(image, table, texts.sh_size, search);
}

static bool search_image(const struct mt_elf_image *image, const char *const *names, size_t n,
			 struct search *search)
{
	/* .dynsym last: it is what callers from other modules reach. */
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	Elf64_Shdr shdr;
	size_t t, i;
	int err;

	memset(search->vaddrs, 0, n * sizeof(*search->vaddrs));
	err = mt_elf_names_new(names, n, &search->names);
	if (err) {
		mt_elf_image_fail(image, err);
		return false;
	}
	search->left = SYMBOLS_MAX;
	for (t = 0; t < MT_ARRAY_SIZE(types); t++)
		for (i = 0; i < image->n_shdrs && mt_elf_image_section_at(image, i, &shdr); i++)
			if (shdr.sh_type == types[t])
				search_table(image, &shdr, search);
	mt_elf_names_free(search->names);
	return search->has_any;
}

bool mt_elf_find_functions(const struct mt_elf_image *image, const char *const *names, size_t n,
			   uint64_t *ret_vaddrs)
{
	struct search search = { .vaddrs = ret_vaddrs, .type = STT_FUNC, .flags = PF_X };

	return search_image(image, names, n, &search);
}

void mt_elf_find_objects(const struct mt_elf_image *image, const char *const *names, size_t n,
			 uint64_t *ret_vaddrs)
{
	struct search search = { .vaddrs = ret_vaddrs, .type = STT_OBJECT, .flags = PF_W };

	search_image(image, names, n, &search);
}
