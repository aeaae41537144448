#include "record/elf_frames.h"

#include "record/elf_image.h"

#define AUGMENTATION_MAX 16	/* usual ones are "zR" and "zPLR" */
#define LEB_MAX 10		/* bytes of a number of 64 bits */

#define PE_ABSPTR 0x00
#define PE_UDATA4 0x03
#define PE_UDATA8 0x04
#define PE_PCREL_SDATA4 0x1b
#define PE_PCREL_SDATA8 0x1c
#define PE_DATAREL_SDATA4 0x3b

/* [at, end) of the file. */
struct cursor {
	const struct mt_elf_image *image;
	uint64_t at;
	uint64_t end;
};

/* Bytes of the file from a virtual address on. */
static struct cursor cursor_at(const struct mt_elf_image *image, uint64_t vaddr)
{
	int64_t offset = mt_elf_image_offset(image, vaddr, 0);
	struct cursor cur = { .image = image };

	if (offset >= 0 && (uint64_t)offset < image->size) {
		cur.at = (uint64_t)offset;
		cur.end = image->size;
	}
	return cur;
}

static bool skip(struct cursor *cur, size_t n)
{
	if (cur->end - cur->at < n)
		return false;
	cur->at += n;
	return true;
}

static bool take(struct cursor *cur, void *to, size_t n)
{
	return mt_elf_image_get(cur->image, cur->at, to, n) && skip(cur, n);
}

static bool skip_leb(struct cursor *cur)
{
	uint8_t byte;
	int i;

	for (i = 0; i < LEB_MAX; i++) {
		if (!take(cur, &byte, 1))
			return false;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static size_t encoded_size(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x02:
	case 0x0a: return 2;
	case 0x03:
	case 0x0b: return 4;
	case 0x00:
	case 0x04:
	case 0x0c: return 8;
	}
	return 0;
}

/* How a CIE says that its FDEs encode addresses; 0 (8 bytes) if it does not. */
static bool fde_encoding(const struct mt_elf_image *image, uint64_t cie, uint8_t *ret_encoding)
{
	struct cursor cur = cursor_at(image, cie);
	char text[AUGMENTATION_MAX], *augmentation = text;
	uint32_t length, id;
	uint8_t version, encoding = 0, personality;

	if (!take(&cur, &length, 4) || !take(&cur, &id, 4) || id != 0 || !take(&cur, &version, 1))
		return false;
	if (mt_elf_image_string(image, cur.at, cur.end - cur.at, 0, text, sizeof(text)) < 0 ||
	    !skip(&cur, strlen(text) + 1) || !skip_leb(&cur) || !skip_leb(&cur) || !skip_leb(&cur))
		return false;
	if (*augmentation == 'z' && !skip_leb(&cur))
		return false;
	for (; *augmentation; augmentation++) {
		if (*augmentation == 'R') {
			if (!take(&cur, &encoding, 1))
				return false;
		} else if (*augmentation == 'L') {
			if (!skip(&cur, 1))
				return false;
		} else if (*augmentation == 'P') {
			if (!take(&cur, &personality, 1) || !skip(&cur, encoded_size(personality)))
				return false;
		}
	}
	*ret_encoding = encoding;
	return true;
}

/* The length that the FDE at vaddr gives its function. */
static bool fde_size(const struct mt_elf_image *image, uint64_t fde, uint64_t *ret_size)
{
	struct cursor cur = cursor_at(image, fde);
	uint32_t length, distance;
	uint8_t encoding;
	uint64_t size = 0;
	size_t width;

	if (!take(&cur, &length, 4) || !take(&cur, &distance, 4) || length == 0 ||
	    length == UINT32_MAX || distance > fde + 4 ||
	    !fde_encoding(image, fde + 4 - distance, &encoding))
		return false;
	width = encoded_size(encoding);
	if (width < 4 || !skip(&cur, width) || !take(&cur, &size, width))
		return false;
	*ret_size = size;
	return true;
}

/* A table entry: where a function begins and its FDE is, relative to the header. */
struct entry {
	int32_t start;
	int32_t fde;
};

/* The header's sorted table. */
static bool find_table(const struct mt_elf_image *image, uint64_t *ret_header,
		       struct cursor *ret_table, uint32_t *ret_n)
{
	uint8_t encodings[4];
	struct cursor cur;
	uint32_t n;
	size_t i;

	for (i = 0; i < image->n_phdrs; i++)
		if (image->phdrs[i].p_type == PT_GNU_EH_FRAME)
			break;
	if (i == image->n_phdrs)
		return false;
	cur = cursor_at(image, image->phdrs[i].p_vaddr);
	if (!take(&cur, encodings, 4) || encodings[0] != 1 || encodings[1] != PE_PCREL_SDATA4 ||
	    encodings[2] != PE_UDATA4 || encodings[3] != PE_DATAREL_SDATA4 || !skip(&cur, 4) ||
	    !take(&cur, &n, 4) || n > (cur.end - cur.at) / sizeof(struct entry))
		return false;
	*ret_header = image->phdrs[i].p_vaddr;
	*ret_table = cur;
	*ret_n = n;
	return true;
}

static bool entry_at(struct cursor table, uint32_t i, struct entry *ret_entry)
{
	return skip(&table, (size_t)i * sizeof(*ret_entry)) &&
	       take(&table, ret_entry, sizeof(*ret_entry));
}

static bool search_table(const struct mt_elf_image *image, uint64_t header, struct cursor table,
			 uint32_t n, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	uint32_t low = 0, high, middle;
	uint64_t start, size;
	struct entry entry;

	/* The last entry that begins at vaddr or before. */
	high = n;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (!entry_at(table, middle, &entry))
			return false;
		if (header + (uint64_t)(int64_t)entry.start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !entry_at(table, low - 1, &entry))
		return false;
	start = header + (uint64_t)(int64_t)entry.start;
	if (!fde_size(image, header + (uint64_t)(int64_t)entry.fde, &size) || vaddr < start ||
	    vaddr - start >= size)
		return false;
	*ret_start = start;
	*ret_end = start + size;
	return true;
}

/* The address at pos, whose own address is vaddr. */
static bool take_address(struct cursor *cur, uint8_t encoding, uint64_t vaddr,
			 uint64_t *ret_address)
{
	uint64_t value = 0;
	int32_t offset;

	switch (encoding) {
	case PE_PCREL_SDATA4:
		if (!take(cur, &offset, 4))
			return false;
		*ret_address = vaddr + (uint64_t)(int64_t)offset;
		return true;
	case PE_PCREL_SDATA8:
	case PE_ABSPTR:
	case PE_UDATA8:
		if (!take(cur, &value, 8))
			return false;
		*ret_address = encoding == PE_PCREL_SDATA8 ? vaddr + value : value;
		return true;
	case PE_UDATA4:
		if (!take(cur, &value, 4))
			return false;
		*ret_address = value;
		return true;
	}
	return false;
}

/* The same without a table: entry by entry. */
static bool search_frames(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_start,
			  uint64_t *ret_end)
{
	uint64_t at, end, cie, known = 0, start, size;
	uint32_t length, distance;
	uint8_t encoding = 0;
	Elf64_Shdr section;
	struct cursor cur;

	if (!mt_elf_image_section(image, ".eh_frame", &section) || section.sh_size > image->size)
		return false;
	at = section.sh_addr;
	end = at + section.sh_size;
	for (; at < end; at += 4 + (uint64_t)length) {
		cur = cursor_at(image, at);
		if (!take(&cur, &length, 4) || length == 0 || length == UINT32_MAX ||
		    !take(&cur, &distance, 4))
			return false;
		if (!distance)
			continue;
		cie = at + 4 - distance;
		if (cie != known && !fde_encoding(image, cie, &encoding))
			return false;
		known = cie;
		size = 0;
		if (!take_address(&cur, encoding, at + 8, &start) ||
		    !take(&cur, &size, encoded_size(encoding)))
			return false;
		if (vaddr >= start && vaddr - start < size) {
			*ret_start = start;
			*ret_end = start + size;
			return true;
		}
	}
	return false;
}

bool mt_elf_frame_range(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_end)
{
	struct cursor table;
	uint64_t header;
	uint32_t n;

	if (!find_table(image, &header, &table, &n))
		return search_frames(image, vaddr, ret_start, ret_end);
	return search_table(image, header, table, n, vaddr, ret_start, ret_end);
}
