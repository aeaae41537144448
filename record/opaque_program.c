#include "record/opaque_program.h"

#include "record/elf_image.h"

static bool has_segment(const struct mt_elf_image *image, uint32_t type)
{
	size_t i;

	for (i = 0; i < image->n_phdrs; i++)
		if (image->phdrs[i].p_type == type)
			return true;
	return false;
}

static bool is_position_independent_program(const struct mt_elf_image *image)
{
	const Elf64_Dyn *entry;
	size_t i, k;

	for (i = 0; i < image->n_phdrs; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		entry = phdr->p_type != PT_DYNAMIC ? NULL :
			mt_elf_image_range(image, phdr->p_offset, phdr->p_filesz);
		for (k = 0; entry && k < phdr->p_filesz / sizeof(*entry); k++)
			if (entry[k].d_tag == DT_FLAGS_1)
				return entry[k].d_un.d_val & DF_1_PIE;
	}
	return false;
}

/* A Go program without cgo has no C allocator that could be missed. */
static bool is_go(const struct mt_elf_image *image)
{
	return mt_elf_image_section(image, ".gopclntab") != NULL;
}

bool mt_program_is_opaque(const struct mt_elf_image *image, bool has_symbols)
{
	const Elf64_Ehdr *ehdr = (const void *)image->bytes;

	if (has_symbols || has_segment(image, PT_INTERP) || is_go(image))
		return false;
	return ehdr->e_type == ET_EXEC || is_position_independent_program(image);
}
