#include "report/module_image.h"

#include "common/error.h"
#include "report/elf_unpack.h"
#include "report/pack.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

void mt_image_init(struct mt_image *image)
{
	memset(image, 0, sizeof(*image));
	image->fd = -1;
}

void mt_image_release(struct mt_image *image)
{
	if (image->elf)
		elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	if (image->mapped)
		munmap(image->mapped, image->mapped_size);
	if (image->clean)
		munmap(image->clean, image->mapped_size);
	free(image->memory);
	free(image->section_end);
	mt_image_init(image);
}

/* Where every section ends; also the check that their number is sane. */
static int image_load_sections(struct mt_image *image)
{
	Elf_Scn *scn = NULL;
	size_t n, index;
	GElf_Shdr shdr;

	if (elf_getshdrnum(image->elf, &n) < 0 || n > MT_SECTIONS_MAX)
		n = 0;
	image->section_end = calloc(n + 1, sizeof(*image->section_end));
	if (!image->section_end)
		return -ENOMEM;
	image->n_sections = n;
	while (n && (scn = elf_nextscn(image->elf, scn))) {
		index = elf_ndxscn(scn);
		if (index < n && gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_ALLOC) &&
		    shdr.sh_size <= UINT64_MAX - shdr.sh_addr)
			image->section_end[index] = shdr.sh_addr + shdr.sh_size;
	}
	return 0;
}

/*
 * What libelf cannot unpack is unpacked for it. A file that says wrong things about that stays as
 * it is: libelf gets to see that.
 */
static int unpack(struct mt_image *image)
{
	uint8_t *bytes;
	char *raw;
	size_t size;
	Elf *elf;
	int err;

	raw = elf_rawfile(image->elf, &size);
	if (!raw)
		return 0;
	err = mt_elf_unpack((uint8_t *)raw, size, MT_SECTION_BYTES_MAX, &bytes, &size);
	if (err)
		return err == -ENOMEM ? err : 0;
	elf = elf_memory((char *)bytes, size);
	if (!elf) {
		free(bytes);
		return -ENOMEM;
	}
	elf_end(image->elf);
	free(image->memory);
	image->elf = elf;
	image->memory = bytes;
	return 0;
}

int mt_image_open(struct mt_image *image, int fd, uint8_t *memory, size_t size)
{
	int err = -MT_E_NOT_ELF;

	elf_version(EV_CURRENT);
	image->fd = fd;
	image->memory = memory;
	if (memory)
		image->elf = elf_memory((char *)memory, size);
	else
		image->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		goto out_release;

	err = unpack(image);
	if (!err)
		err = image_load_sections(image);
	if (err)
		goto out_release;
	return 0;

out_release:
	mt_image_release(image);
	return err;
}

int mt_image_map(struct mt_image *image, const struct mt_pack *pack, uint32_t id)
{
	int err;

	image->mapped = mt_pack_map_image(pack, id, &image->mapped_size);
	if (!image->mapped)
		return -MT_E_NO_DATA;
	elf_version(EV_CURRENT);
	image->elf = elf_memory((char *)image->mapped, image->mapped_size);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		err = -MT_E_NOT_ELF;
	else
		err = unpack(image);
	if (!err)
		err = image_load_sections(image);
	if (err)
		mt_image_release(image);
	return err;
}

Elf_Scn *mt_image_find_section(const struct mt_image *image, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	const char *have;
	size_t names;

	if (!image->elf || !image->n_sections || elf_getshdrstrndx(image->elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, shdr))
			continue;
		have = elf_strptr(image->elf, names, shdr->sh_name);
		if (have && !strcmp(have, name))
			return scn;
	}
	return NULL;
}

/* A compressed section must not promise more than the ceiling before libelf unpacks it. */
static bool decompress(Elf_Scn *scn, GElf_Shdr *shdr)
{
	GElf_Chdr chdr;

	if (!(shdr->sh_flags & SHF_COMPRESSED))
		return true;
	if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > MT_SECTION_BYTES_MAX)
		return false;
	return elf_compress(scn, 0, 0) >= 0 && gelf_getshdr(scn, shdr);
}

void mt_image_section(const struct mt_image *image, const char *name,
			  struct mt_section *ret_section)
{
	Elf_Data *data;
	GElf_Shdr shdr;
	Elf_Scn *scn;

	memset(ret_section, 0, sizeof(*ret_section));
	scn = mt_image_find_section(image, name, &shdr);
	if (!scn || shdr.sh_type == SHT_NOBITS || !decompress(scn, &shdr))
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size > MT_SECTION_BYTES_MAX)
		return;
	ret_section->data = data->d_buf;
	ret_section->size = data->d_size;
	ret_section->svma = shdr.sh_addr;
}

size_t mt_image_build_id(const struct mt_image *image, uint8_t *id)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(image->elf, &bytes);

	if (n <= 0 || n > MT_BUILD_ID_MAX)
		return 0;
	memcpy(id, bytes, n);
	return n;
}

void mt_image_load_table(struct mt_image *image, struct mt_image_table *table, uint32_t type)
{
	Elf_Scn *scn = NULL, *names;
	GElf_Shdr shdr;

	table->tried = true;
	while (image->elf && image->n_sections && (scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != type)
			continue;
		names = elf_getscn(image->elf, shdr.sh_link);
		table->symbols = elf_getdata(scn, NULL);
		table->names = names ? elf_rawdata(names, NULL) : NULL;
		if (table->symbols && table->symbols->d_buf && table->names && table->names->d_buf)
			table->n = table->symbols->d_size /
				   gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
		return;
	}
}

bool mt_image_sizes_sane(const struct mt_image *image)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_COMPRESSED))
			continue;
		if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > MT_SECTION_BYTES_MAX)
			return false;
	}
	return true;
}

bool mt_image_has_debug_info(const struct mt_image *image)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = mt_image_find_section(image, ".debug_info", &shdr);

	return scn && shdr.sh_type != SHT_NOBITS && shdr.sh_size;
}
