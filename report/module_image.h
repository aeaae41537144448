/*
 * report/module_image.h - one open ELF file; private to the module*.c files.
 */
#ifndef MT_MODULE_IMAGE_H
#define MT_MODULE_IMAGE_H

#include "report/module.h"

#include <gelf.h>
#include <libelf.h>

struct mt_pack;

/* One symbol table of one ELF file, bounds settled. */
struct mt_image_table {
	bool tried;
	Elf_Data *symbols;
	Elf_Data *names;
	size_t n;
};

/* An open ELF file. */
struct mt_image {
	int fd;
	uint8_t *memory;	/* instead of fd: the vDSO's copy */
	uint8_t *mapped;	/* instead of both: a pack's */
	uint8_t *clean;		/* the same once more, for mt_module_image() */
	size_t mapped_size;
	Elf *elf;
	size_t n_sections;
	uint64_t *section_end;	/* svma, by section index; 0: not an address */
	struct mt_image_table table[MT_TABLE_DEBUG_SYMTAB];	/* .symtab, .dynsym */
};

void mt_image_init(struct mt_image *image);
void mt_image_release(struct mt_image *image);

/* Takes fd or memory, also when it fails. 0, -ENOMEM, -MT_E_NOT_ELF. */
int mt_image_open(struct mt_image *image, int fd, uint8_t *memory, size_t size);
/* An image of a pack. -MT_E_NO_DATA: there is none; as mt_image_open(). */
int mt_image_map(struct mt_image *image, const struct mt_pack *pack, uint32_t id);

Elf_Scn *mt_image_find_section(const struct mt_image *image, const char *name, GElf_Shdr *shdr);
/* Contents, decompressed where compressed; data NULL if there is none. */
void mt_image_section(const struct mt_image *image, const char *name,
		      struct mt_section *ret_section);
/* How many bytes; 0: it has none. */
size_t mt_image_build_id(const struct mt_image *image, uint8_t *id);

/* Find the table of this section type, once. Damaged: no entries. */
void mt_image_load_table(struct mt_image *image, struct mt_image_table *table, uint32_t type);

/* Does no compressed debug section promise more than the ceiling? libdw unpacks them all. */
bool mt_image_sizes_sane(const struct mt_image *image);
bool mt_image_has_debug_info(const struct mt_image *image);

#endif
