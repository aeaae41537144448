#include "report/dwp.h"

#include "common/buf.h"
#include "common/error.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#define COLUMNS_MAX 16u
#define OFFSETS_HEADER 8u	/* of .debug_str_offsets in DWARF 5 */

static const char *const names[MT_DWP_SECTIONS] = {
	[MT_DWP_INFO] = ".debug_info.dwo", [MT_DWP_ABBREV] = ".debug_abbrev.dwo",
	[MT_DWP_LINE] = ".debug_line.dwo", [MT_DWP_LISTS] = ".debug_loclists.dwo",
	[MT_DWP_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[MT_DWP_RNGLISTS] = ".debug_rnglists.dwo", [MT_DWP_STR] = ".debug_str.dwo",
	[MT_DWP_INDEX] = ".debug_cu_index",
};

const char *mt_dwp_section_name(enum mt_dwp_section section)
{
	return names[section];
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* The index, its tables inside the section. */
struct index {
	bool gnu;		/* version 2 */
	uint32_t columns, units, slots;
	const uint8_t *hashes, *rows, *ids, *offsets, *sizes;
};

static int read_index(const struct mt_section *section, struct index *index)
{
	const uint8_t *at = section->data;
	uint64_t need;

	if (!at || section->size < 16)
		return -MT_E_NO_DATA;
	/* Half a word in DWARF 5, with zeros behind; a word before. */
	if (get32(at) != 2 && get32(at) != 5)
		return -MT_E_NO_DATA;
	index->gnu = get32(at) == 2;
	index->columns = get32(at + 4);
	index->units = get32(at + 8);
	index->slots = get32(at + 12);
	if (!index->columns || index->columns > COLUMNS_MAX || !index->slots ||
	    index->slots & (index->slots - 1))
		return -EBADMSG;
	need = (uint64_t)index->slots * 12 + (uint64_t)index->columns * 4 +
	       (uint64_t)index->units * index->columns * 8;
	if (need > section->size - 16)
		return -EBADMSG;
	index->hashes = at + 16;
	index->rows = index->hashes + (size_t)index->slots * 8;
	index->ids = index->rows + (size_t)index->slots * 4;
	index->offsets = index->ids + (size_t)index->columns * 4;
	index->sizes = index->offsets + (size_t)index->units * index->columns * 4;
	return 0;
}

/* Row of the unit, from 0. */
static int find_row(const struct index *index, uint64_t id, uint32_t *ret_row)
{
	uint32_t mask = index->slots - 1, at = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1, tries, row;

	for (tries = 0; tries < index->slots; tries++, at = (at + step) & mask) {
		row = get32(index->rows + (size_t)at * 4);
		if (!row)
			return -MT_E_NO_DATA;
		if (get64(index->hashes + (size_t)at * 8) != id)
			continue;
		if (row > index->units)
			return -EBADMSG;
		*ret_row = row - 1;
		return 0;
	}
	return -MT_E_NO_DATA;
}

static int section_of_column(const struct index *index, uint32_t id)
{
	switch (id) {
	case 1:
		return MT_DWP_INFO;
	case 3:
		return MT_DWP_ABBREV;
	case 4:
		return MT_DWP_LINE;
	case 5:
		return MT_DWP_LISTS;
	case 6:
		return MT_DWP_STR_OFFSETS;
	case 8:
		return index->gnu ? -1 : MT_DWP_RNGLISTS;
	}
	return -1;
}

/* The unit's part of each section. */
static int find_parts(const struct mt_dwp *dwp, const struct index *index, uint32_t row,
		      struct mt_section parts[MT_DWP_SECTIONS])
{
	const struct mt_section *whole;
	uint32_t i, offset, size;
	size_t cell;
	int which;

	for (i = 0; i < index->columns; i++) {
		which = section_of_column(index, get32(index->ids + (size_t)i * 4));
		if (which < 0)
			continue;
		cell = ((size_t)row * index->columns + i) * 4;
		offset = get32(index->offsets + cell);
		size = get32(index->sizes + cell);
		whole = &dwp->sections[which];
		/* .debug_loc of before DWARF 5, which nobody here reads. */
		if (!whole->data)
			continue;
		if (offset > whole->size || size > whole->size - offset)
			return -EBADMSG;
		parts[which].data = whole->data + offset;
		parts[which].size = size;
	}
	return parts[MT_DWP_INFO].size && parts[MT_DWP_ABBREV].size ? 0 : -EBADMSG;
}

/* Copy the strings that the offsets say, and make the offsets say where they are now. */
static int take_strings(const struct mt_section *all, bool gnu, const struct mt_section *part,
			struct mt_buf *offsets, struct mt_buf *strings)
{
	size_t at = gnu ? 0 : OFFSETS_HEADER;
	const char *text;
	uint32_t from, to;
	size_t len;
	int err;

	if (!part->size)
		return 0;
	err = mt_buf_append(offsets, part->data, part->size);
	for (; !err && at <= part->size && part->size - at >= 4; at += 4) {
		from = get32(part->data + at);
		if (!all->data || from >= all->size)
			return -EBADMSG;
		text = (const char *)all->data + from;
		len = strnlen(text, all->size - from);
		/* Strings that share bytes must not make a small file a large one. */
		if (len == all->size - from || strings->len > 2 * all->size)
			return -EBADMSG;
		to = (uint32_t)strings->len;
		memcpy(offsets->data + at, &to, sizeof(to));
		err = mt_buf_append(strings, text, len + 1);
	}
	return err;
}

static int put_file(struct mt_buf *file, const struct mt_section parts[MT_DWP_SECTIONS])
{
	Elf64_Shdr headers[MT_DWP_SECTIONS + 1] = { 0 };
	Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_REL, .e_version = EV_CURRENT, .e_ehsize = sizeof(ehdr),
		.e_shentsize = sizeof(headers[0]), .e_shnum = MT_DWP_SECTIONS + 1,
		.e_shstrndx = MT_DWP_SECTIONS,
	};
	static const char own_name[] = "\0.shstrtab";
	struct mt_buf text;
	size_t i;
	int err = mt_buf_append(file, &ehdr, sizeof(ehdr));

	mt_buf_init(&text);
	if (!err)
		err = mt_buf_append(&text, own_name, sizeof(own_name));
	/* All but the index, whose place in the table is that of the names. */
	for (i = 0; !err && i < MT_DWP_INDEX; i++) {
		headers[i + 1] = (Elf64_Shdr){
			.sh_name = (uint32_t)text.len, .sh_type = SHT_PROGBITS,
			.sh_flags = SHF_EXCLUDE, .sh_offset = file->len,
			.sh_size = parts[i].size, .sh_addralign = 1,
		};
		err = mt_buf_append(&text, names[i], strlen(names[i]) + 1);
		if (!err && parts[i].size)
			err = mt_buf_append(file, parts[i].data, parts[i].size);
	}
	headers[MT_DWP_SECTIONS] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = file->len,
		.sh_size = text.len, .sh_addralign = 1,
	};
	if (!err)
		err = mt_buf_append(file, text.data, text.len);
	ehdr.e_shoff = file->len;
	if (!err)
		err = mt_buf_append(file, headers, sizeof(headers));
	if (!err)
		memcpy(file->data, &ehdr, sizeof(ehdr));
	mt_buf_release(&text);
	return err;
}

int mt_dwp_extract(const struct mt_dwp *dwp, uint64_t id, uint8_t **ret_bytes, size_t *ret_size)
{
	struct mt_section parts[MT_DWP_SECTIONS] = { 0 };
	struct mt_buf file, offsets, strings;
	struct index index;
	uint32_t row;
	int err = read_index(&dwp->sections[MT_DWP_INDEX], &index);

	if (!err)
		err = find_row(&index, id, &row);
	if (!err)
		err = find_parts(dwp, &index, row, parts);
	if (err)
		return err;
	mt_buf_init(&file);
	mt_buf_init(&offsets);
	mt_buf_init(&strings);
	err = take_strings(&dwp->sections[MT_DWP_STR], index.gnu, &parts[MT_DWP_STR_OFFSETS],
			   &offsets, &strings);
	parts[MT_DWP_STR_OFFSETS] = (struct mt_section){ offsets.data, offsets.len, 0 };
	parts[MT_DWP_STR] = (struct mt_section){ strings.data, strings.len, 0 };
	if (!err)
		err = put_file(&file, parts);
	mt_buf_release(&offsets);
	mt_buf_release(&strings);
	if (err) {
		mt_buf_release(&file);
		return err;
	}
	*ret_bytes = file.data;
	*ret_size = file.len;
	return 0;
}
