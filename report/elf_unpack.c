#include "report/elf_unpack.h"

#include "common/error.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define SECTIONS_MAX (1u << 20)
/* Small frames must not make large buffers: nobody compresses that well. */
#define RATIO_MAX 16384u

struct work {
	const uint8_t *bytes;
	size_t size;
	Elf64_Ehdr ehdr;
	size_t sections;
};

static bool read_headers(struct work *work)
{
	Elf64_Shdr first;
	uint64_t room;

	if (work->size < sizeof(work->ehdr))
		return false;
	memcpy(&work->ehdr, work->bytes, sizeof(work->ehdr));
	if (memcmp(work->ehdr.e_ident, ELFMAG, SELFMAG) ||
	    work->ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    work->ehdr.e_ident[EI_DATA] != ELFDATA2LSB ||
	    work->ehdr.e_shentsize != sizeof(Elf64_Shdr) || !work->ehdr.e_shoff ||
	    work->ehdr.e_shoff > work->size ||
	    work->size - work->ehdr.e_shoff < sizeof(first))
		return false;
	room = (work->size - work->ehdr.e_shoff) / sizeof(Elf64_Shdr);
	work->sections = work->ehdr.e_shnum;
	if (!work->sections) {
		memcpy(&first, work->bytes + work->ehdr.e_shoff, sizeof(first));
		work->sections = first.sh_size < SECTIONS_MAX ? first.sh_size : SECTIONS_MAX;
	}
	return work->sections <= room && work->sections <= SECTIONS_MAX;
}

/* Is section i one of zstd, inside the file? */
static bool is_packed(const struct work *work, size_t i, Elf64_Shdr *shdr, Elf64_Chdr *chdr)
{
	memcpy(shdr, work->bytes + work->ehdr.e_shoff + i * sizeof(*shdr), sizeof(*shdr));
	if (!(shdr->sh_flags & SHF_COMPRESSED) || shdr->sh_type == SHT_NOBITS ||
	    shdr->sh_offset > work->size || shdr->sh_size > work->size - shdr->sh_offset ||
	    shdr->sh_size < sizeof(*chdr))
		return false;
	memcpy(chdr, work->bytes + shdr->sh_offset, sizeof(*chdr));
	return chdr->ch_type == ELFCOMPRESS_ZSTD;
}

/* Bytes of the file once unpacked. */
static int measure(const struct work *work, uint64_t limit, uint64_t *ret_size, size_t *ret_packed)
{
	uint64_t sum = 0;
	Elf64_Shdr shdr;
	Elf64_Chdr chdr;
	size_t i;

	*ret_packed = 0;
	for (i = 0; i < work->sections; i++) {
		if (!is_packed(work, i, &shdr, &chdr))
			continue;
		if (chdr.ch_size > limit - sum || chdr.ch_size / RATIO_MAX > shdr.sh_size)
			return -MT_E_LIMIT;
		sum += chdr.ch_size;
		++*ret_packed;
	}
	/* Each begins at a multiple of 16. */
	if (sum > SIZE_MAX / 2 || work->size > SIZE_MAX / 4)
		return -MT_E_LIMIT;
	*ret_size = work->size + sum + 16 * (*ret_packed + 1);
	return 0;
}

static int unpack_all(const struct work *work, uint8_t *out, uint64_t room)
{
	uint64_t at = (work->size + 15) & ~15ull;
	Elf64_Shdr shdr;
	Elf64_Chdr chdr;
	size_t i, n;

	for (i = 0; i < work->sections; i++) {
		if (!is_packed(work, i, &shdr, &chdr))
			continue;
		if (at > room || chdr.ch_size > room - at)
			return -EBADMSG;
		n = ZSTD_decompress(out + at, chdr.ch_size,
				    work->bytes + shdr.sh_offset + sizeof(chdr),
				    shdr.sh_size - sizeof(chdr));
		if (ZSTD_isError(n) || n != chdr.ch_size)
			return -EBADMSG;
		shdr.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		shdr.sh_offset = at;
		shdr.sh_size = chdr.ch_size;
		shdr.sh_addralign = chdr.ch_addralign;
		memcpy(out + work->ehdr.e_shoff + i * sizeof(shdr), &shdr, sizeof(shdr));
		at = (at + n + 15) & ~15ull;
	}
	return 0;
}

int mt_elf_unpack(const uint8_t *bytes, size_t size, uint64_t limit, uint8_t **ret_bytes,
		  size_t *ret_size)
{
	struct work work = { .bytes = bytes, .size = size };
	uint64_t room;
	size_t packed;
	uint8_t *out;
	int err;

	if (!read_headers(&work))
		return -MT_E_NO_DATA;
	err = measure(&work, limit, &room, &packed);
	if (err)
		return err;
	if (!packed)
		return -MT_E_NO_DATA;
	out = calloc(1, room);
	if (!out)
		return -ENOMEM;
	memcpy(out, bytes, size);
	err = unpack_all(&work, out, room);
	if (err) {
		free(out);
		return err;
	}
	*ret_bytes = out;
	*ret_size = room;
	return 0;
}
