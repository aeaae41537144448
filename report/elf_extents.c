#include "report/elf_extents.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

/* A file, and what of it is wanted so far. */
struct cut {
	const uint8_t *bytes;
	size_t size;
	Elf64_Ehdr ehdr;
	Elf64_Shdr names;
	struct mt_extent *extents;	/* room for every header and section */
	size_t n;
};

static bool in_file(const struct cut *cut, uint64_t offset, uint64_t size)
{
	return offset <= cut->size && size <= cut->size - offset;
}

/* What of it lies in the file. */
static void want(struct cut *cut, uint64_t offset, uint64_t size)
{
	if (offset >= cut->size || !size)
		return;
	if (size > cut->size - offset)
		size = cut->size - offset;
	cut->extents[cut->n++] = (struct mt_extent){ offset, size };
}

static bool read_headers(struct cut *cut)
{
	Elf64_Ehdr *ehdr = &cut->ehdr;
	uint64_t at;

	if (cut->size < sizeof(*ehdr))
		return false;
	memcpy(ehdr, cut->bytes, sizeof(*ehdr));
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_ident[EI_DATA] != ELFDATA2LSB || ehdr->e_shentsize != sizeof(Elf64_Shdr) ||
	    (ehdr->e_phnum && ehdr->e_phentsize != sizeof(Elf64_Phdr)))
		return false;
	/* More sections than fit these fields are numbered otherwise. */
	if (!ehdr->e_shnum || ehdr->e_shstrndx >= ehdr->e_shnum || ehdr->e_phnum == PN_XNUM ||
	    !in_file(cut, ehdr->e_shoff, (uint64_t)ehdr->e_shnum * sizeof(Elf64_Shdr)) ||
	    !in_file(cut, ehdr->e_phoff, (uint64_t)ehdr->e_phnum * sizeof(Elf64_Phdr)))
		return false;
	at = ehdr->e_shoff + (uint64_t)ehdr->e_shstrndx * sizeof(Elf64_Shdr);
	memcpy(&cut->names, cut->bytes + at, sizeof(cut->names));
	return in_file(cut, cut->names.sh_offset, cut->names.sh_size);
}

/* "" if it has none. */
static const char *section_name(const struct cut *cut, const Elf64_Shdr *shdr)
{
	const char *name;

	if (shdr->sh_name >= cut->names.sh_size)
		return "";
	name = (const char *)cut->bytes + cut->names.sh_offset + shdr->sh_name;
	return memchr(name, 0, cut->names.sh_size - shdr->sh_name) ? name : "";
}

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* Debug information that says nothing of names and lines. It is only left out where zeros do no
 * harm: a compressed section says how long it is. */
static bool is_index(const char *name, const Elf64_Shdr *shdr)
{
	static const char *const names[] = {
		".debug_macro", ".debug_macinfo", ".debug_pubnames", ".debug_pubtypes",
		".debug_gnu_pubnames", ".debug_gnu_pubtypes", ".debug_names",
	};
	size_t i;

	if (shdr->sh_flags & SHF_COMPRESSED)
		return false;
	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_wanted(const char *name, const Elf64_Shdr *shdr)
{
	switch (shdr->sh_type) {
	case SHT_NOBITS:
	case SHT_NULL:
		return false;
	case SHT_NOTE:
	case SHT_STRTAB:
	case SHT_SYMTAB:
	case SHT_SYMTAB_SHNDX:
	case SHT_DYNSYM:
	case SHT_DYNAMIC:
		return true;
	}
	if (!strcmp(name, ".eh_frame") || !strcmp(name, ".eh_frame_hdr"))
		return true;
	if (shdr->sh_flags & SHF_ALLOC)
		return false;
	return (begins_with(name, ".debug_") && !is_index(name, shdr)) ||
	       begins_with(name, ".zdebug_") || begins_with(name, ".gnu_debug");
}

/* *ret_unwind: there is a section for unwinding, so that nobody has to look for it in segments. */
static void want_sections(struct cut *cut, bool *ret_unwind)
{
	const char *name;
	Elf64_Shdr shdr;
	size_t i;

	*ret_unwind = false;
	for (i = 0; i < cut->ehdr.e_shnum; i++) {
		memcpy(&shdr, cut->bytes + cut->ehdr.e_shoff + i * sizeof(shdr), sizeof(shdr));
		name = section_name(cut, &shdr);
		if (is_wanted(name, &shdr))
			want(cut, shdr.sh_offset, shdr.sh_size);
		if (!strcmp(name, ".eh_frame"))
			*ret_unwind = true;
	}
}

static void want_segments(struct cut *cut, bool *ret_unwind)
{
	Elf64_Phdr phdr;
	size_t i;

	*ret_unwind = false;
	for (i = 0; i < cut->ehdr.e_phnum; i++) {
		memcpy(&phdr, cut->bytes + cut->ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_NOTE || phdr.p_type == PT_GNU_EH_FRAME)
			want(cut, phdr.p_offset, phdr.p_filesz);
		if (phdr.p_type == PT_GNU_EH_FRAME)
			*ret_unwind = true;
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct mt_extent *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void merge(struct cut *cut)
{
	struct mt_extent *last = cut->extents, *next;
	uint64_t end;
	size_t i;

	if (!cut->n)
		return;
	qsort(cut->extents, cut->n, sizeof(*cut->extents), by_offset);
	for (i = 1; i < cut->n; i++) {
		next = &cut->extents[i];
		if (next->offset > last->offset + last->size) {
			*++last = *next;
			continue;
		}
		end = next->offset + next->size;
		if (end > last->offset + last->size)
			last->size = end - last->offset;
	}
	cut->n = (size_t)(last - cut->extents) + 1;
}

int mt_elf_extents(const uint8_t *bytes, size_t size, struct mt_extent **ret_extents,
		   size_t *ret_n)
{
	struct cut cut = { .bytes = bytes, .size = size };
	bool headers = read_headers(&cut), sections = false, segments = false;

	cut.extents = calloc(headers ? 3 + cut.ehdr.e_shnum + cut.ehdr.e_phnum : 1,
			     sizeof(*cut.extents));
	if (!cut.extents)
		return -ENOMEM;
	if (headers) {
		want(&cut, 0, sizeof(cut.ehdr));
		want(&cut, cut.ehdr.e_phoff, (uint64_t)cut.ehdr.e_phnum * sizeof(Elf64_Phdr));
		want(&cut, cut.ehdr.e_shoff, (uint64_t)cut.ehdr.e_shnum * sizeof(Elf64_Shdr));
		want_sections(&cut, &sections);
		want_segments(&cut, &segments);
	}
	if (!headers || (segments && !sections)) {
		cut.n = 0;
		want(&cut, 0, size);
	}
	merge(&cut);
	*ret_extents = cut.extents;
	*ret_n = cut.n;
	return 0;
}
