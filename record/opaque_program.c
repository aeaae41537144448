#include "record/opaque_program.h"

#include "record/elf_dynamic.h"
#include "record/elf_image.h"

static bool is_position_independent_program(const struct mt_elf_image *image)
{
	const Elf64_Phdr *segment = mt_elf_dynamic_segment(image);
	Elf64_Dyn entry;
	size_t i;

	for (i = 0; segment && mt_elf_dynamic_entry(image, segment, i, &entry); i++)
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	return false;
}

/* The table of its functions, which strip leaves. */
static bool is_go(const struct mt_elf_image *image)
{
	Elf64_Shdr shdr;

	return mt_elf_image_section(image, ".gopclntab", &shdr) ||
	       mt_elf_image_section(image, ".data.rel.ro.gopclntab", &shdr);
}

static bool is_static_program(const struct mt_elf_image *image)
{
	return !mt_elf_image_segment(image, PT_INTERP) &&
	       (image->ehdr.e_type == ET_EXEC || is_position_independent_program(image));
}

const char *mt_program_unseen(const struct mt_elf_image *image, bool has_symbols,
			      bool has_allocator)
{
	bool hides;

	if (is_go(image))
		return "Go: what it allocates from its own heap is not seen";
	hides = !has_allocator && !has_symbols && is_static_program(image);
	/* Only now: all has been read that ever is. */
	if (mt_elf_image_failed(image))
		return "could not be read as a whole: allocators in it may be missed";
	return hides ? "static and stripped: its allocator cannot be found" : NULL;
}
