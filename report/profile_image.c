/* An ELF file of what a profile folder has of one. */
#include "report/profile_parts.h"
#include "report/profile_read.h"

#include "common/buf.h"
#include "common/error.h"
#include "report/spans.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#define UNWIND_VARIANT 3

/* Of unwind data, as it stands. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool failed;
};

/* Bytes of a file, at an address. */
struct piece {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t svma;
};

struct unwind {
	struct piece header;	/* bytes NULL: none */
	struct piece frame;
};

struct build {
	const struct mt_profile_module *module;
	struct mt_buf out;
	struct mt_buf names;	/* of sections */
	struct mt_buf symbols;	/* Elf64_Sym */
	struct mt_buf strings;	/* their names */
	struct mt_buf headers;	/* Elf64_Shdr */
	uint16_t n_sections;
	struct mt_spans places;	/* value: section */
};

static const uint8_t *take(struct cursor *cursor, uint64_t n)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || n > cursor->left) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += n;
	cursor->left -= n;
	return bytes;
}

static uint64_t take_number(struct cursor *cursor, unsigned int size)
{
	const uint8_t *bytes = take(cursor, size);
	uint64_t value = 0;

	while (bytes && size--)
		value = value << 8 | bytes[size];
	return value;
}

static void take_bytes(struct cursor *cursor, struct piece *piece)
{
	piece->size = take_number(cursor, 8);
	piece->bytes = take(cursor, piece->size);
}

static void take_range(struct cursor *cursor, struct piece *piece)
{
	piece->svma = take_number(cursor, 8);
	if (take_number(cursor, 8) - piece->svma != piece->size ||
	    piece->size > UINT64_MAX - piece->svma)
		cursor->failed = true;
}

static int read_unwind(const uint8_t *bytes, size_t n, struct unwind *ret_unwind)
{
	struct cursor cursor = { .at = bytes, .left = n };
	struct unwind unwind = { 0 };
	uint64_t path, has_bytes, has_range;

	if (take_number(&cursor, 4) != UNWIND_VARIANT)
		return -MT_E_CORRUPT;
	path = take_number(&cursor, 8);
	take(&cursor, path);
	take_number(&cursor, 8);
	has_bytes = take_number(&cursor, 1);
	if (has_bytes)
		take_bytes(&cursor, &unwind.header);
	has_range = take_number(&cursor, 1);
	if (has_range)
		take_range(&cursor, &unwind.header);
	take_bytes(&cursor, &unwind.frame);
	take_range(&cursor, &unwind.frame);
	if (cursor.failed || cursor.left || has_bytes > 1 || has_range != has_bytes)
		return -MT_E_CORRUPT;
	*ret_unwind = unwind;
	return 0;
}

/* A section's header; those with bytes get them behind the ELF header. */
static int add_section(struct build *b, const char *name, Elf64_Shdr header, const void *bytes)
{
	static const char zeros[8];
	int err;

	if (b->out.len % sizeof(zeros)) {
		err = mt_buf_append(&b->out, zeros, sizeof(zeros) - b->out.len % sizeof(zeros));
		if (err)
			return err;
	}
	header.sh_name = (Elf64_Word)b->names.len;
	header.sh_offset = b->out.len;
	err = mt_buf_append(&b->names, name, strlen(name) + 1);
	if (!err && bytes)
		err = mt_buf_append(&b->out, bytes, header.sh_size);
	if (!err)
		err = mt_buf_append(&b->headers, &header, sizeof(header));
	b->n_sections++;
	return err;
}

static bool is_named(const char *name, const char *const *names, size_t n)
{
	while (n--)
		if (!strncmp(name, names[n], strlen(names[n])))
			return true;
	return false;
}

/* In memory only: what such sections hold is made here, or is not had. */
static int add_memory(struct build *b)
{
	static const char *const made[] = {
		".eh_frame", ".note", ".symtab", ".strtab", ".shstrtab", ".dynsym", ".debug",
		".zdebug", ".gnu_debug", ".rest",
	};
	const struct mt_module_range *sections = b->module->sections;
	size_t i;
	int err = 0;

	for (i = 0; i < b->module->n_sections && !err; i++) {
		if (is_named(sections[i].name, made, MT_ARRAY_SIZE(made)))
			continue;
		err = add_section(b, sections[i].name, (Elf64_Shdr){
			.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC,
			.sh_addr = sections[i].svma, .sh_size = sections[i].size,
		}, NULL);
	}
	return err;
}

static int add_piece(struct build *b, const char *name, const struct piece *piece)
{
	return add_section(b, name, (Elf64_Shdr){
		.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = piece->svma,
		.sh_size = piece->size,
	}, piece->bytes);
}

static int add_note(struct build *b)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[MT_BUILD_ID_MAX];
	} note = {
		.header = { 4, b->module->n_build_id, NT_GNU_BUILD_ID }, .name = "GNU",
	};

	memcpy(note.id, b->module->build_id, b->module->n_build_id);
	return add_section(b, ".note.gnu.build-id", (Elf64_Shdr){
		.sh_type = SHT_NOTE, .sh_addralign = 4,
		.sh_size = sizeof(note.header) + sizeof(note.name) +
			   ((b->module->n_build_id + 3) & ~3u),
	}, &note);
}

static int index_sections(struct build *b)
{
	const Elf64_Shdr *headers = (const Elf64_Shdr *)b->headers.data;
	struct mt_range *ranges = calloc(b->n_sections, sizeof(*ranges));
	size_t n = 0;
	uint16_t i;
	int err;

	if (!ranges)
		return -ENOMEM;
	for (i = 1; i < b->n_sections; i++)
		if (headers[i].sh_flags & SHF_ALLOC)
			ranges[n++] = (struct mt_range){
				.start = headers[i].sh_addr, .value = i, .order = i,
				.end = headers[i].sh_addr + headers[i].sh_size,
			};
	err = mt_spans_build(&b->places, ranges, n);
	free(ranges);
	return err;
}

/* The section that has svma; the last one, which has no address, if none does. */
static uint16_t section_of(const struct build *b, uint64_t svma)
{
	uint32_t section = mt_spans_find(&b->places, svma);

	return section == MT_SPANS_NONE ? b->n_sections - 1 : (uint16_t)section;
}

static uint8_t info_of(char kind)
{
	static const uint8_t types[] = { STT_OBJECT, STT_FUNC, STT_NOTYPE };
	static const uint8_t bindings[] = { STB_GLOBAL, STB_WEAK, STB_LOCAL };
	unsigned int k = (unsigned char)(kind - 'a');

	return k < 9 ? ELF64_ST_INFO(bindings[k % 3], types[k / 3]) : 0;
}

/* ADDR SIZE NAME, up to end. */
static bool read_line(const char *line, const char *end, Elf64_Sym *ret_symbol,
		      const char **ret_name)
{
	uint64_t values[2] = { 0 };
	const char *start;
	int i;

	for (i = 0; i < 2; i++, line++) {
		for (start = line; line < end && *line != ' '; line++) {
			if ((*line < '0' || *line > '9') && (*line < 'a' || *line > 'f'))
				return false;
			values[i] = values[i] << 4 |
				    (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
		}
		if (line == start || line - start > 16 || line == end)
			return false;
	}
	if (line >= end || memchr(line, 0, (size_t)(end - line)))
		return false;
	*ret_symbol = (Elf64_Sym){ .st_value = values[0], .st_size = values[1] };
	*ret_name = line;
	return true;
}

/* Each line has its letter, or they are not of one writing. */
static int read_symbols(struct build *b, const char *text, size_t n)
{
	const char *kind = b->module->kinds, *end = text + n, *line, *name;
	Elf64_Sym symbol = { 0 };
	int err = mt_buf_append(&b->symbols, &symbol, sizeof(symbol));

	if (!err)
		err = mt_buf_append(&b->strings, "", 1);
	for (; text < end && !err; text = line + 1, kind++) {
		line = memchr(text, '\n', (size_t)(end - text));
		if (!line || !*kind || !read_line(text, line, &symbol, &name))
			return -MT_E_CORRUPT;
		symbol.st_name = (Elf64_Word)b->strings.len;
		symbol.st_info = info_of(*kind);
		symbol.st_shndx = section_of(b, symbol.st_value);
		err = mt_buf_append(&b->strings, name, (size_t)(line - name));
		if (!err)
			err = mt_buf_append(&b->strings, "", 1);
		if (!err)
			err = mt_buf_append(&b->symbols, &symbol, sizeof(symbol));
	}
	if (!err && *kind)
		err = -MT_E_CORRUPT;
	return err;
}

static int add_symbols(struct build *b, const char *text, size_t n)
{
	/* Where symbols are that are in no section of memory. */
	int err = add_section(b, ".rest", (Elf64_Shdr){ .sh_type = SHT_NOBITS }, NULL);

	if (!err)
		err = index_sections(b);
	if (!err)
		err = read_symbols(b, text, n);
	if (!err)
		err = add_section(b, ".symtab", (Elf64_Shdr){
			.sh_type = SHT_SYMTAB, .sh_size = b->symbols.len, .sh_addralign = 8,
			.sh_link = b->n_sections + 1u, .sh_entsize = sizeof(Elf64_Sym),
		}, b->symbols.data);
	if (!err)
		err = add_section(b, ".strtab", (Elf64_Shdr){
			.sh_type = SHT_STRTAB, .sh_size = b->strings.len,
		}, b->strings.data);
	return err;
}

/* Names of sections, headers of sections, and what is at the beginning. */
static int finish(struct build *b)
{
	static const char own[] = ".shstrtab";
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN, .e_machine = b->module->machine, .e_version = EV_CURRENT,
		.e_entry = b->module->entry, .e_phoff = sizeof(header),
		.e_ehsize = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)b->module->n_segments,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr *segment = (Elf64_Phdr *)(b->out.data + sizeof(header));
	const struct mt_module_segment *from = b->module->segments;
	int err;
	size_t i;

	for (i = 0; i < b->module->n_segments; i++, segment++, from++)
		*segment = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_flags = from->flags, .p_offset = from->offset,
			.p_vaddr = from->vaddr, .p_paddr = from->vaddr,
			.p_filesz = from->filesz, .p_memsz = from->memsz, .p_align = 1,
		};
	/* Its own name is the last of them. */
	err = mt_buf_reserve(&b->names, sizeof(own));
	if (!err)
		err = add_section(b, own, (Elf64_Shdr){
			.sh_type = SHT_STRTAB, .sh_size = b->names.len + sizeof(own),
		}, NULL);
	if (!err)
		err = mt_buf_append(&b->out, b->names.data, b->names.len);
	while (!err && b->out.len % 8)
		err = mt_buf_append(&b->out, "", 1);
	header.e_shoff = b->out.len;
	header.e_shnum = b->n_sections;
	header.e_shstrndx = (Elf64_Half)(b->n_sections - 1);
	if (!err)
		err = mt_buf_append(&b->out, b->headers.data, b->headers.len);
	if (!err)
		memcpy(b->out.data, &header, sizeof(header));
	return err;
}

static int begin(struct build *b)
{
	size_t size = sizeof(Elf64_Ehdr) + b->module->n_segments * sizeof(Elf64_Phdr);
	int err = mt_buf_reserve(&b->out, size);

	if (err)
		return err;
	memset(b->out.data, 0, size);
	b->out.len = size;
	return add_section(b, "", (Elf64_Shdr){ .sh_type = SHT_NULL }, NULL);
}

int mt_profile_image_build(const struct mt_profile_module *module, const char *symbols,
			   size_t n_symbols, const uint8_t *bytes, size_t n_bytes,
			   uint8_t **ret_bytes, size_t *ret_size)
{
	struct build b = { .module = module };
	struct unwind unwind = { 0 };
	int err = bytes ? read_unwind(bytes, n_bytes, &unwind) : 0;

	if (!err && !symbols != !module->kinds)
		err = -MT_E_CORRUPT;
	if (!err)
		err = begin(&b);
	if (!err)
		err = add_memory(&b);
	if (!err && unwind.frame.bytes)
		err = add_piece(&b, ".eh_frame", &unwind.frame);
	if (!err && unwind.header.bytes)
		err = add_piece(&b, ".eh_frame_hdr", &unwind.header);
	if (!err)
		err = add_note(&b);
	if (!err && symbols)
		err = add_symbols(&b, symbols, n_symbols);
	if (!err)
		err = finish(&b);
	if (!err) {
		*ret_bytes = b.out.data;
		*ret_size = b.out.len;
		b.out.data = NULL;
	}
	free(b.out.data);
	mt_spans_release(&b.places);
	mt_buf_release(&b.names);
	mt_buf_release(&b.symbols);
	mt_buf_release(&b.strings);
	mt_buf_release(&b.headers);
	return err;
}
