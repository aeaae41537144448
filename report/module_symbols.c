/* Symbol tables of a module and its debug file. */
#include "report/module_impl.h"

#include "report/xz.h"

#include <limits.h>

/*
 * Functions that .dynsym lacks, which distributions leave in stripped files. Not looked at where
 * there is a whole table. What cannot be unpacked is not there.
 */
static void find_mini(struct mt_module *module)
{
	struct mt_section section;
	uint8_t *bytes;
	size_t size;

	module->mini_tried = true;
	mt_image_section(&module->own, ".gnu_debugdata", &section);
	if (!section.data || mt_module_symbol_count(module, MT_TABLE_SYMTAB) ||
	    mt_module_symbol_count(module, MT_TABLE_DEBUG_SYMTAB) ||
	    mt_xz_unpack(section.data, section.size, MT_MINI_BYTES_MAX, &bytes, &size))
		return;
	mt_image_open(&module->mini, -1, bytes, size);
}

static struct mt_image_table *find_table(struct mt_module *module, enum mt_symbol_table which,
				struct mt_image **ret_image)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct mt_image *image = &module->own;
	struct mt_image_table *table;

	if (which == MT_TABLE_DEBUG_SYMTAB) {
		mt_module_debug_path(module);
		image = &module->debug;
		which = MT_TABLE_SYMTAB;
	}
	if (which == MT_TABLE_MINI_SYMTAB) {
		if (!module->mini_tried)
			find_mini(module);
		image = &module->mini;
		which = MT_TABLE_SYMTAB;
	}
	table = &image->table[which];
	if (!table->tried)
		mt_image_load_table(image, table, types[which]);
	*ret_image = image;
	return table;
}

size_t mt_module_symbol_count(struct mt_module *module, enum mt_symbol_table table)
{
	struct mt_image *image;

	return find_table(module, table, &image)->n;
}

bool mt_module_symbol(struct mt_module *module, enum mt_symbol_table which, size_t index,
		      struct mt_elf_symbol *ret_symbol)
{
	struct mt_image *image;
	struct mt_image_table *table = find_table(module, which, &image);
	const char *name;
	GElf_Sym sym;
	int type;

	if (index >= table->n || index > INT_MAX || !gelf_getsym(table->symbols, index, &sym))
		return false;
	type = GELF_ST_TYPE(sym.st_info);
	if (type == STT_FILE || type == STT_SECTION || type == STT_TLS)
		return false;
	if (sym.st_shndx == SHN_UNDEF ||
	    (sym.st_shndx >= SHN_LORESERVE && sym.st_shndx != SHN_XINDEX))
		return false;
	if (sym.st_name >= table->names->d_size)
		return false;
	name = (const char *)table->names->d_buf + sym.st_name;
	if (!memchr(name, 0, table->names->d_size - sym.st_name))
		return false;

	ret_symbol->name = name;
	ret_symbol->addr = sym.st_value;
	ret_symbol->size = sym.st_size;
	ret_symbol->type = type;
	ret_symbol->binding = GELF_ST_BIND(sym.st_info);
	ret_symbol->section_end = UINT64_MAX;
	if (sym.st_shndx < image->n_sections && image->section_end[sym.st_shndx])
		ret_symbol->section_end = image->section_end[sym.st_shndx];
	return true;
}
