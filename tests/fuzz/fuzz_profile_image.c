/*
 * tests/fuzz/fuzz_profile_image.c - symbols and unwind data of a folder that somebody else made.
 *
 * Two bytes, little endian: how many of the rest are KEY.unwind_data; the others are
 * KEY.symbols.map. What is built of them must be an ELF file with all of its symbols.
 */
#include "report/cfi_source.h"
#include "report/profile_read.h"

#include <gelf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, size_t n)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t sections, i;
	GElf_Sym symbol;

	if (!data || elf_getshdrnum(elf, &sections) ||
	    data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) != n + 1)
		abort();
	for (i = 1; i <= n; i++)
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx >= sections ||
		    !elf_strptr(elf, shdr->sh_link, symbol.st_name))
			abort();
}

static void look(uint8_t *bytes, size_t size, size_t n)
{
	Elf_Scn *scn = NULL;
	struct mt_cfi *cfi;
	bool found = false;
	GElf_Shdr shdr;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, size);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		abort();
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			abort();
		if (shdr.sh_type == SHT_SYMTAB) {
			look_at_symbols(elf, scn, &shdr, n);
			found = true;
		}
	}
	if (!found)
		abort();
	if (!mt_cfi_compile_elf(elf, &cfi))
		mt_cfi_free(cfi);
	elf_end(elf);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mt_module_range sections[] = {
		{ ".init", 0x1000, 0x20 }, { ".text", 0x1020, 0x2000 }, { ".eh_frame", 1, 1 },
		{ ".data", 0x4000, 0x100 },
	};
	static struct mt_module_segment segments[] = { { 0, 0x4100, 0, 0x4100, 5 } };
	struct mt_profile_module module = {
		.key = "0__a", .path = "/a", .build_id = { 1, 2, 3 }, .n_build_id = 3,
		.machine = 62, .entry = 0x1020, .segments = segments, .n_segments = 1,
		.sections = sections, .n_sections = MT_ARRAY_SIZE(sections),
	};
	size_t n_unwind, n = 0, i, bytes_size;
	uint8_t *bytes;
	char *kinds;

	if (size < 2 || size > 1 << 20)
		return 0;
	n_unwind = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (n_unwind > size)
		return 0;
	for (i = n_unwind; i < size; i++)
		n += data[i] == '\n';
	kinds = malloc(n + 1);
	if (!kinds)
		return 0;
	for (i = 0; i < n; i++)
		kinds[i] = (char)('a' + i % 9);
	kinds[n] = 0;
	module.kinds = kinds;
	if (!mt_profile_image_build(&module, (const char *)data + n_unwind, size - n_unwind,
				    n_unwind ? data : NULL, n_unwind, &bytes, &bytes_size))
		look(bytes, bytes_size, n);
	free(kinds);
	return 0;
}
