/* ELF files and libdw's reader of CIE and FDE records. */
#include "report/cfi_source.h"

#include <elfutils/libdw.h>
#include <gelf.h>

#include "common/error.h"

#define SECTION_MAX ((uint64_t)1 << 30)

/* dwarf_next_cfi() looks at these bytes of e_ident only. */
static const unsigned char elf_ident[EI_NIDENT] = {
	[EI_CLASS] = ELFCLASS64,
	[EI_DATA] = ELFDATA2LSB,
	[EI_VERSION] = EV_CURRENT,
};

/* Where the record at offset ends, or SIZE_MAX if its length is cut or too large. */
static uint64_t record_end(const struct mt_section *section, uint64_t offset)
{
	struct mt_bytes bytes = mt_bytes_of(section->data + offset, section->size - offset);
	uint64_t len = mt_bytes_uint(&bytes, 4);

	if (len == UINT32_MAX)
		len = mt_bytes_uint(&bytes, 8);
	if (bytes.bad || len > mt_bytes_left(&bytes))
		return section->size;
	return section->size - mt_bytes_left(&bytes) + len;
}

/*
 * A zero length ends .eh_frame, but linkers also leave such terminators in the middle, from
 * an object that brought its own. Records behind them are as good as others.
 */
static void skip_terminators(const struct mt_section *section, uint64_t *offset)
{
	struct mt_bytes bytes = mt_bytes_of(section->data + *offset, section->size - *offset);

	while (mt_bytes_left(&bytes) >= 4 && mt_bytes_uint(&bytes, 4) == 0)
		*offset += 4;
}

/* Is [from, to) within the section? libdw's arithmetic on hostile lengths is not relied upon. */
static bool inside(const struct mt_section *section, const uint8_t *from, const uint8_t *to)
{
	return from >= section->data && from <= to && to <= section->data + section->size;
}

static int fill_cie(const struct mt_section *section, const Dwarf_CIE *cie,
		    struct mt_cfi_record *ret_record)
{
	struct mt_cfi_record record = { .is_cie = true };
	const uint8_t *from = cie->initial_instructions;
	const uint8_t *to = cie->initial_instructions_end;

	if (!inside(section, from, to))
		return -MT_E_CORRUPT;
	record.body = mt_bytes_of(from, (size_t)(to - from));
	if (cie->augmentation_data) {
		if (!inside(section, cie->augmentation_data, to) ||
		    cie->augmentation_data_size > (size_t)(to - cie->augmentation_data))
			return -MT_E_CORRUPT;
		record.augmentation_data = mt_bytes_of(cie->augmentation_data,
						       cie->augmentation_data_size);
	}
	record.augmentation = cie->augmentation;
	record.fde_augmentation_len = cie->fde_augmentation_data_size;
	record.code_align = cie->code_alignment_factor;
	record.data_align = cie->data_alignment_factor;
	record.ra = cie->return_address_register;
	*ret_record = record;
	return 1;
}

static int fill_fde(const struct mt_section *section, const Dwarf_FDE *fde,
		    struct mt_cfi_record *ret_record)
{
	struct mt_cfi_record record = { .cie = fde->CIE_pointer };

	if (!inside(section, fde->start, fde->end))
		return -MT_E_CORRUPT;
	record.body = mt_bytes_of(fde->start, (size_t)(fde->end - fde->start));
	*ret_record = record;
	return 1;
}

int mt_cfi_next_record(const struct mt_section *section, bool eh_frame, uint64_t *offset,
		       struct mt_cfi_record *ret_record)
{
	Elf_Data data = {
		.d_buf = (void *)section->data,	/* only read */
		.d_size = section->size,
		.d_type = ELF_T_BYTE,
		.d_version = EV_CURRENT,
	};
	Dwarf_CFI_Entry entry;
	Dwarf_Off at;
	Dwarf_Off next;

	if (*offset >= section->size)
		return 0;
	if (eh_frame)
		skip_terminators(section, offset);
	at = *offset;
	/* libdw wants more than a length. */
	if (section->size - at <= 4)
		return 0;

	*offset = record_end(section, at);
	if (dwarf_next_cfi(elf_ident, &data, eh_frame, at, &next, &entry))
		return -MT_E_CORRUPT;
	return dwarf_cfi_cie_p(&entry) ? fill_cie(section, &entry.cie, ret_record) :
					 fill_fde(section, &entry.fde, ret_record);
}

static bool decompress(Elf_Scn *scn)
{
	GElf_Chdr chdr;

	return gelf_getchdr(scn, &chdr) && chdr.ch_size <= SECTION_MAX &&
	       elf_compress(scn, 0, 0) >= 0;
}

static void get_section(Elf_Scn *scn, const GElf_Shdr *shdr, struct mt_section *ret_section)
{
	Elf_Data *data;

	if (shdr->sh_type == SHT_NOBITS)
		return;
	if ((shdr->sh_flags & SHF_COMPRESSED) && !decompress(scn))
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size || data->d_size > SECTION_MAX)
		return;
	ret_section->data = data->d_buf;
	ret_section->size = data->d_size;
	ret_section->svma = shdr->sh_addr;
}

static void get_sections(Elf *elf, struct mt_cfi_source *source)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".eh_frame"))
			get_section(scn, &shdr, &source->eh_frame);
		else if (!strcmp(name, ".debug_frame"))
			get_section(scn, &shdr, &source->debug_frame);
		else if (!strcmp(name, ".text"))
			source->text = shdr.sh_addr;
		else if (!strcmp(name, ".got"))
			source->got = shdr.sh_addr;
	}
}

/* Bytes of the file that are mapped at svma, up to the end of their segment. */
static void get_mapped(Elf *elf, uint64_t svma, struct mt_section *ret_section)
{
	GElf_Phdr phdr;
	Elf_Data *data;
	size_t n;
	size_t i;

	if (elf_getphdrnum(elf, &n))
		return;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    svma < phdr.p_vaddr || svma - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		svma -= phdr.p_vaddr;
		if (phdr.p_filesz - svma > SECTION_MAX || svma > INT64_MAX - phdr.p_offset)
			return;
		data = elf_getdata_rawchunk(elf, (int64_t)(phdr.p_offset + svma),
					    phdr.p_filesz - svma, ELF_T_BYTE);
		if (!data || !data->d_buf || !data->d_size)
			return;
		ret_section->data = data->d_buf;
		ret_section->size = data->d_size;
		ret_section->svma = phdr.p_vaddr + svma;
		return;
	}
}

/*
 * A file without section headers still has .eh_frame_hdr, which says where .eh_frame begins;
 * a terminator ends it.
 */
static void get_eh_frame_by_header(Elf *elf, uint64_t svma, struct mt_cfi_source *source)
{
	struct mt_cfi_context context = { 0 };
	struct mt_section header = { 0 };
	struct mt_section found = { 0 };
	struct mt_bytes bytes;
	uint64_t eh_frame;
	uint8_t encoding;
	uint64_t end;

	get_mapped(elf, svma, &header);
	context.data = header.data;
	context.svma = header.svma;
	context.got = header.svma;	/* datarel means the header here */
	bytes = mt_bytes_of(header.data, header.size);
	if (mt_bytes_uint(&bytes, 1) != 1)	/* version */
		return;
	encoding = (uint8_t)mt_bytes_uint(&bytes, 1);
	mt_bytes_skip(&bytes, 2);
	if (!mt_cfi_read_pointer(&context, &bytes, encoding, 0, &eh_frame))
		return;
	get_mapped(elf, eh_frame, &found);
	for (end = 0; end + 4 <= found.size; end = record_end(&found, end))
		if (!memcmp(found.data + end, "\0\0\0", 4))
			break;
	found.size = end < found.size ? (size_t)end : found.size;
	if (found.size)
		source->eh_frame = found;
}

static void get_segments(Elf *elf, struct mt_cfi_source *source)
{
	GElf_Phdr phdr;
	size_t n;
	size_t i;

	if (elf_getphdrnum(elf, &n))
		return;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr))
			continue;
		if (phdr.p_type == PT_GNU_EH_FRAME && !source->eh_frame.data)
			get_eh_frame_by_header(elf, phdr.p_vaddr, source);
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) || !phdr.p_memsz ||
		    phdr.p_memsz > UINT64_MAX - phdr.p_vaddr)
			continue;
		if (!source->code_end || phdr.p_vaddr < source->code_start)
			source->code_start = phdr.p_vaddr;
		if (phdr.p_vaddr + phdr.p_memsz > source->code_end)
			source->code_end = phdr.p_vaddr + phdr.p_memsz;
	}
}

static int get_source(Elf *elf, struct mt_cfi_source *ret_source)
{
	struct mt_cfi_source source = { 0 };
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64))
		return -MT_E_NO_DATA;
	source.aarch64 = ehdr.e_machine == EM_AARCH64;
	source.entry = ehdr.e_entry;
	get_sections(elf, &source);
	get_segments(elf, &source);
	*ret_source = source;
	return 0;
}

int mt_cfi_compile_elf(Elf *elf, struct mt_cfi **ret_cfi)
{
	struct mt_cfi_source source;
	int err = get_source(elf, &source);

	return err ? err : mt_cfi_compile_source(&source, ret_cfi);
}

int mt_cfi_compile(struct mt_module *module, struct mt_cfi **ret_cfi)
{
	struct mt_cfi_source source;
	struct mt_cfi_source debug;
	Elf *elf = mt_module_elf(module);
	Elf *debug_elf;
	int err;

	if (!elf)
		return -MT_E_NO_DATA;
	err = get_source(elf, &source);
	if (err)
		return err;
	debug_elf = source.debug_frame.data ? NULL : mt_module_debug_elf(module);
	if (debug_elf && !get_source(debug_elf, &debug) && debug.aarch64 == source.aarch64)
		source.debug_frame = debug.debug_frame;
	return mt_cfi_compile_source(&source, ret_cfi);
}
