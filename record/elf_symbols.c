#include "record/elf_symbols.h"

#include <errno.h>

#include "record/elf_image.h"

#define SYMBOLS_MAX (1u << 24)	/* of a file; of more tables none is looked at */
#define TEXTS_MAX (16u << 20)	/* of more, only some are in memory at a time */
#define WINDOW (1u << 20)	/* so much of them */
#define NAME_BYTES 256u		/* of a name, then; none that is looked for is as long */
#define NEAR 65536u		/* of two names that are not in the window: worth another one */
#define LOOKUPS 64		/* for which one is read: costs about as much as so many names */

/* A string table. Offsets are in it. */
struct texts {
	const struct mt_elf_image *image;
	uint64_t at;		/* in the file */
	uint64_t size;
	const char *all;	/* NULL: it is too large */
	char *window;		/* [start, start + n) of it; NULL: no memory */
	uint64_t start;
	size_t n;
	uint64_t last;		/* name that was not in it */
	size_t lookups;
	size_t reads;		/* of a window */
	char name[NAME_BYTES];
};

struct search {
	const char *const *names;
	size_t n;
	uint64_t *vaddrs;
	int type;		/* of the symbols, */
	uint32_t flags;		/* and of the memory that they are in */
	bool in_symtab;
	bool has_any;		/* there */
	size_t left;		/* of the symbols that are looked at */
};

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

static const char *end_name(const char *bytes, size_t n)
{
	return memchr(bytes, '\0', n < NAME_BYTES ? n : NAME_BYTES) ? bytes : NULL;
}

static size_t read_texts(const struct texts *texts, uint64_t offset, char *ret_bytes, size_t n)
{
	return mt_elf_image_copy(texts->image, texts->at + offset, ret_bytes,
				 n < texts->size - offset ? n : texts->size - offset);
}

/*
 * Names mostly lie in the order of their symbols: once two that follow each other are near, the
 * window goes there. Single ones elsewhere leave it where it is.
 */
static void move_window(struct texts *texts, uint64_t offset)
{
	uint64_t way = offset > texts->last ? offset - texts->last : texts->last - offset;

	texts->last = offset;
	if (!texts->window || way > NEAR || texts->reads > texts->lookups / LOOKUPS)
		return;
	texts->reads++;
	texts->start = offset > NEAR ? offset - NEAR : 0;
	texts->n = read_texts(texts, texts->start, texts->window, WINDOW);
}

static const char *name_in_window(const struct texts *texts, uint64_t offset)
{
	if (offset < texts->start || offset - texts->start >= texts->n)
		return NULL;
	offset -= texts->start;
	return end_name(texts->window + offset, texts->n - offset);
}

/* The name that begins there; borrowed until the next one. NULL: it cannot be one of ours. */
static const char *name_at(struct texts *texts, uint64_t offset)
{
	const char *name;

	if (texts->all)
		return texts->all + offset;
	texts->lookups++;
	name = name_in_window(texts, offset);
	if (name)
		return name;
	move_window(texts, offset);
	name = name_in_window(texts, offset);
	if (name)
		return name;
	return end_name(texts->name, read_texts(texts, offset, texts->name, NAME_BYTES));
}

static void search_symbols(const struct mt_elf_image *image, const Elf64_Sym *syms, size_t n_syms,
			   struct texts *texts, struct search *search)
{
	const char *const *found;
	const char *name;
	size_t i;

	for (i = 0; i < n_syms; i++) {
		if (ELF64_ST_TYPE(syms[i].st_info) != search->type ||
		    syms[i].st_shndx == SHN_UNDEF || syms[i].st_name >= texts->size)
			continue;
		search->has_any |= search->in_symtab;
		name = name_at(texts, syms[i].st_name);
		found = name ? bsearch(name, search->names, search->n, sizeof(*search->names),
				       compare_name) : NULL;
		if (found && mt_elf_image_offset(image, syms[i].st_value, search->flags) > 0)
			search->vaddrs[found - search->names] = syms[i].st_value;
	}
}

static void search_texts(const struct mt_elf_image *image, const Elf64_Shdr *table,
			 struct texts *texts, struct search *search)
{
	size_t n_syms = table->sh_size / sizeof(Elf64_Sym), i, n;
	Elf64_Sym syms[256];

	search->in_symtab = table->sh_type == SHT_SYMTAB;
	for (i = 0; i < n_syms; i += n) {
		n = n_syms - i < MT_ARRAY_SIZE(syms) ? n_syms - i : MT_ARRAY_SIZE(syms);
		n = mt_elf_image_copy(image, table->sh_offset + i * sizeof(*syms), syms,
				      n * sizeof(*syms)) / sizeof(*syms);
		if (!n)
			return;
		search_symbols(image, syms, n, texts, search);
	}
}

static void search_table(const struct mt_elf_image *image, const Elf64_Shdr *table,
			 struct search *search)
{
	struct texts texts = { .image = image };
	const Elf64_Shdr *strings;

	if (table->sh_link >= image->n_shdrs || table->sh_entsize != sizeof(Elf64_Sym))
		return;
	strings = &image->shdrs[table->sh_link];
	texts.at = strings->sh_offset;
	texts.size = strings->sh_size;
	if (table->sh_offset > image->size || texts.at > image->size ||
	    texts.size > image->size - texts.at)
		return;
	if (table->sh_size / sizeof(Elf64_Sym) > search->left) {
		if (table->sh_size <= image->size - table->sh_offset)
			mt_elf_image_fail(image, -EFBIG);
		return;
	}
	search->left -= table->sh_size / sizeof(Elf64_Sym);
	if (texts.size <= TEXTS_MAX) {
		texts.all = (const char *)mt_elf_image_bytes(image, texts.at, texts.size);
		/* Once the last string is known to end, every one is. */
		if (!texts.all || !texts.size || texts.all[texts.size - 1])
			return;
	} else {
		texts.window = malloc(WINDOW);
	}
	search_texts(image, table, &texts, search);
	free(texts.window);
}

static void search_image(const struct mt_elf_image *image, struct search *search)
{
	/* .dynsym last: it is what callers from other modules reach. */
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t t, i;

	memset(search->vaddrs, 0, search->n * sizeof(*search->vaddrs));
	search->left = SYMBOLS_MAX;
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
