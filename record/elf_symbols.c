#include "record/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/error.h"

#define SECTIONS_MAX 65536

struct image {
	const uint8_t *bytes;
	size_t size;
	const Elf64_Ehdr *ehdr;
	const Elf64_Phdr *phdrs;
	size_t n_phdrs;
	const Elf64_Shdr *shdrs;
	size_t n_shdrs;
};

struct search {
	const char *const *names;
	size_t n;
	uint64_t *offsets;
};

/* Bytes [offset, offset + size) of the file, NULL if not all of them are in it or misaligned. */
static const void *image_range(const struct image *image, uint64_t offset, uint64_t size)
{
	if (offset > image->size || size > image->size - offset || offset % 8 != 0)
		return NULL;
	return image->bytes + offset;
}

static int image_parse(struct image *image)
{
	const Elf64_Ehdr *ehdr = image_range(image, 0, sizeof(*ehdr));

	if (!ehdr || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
	    ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return -MT_E_NOT_ELF;
	image->ehdr = ehdr;
	if (ehdr->e_phentsize == sizeof(Elf64_Phdr)) {
		image->n_phdrs = ehdr->e_phnum;
		image->phdrs = image_range(image, ehdr->e_phoff, image->n_phdrs * sizeof(Elf64_Phdr));
	}
	if (ehdr->e_shentsize == sizeof(Elf64_Shdr) && ehdr->e_shoff) {
		image->n_shdrs = ehdr->e_shnum;
		image->shdrs = image_range(image, ehdr->e_shoff, image->n_shdrs * sizeof(Elf64_Shdr));
	}
	if (!image->phdrs)
		image->n_phdrs = 0;
	if (!image->shdrs)
		image->n_shdrs = 0;
	return 0;
}

/* File offset of an address in executable bytes of the file, 0 if there is none. */
static uint64_t file_offset(const struct image *image, uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < image->n_phdrs; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X && vaddr >= phdr->p_vaddr &&
		    vaddr - phdr->p_vaddr < phdr->p_filesz)
			return vaddr - phdr->p_vaddr + phdr->p_offset;
	}
	return 0;
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

static void search_table(const struct image *image, const Elf64_Shdr *table, struct search *search)
{
	const Elf64_Shdr *strings_hdr;
	const Elf64_Sym *syms;
	const char *strings;
	size_t n_syms, i;

	if (table->sh_link >= image->n_shdrs || table->sh_entsize != sizeof(Elf64_Sym))
		return;
	strings_hdr = &image->shdrs[table->sh_link];
	n_syms = table->sh_size / sizeof(Elf64_Sym);
	syms = image_range(image, table->sh_offset, n_syms * sizeof(Elf64_Sym));
	if (strings_hdr->sh_offset > image->size ||
	    strings_hdr->sh_size > image->size - strings_hdr->sh_offset || !strings_hdr->sh_size)
		return;
	strings = (const char *)image->bytes + strings_hdr->sh_offset;
	if (!syms || strings[strings_hdr->sh_size - 1] != '\0')
		return;

	for (i = 0; i < n_syms; i++) {
		const char *const *found;
		uint64_t offset;

		if (ELF64_ST_TYPE(syms[i].st_info) != STT_FUNC || syms[i].st_shndx == SHN_UNDEF ||
		    syms[i].st_name >= strings_hdr->sh_size)
			continue;
		found = bsearch(strings + syms[i].st_name, search->names, search->n,
				sizeof(*search->names), compare_name);
		if (!found)
			continue;
		offset = file_offset(image, syms[i].st_value);
		if (offset)
			search->offsets[found - search->names] = offset;
	}
}

static void search_image(const struct image *image, struct search *search)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t t, i;

	/* .dynsym last: it is what callers from other modules reach. */
	for (t = 0; t < MT_ARRAY_SIZE(types); t++)
		for (i = 0; i < image->n_shdrs; i++)
			if (image->shdrs[i].sh_type == types[t])
				search_table(image, &image->shdrs[i], search);
}

int mt_elf_find_functions(int fd, const char *const *names, size_t n, uint64_t *ret_offsets)
{
	struct search search = { names, n, ret_offsets };
	struct image image = {};
	struct stat st;
	void *bytes;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -MT_E_NOT_ELF;
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	image.bytes = bytes;
	image.size = st.st_size;

	err = image_parse(&image);
	if (!err) {
		memset(ret_offsets, 0, n * sizeof(*ret_offsets));
		search_image(&image, &search);
	}
	munmap(bytes, st.st_size);
	return err;
}
