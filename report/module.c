#include "report/module.h"

#include "common/error.h"
#include "report/jit_file.h"
#include "report/module_file.h"
#include "report/pack.h"
#include "report/session.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_DIR "/usr/lib/debug"

/* One symbol table of one ELF file, bounds settled. */
struct table {
	bool tried;
	Elf_Data *symbols;
	Elf_Data *names;
	size_t n;
};

/* An open ELF file. */
struct image {
	int fd;
	uint8_t *memory;	/* instead of fd: the vDSO's copy */
	uint8_t *mapped;	/* instead of both: a pack's */
	uint8_t *clean;		/* the same once more, for mt_module_image() */
	size_t mapped_size;
	Elf *elf;
	size_t n_sections;
	uint64_t *section_end;	/* svma, by section index; 0: not an address */
	struct table table[MT_TABLE_DEBUG_SYMTAB];	/* .symtab, .dynsym */
};

struct mt_module {
	char *path;
	char *found_path;	/* below the sysroot */
	char *debug_dir;
	const struct mt_pack *pack;
	const struct mt_packed *packed;	/* NULL: not from the pack */
	enum mt_module_status status;
	char reason[MT_REASON_MAX];
	struct image own;
	struct mt_module_segment *segments;
	size_t n_segments;
	uint16_t machine;
	uint8_t build_id[MT_BUILD_ID_MAX];
	size_t build_id_len;
	bool debug_tried;
	char *debug_path;
	struct image debug;
	bool dwarf_tried;
	Dwarf *dwarf;
	struct image alt;	/* supplementary file of dwarf */
	Dwarf *alt_dwarf;
};

static void image_init(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->fd = -1;
}

static void image_release(struct image *image)
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
	image_init(image);
}

/* Where every section ends; also the check that their number is sane. */
static int image_load_sections(struct image *image)
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

/* Takes fd or memory, also when it fails. 0, -ENOMEM, -MT_E_NOT_ELF. */
static int image_open(struct image *image, int fd, uint8_t *memory, size_t size)
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

	err = image_load_sections(image);
	if (err)
		goto out_release;
	return 0;

out_release:
	image_release(image);
	return err;
}

/* An image of a pack. -MT_E_NO_DATA: there is none; as image_open(). */
static int image_map(struct image *image, const struct mt_pack *pack, uint32_t id)
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
		err = image_load_sections(image);
	if (err)
		image_release(image);
	return err;
}

static Elf_Scn *image_find_section(const struct image *image, const char *name, GElf_Shdr *shdr)
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

static void image_section(const struct image *image, const char *name,
			  struct mt_section *ret_section)
{
	Elf_Data *data;
	GElf_Shdr shdr;
	Elf_Scn *scn;

	memset(ret_section, 0, sizeof(*ret_section));
	scn = image_find_section(image, name, &shdr);
	if (!scn || shdr.sh_type == SHT_NOBITS || !decompress(scn, &shdr))
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size > MT_SECTION_BYTES_MAX)
		return;
	ret_section->data = data->d_buf;
	ret_section->size = data->d_size;
	ret_section->svma = shdr.sh_addr;
}

static size_t image_build_id(const struct image *image, uint8_t *id)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(image->elf, &bytes);

	if (n <= 0 || n > MT_BUILD_ID_MAX)
		return 0;
	memcpy(id, bytes, n);
	return n;
}

static int load_segments(struct mt_module *module)
{
	struct mt_module_segment *seg;
	size_t n, i;
	GElf_Phdr phdr;

	if (elf_getphdrnum(module->own.elf, &n) < 0)
		n = 0;
	if (n > MT_SEGMENTS_MAX)
		return -MT_E_LIMIT;
	module->segments = calloc(n + 1, sizeof(*module->segments));
	if (!module->segments)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(module->own.elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		seg = &module->segments[module->n_segments++];
		seg->offset = phdr.p_offset;
		seg->filesz = phdr.p_filesz;
		seg->vaddr = phdr.p_vaddr;
		seg->memsz = phdr.p_memsz;
		seg->flags = phdr.p_flags;
	}
	return 0;
}

/* Is the file at fd, proved by name and inode or not at all yet, the recorded one by content? */
static void check_build_id(struct mt_module *module, const struct mt_file *file, bool needed)
{
	if (module->status != MT_MODULE_VERIFIED || !needed)
		return;
	if (!file->n_build_id)
		snprintf(module->reason, sizeof(module->reason),
			 "written to since it was recorded");
	else if (mt_module_file_id_fits(file, module->build_id, module->build_id_len,
					module->reason))
		return;
	module->status = MT_MODULE_CHANGED;
	module->n_segments = 0;
	module->build_id_len = 0;
	image_release(&module->own);
}

static int load(struct mt_module *module, int fd, uint8_t *memory, size_t size)
{
	GElf_Ehdr ehdr;
	int err;

	if (module->packed)
		err = image_map(&module->own, module->pack, module->packed->own);
	else
		err = image_open(&module->own, fd, memory, size);
	if (!err && !gelf_getehdr(module->own.elf, &ehdr))
		err = -MT_E_NOT_ELF;
	if (!err)
		err = load_segments(module);
	if (!err) {
		module->machine = ehdr.e_machine;
		module->build_id_len = image_build_id(&module->own, module->build_id);
		return 0;
	}
	image_release(&module->own);
	if (err == -ENOMEM)
		return err;

	module->status = MT_MODULE_NOT_ELF;
	module->n_segments = 0;
	snprintf(module->reason, sizeof(module->reason), "%s", mt_strerror(err));
	return 0;
}

/* Where to look for separate debug files: of the module as it is found here. */
static int set_folders(struct mt_module *module, const struct mt_module_options *options)
{
	const char *sysroot = options->sysroot ? options->sysroot : "";
	int n = (int)strlen(sysroot);

	while (n && sysroot[n - 1] == '/')
		n--;
	if (options->debug_dir)
		module->debug_dir = strdup(options->debug_dir);
	else if (asprintf(&module->debug_dir, "%.*s%s", n, sysroot, DEBUG_DIR) < 0)
		module->debug_dir = NULL;
	if (asprintf(&module->found_path, "%.*s%s", n, sysroot,
		     module->path ? module->path : "") < 0)
		module->found_path = NULL;
	return module->debug_dir && module->found_path ? 0 : -ENOMEM;
}

static void take_packed(struct mt_module *module, const struct mt_pack *pack)
{
	const struct mt_packed *packed = module->packed;

	module->pack = pack;
	if (!mt_module_status_find(packed->status, &module->status))
		module->status = MT_MODULE_UNREADABLE;
	if (module->status != MT_MODULE_VERIFIED)
		snprintf(module->reason, sizeof(module->reason), "%s", packed->reason);
}

static enum mt_module_status note_jit(char *reason)
{
	snprintf(reason, MT_REASON_MAX, "code compiled at run time");
	return MT_MODULE_NO_FILE;
}

int mt_module_open(const struct mt_file *file, const struct mt_module_options *options,
		   struct mt_module **ret_module)
{
	static const struct mt_module_options defaults;
	uint8_t *memory = NULL;
	struct mt_module *module;
	size_t size = 0;
	bool proof = false;
	int err, fd = -1;

	if (!options)
		options = &defaults;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	image_init(&module->own);
	image_init(&module->debug);
	image_init(&module->alt);
	module->path = strdup(file->path);
	err = set_folders(module, options);
	if (!module->path || err) {
		err = -ENOMEM;
		goto out_free;
	}

	module->packed = mt_pack_find(options->pack, file);
	/* What the pack lacks may be here now. */
	if (module->packed && !module->packed->own && options->sysroot)
		module->packed = NULL;
	if (module->packed)
		take_packed(module, options->pack);
	else if (!strcmp(file->path, "[vdso]"))
		module->status = mt_module_file_vdso(options->kernel, &memory, &size,
						     module->reason);
	else if (mt_jit_is_dump(file->path))
		module->status = note_jit(module->reason);
	else if (options->sysroot)
		module->status = mt_module_file_open_below(options->sysroot, file, &fd,
							   module->reason);
	else
		module->status = mt_module_file_open(file, options, &fd, &proof,
						     module->reason);
	if (module->status == MT_MODULE_VERIFIED) {
		err = load(module, fd, memory, size);
		if (err)
			goto out_free;
		check_build_id(module, file, proof || options->sysroot || file->n_build_id);
	}
	*ret_module = module;
	return 0;

out_free:
	mt_module_free(module);
	return err;
}

void mt_module_free(struct mt_module *module)
{
	if (!module)
		return;
	dwarf_end(module->dwarf);
	dwarf_end(module->alt_dwarf);
	image_release(&module->alt);
	image_release(&module->debug);
	image_release(&module->own);
	free(module->segments);
	free(module->debug_path);
	free(module->debug_dir);
	free(module->found_path);
	free(module->path);
	free(module);
}

enum mt_module_status mt_module_status(const struct mt_module *module)
{
	return module->status;
}

static const char *const status_names[] = {
	[MT_MODULE_VERIFIED] = "verified",
	[MT_MODULE_GONE] = "gone",
	[MT_MODULE_CHANGED] = "changed",
	[MT_MODULE_UNREADABLE] = "unreadable",
	[MT_MODULE_NOT_ELF] = "not_elf",
	[MT_MODULE_NO_FILE] = "no_file",
};

const char *mt_module_status_name(enum mt_module_status status)
{
	return status_names[status];
}

bool mt_module_status_find(const char *name, enum mt_module_status *ret_status)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(status_names); i++) {
		if (!strcmp(name, status_names[i])) {
			*ret_status = (enum mt_module_status)i;
			return true;
		}
	}
	return false;
}

const char *mt_module_reason(const struct mt_module *module)
{
	return module->reason;
}

const char *mt_module_path(const struct mt_module *module)
{
	return module->path;
}

const char *mt_module_package(const struct mt_module *module)
{
	return module->packed ? module->packed->package : NULL;
}

static uint32_t image_id(const struct mt_module *module, enum mt_module_image which)
{
	return which == MT_IMAGE_OWN ? module->packed->own :
	       which == MT_IMAGE_DEBUG ? module->packed->debug : module->packed->alt;
}

bool mt_module_image(struct mt_module *module, enum mt_module_image which,
		     const uint8_t **ret_bytes, size_t *ret_size)
{
	struct image *image = &module->own;
	char *bytes;

	if (which == MT_IMAGE_DEBUG) {
		mt_module_debug_path(module);
		image = &module->debug;
	} else if (which == MT_IMAGE_ALT) {
		mt_module_dwarf(module);
		image = &module->alt;
	}
	if (!image->elf)
		return false;
	if (image->mapped) {
		if (!image->clean)
			image->clean = mt_pack_map_image(module->pack, image_id(module, which),
							 ret_size);
		*ret_bytes = image->clean;
		*ret_size = image->mapped_size;
		return image->clean;
	}
	bytes = elf_rawfile(image->elf, ret_size);
	*ret_bytes = (const uint8_t *)bytes;
	return bytes && *ret_size;
}

size_t mt_module_build_id(const struct mt_module *module, uint8_t ret_id[MT_BUILD_ID_MAX])
{
	memcpy(ret_id, module->build_id, module->build_id_len);
	return module->build_id_len;
}

size_t mt_module_segments(const struct mt_module *module, const struct mt_module_segment **ret)
{
	*ret = module->segments;
	return module->n_segments;
}

uint64_t mt_module_base_svma(const struct mt_module *module)
{
	uint64_t base = UINT64_MAX;
	size_t i;

	for (i = 0; i < module->n_segments; i++) {
		if (module->segments[i].vaddr < base)
			base = module->segments[i].vaddr;
	}
	return module->n_segments ? base : 0;
}

uint16_t mt_module_machine(const struct mt_module *module)
{
	return module->machine;
}

void mt_module_section(struct mt_module *module, const char *name, struct mt_section *ret_section)
{
	image_section(&module->own, name, ret_section);
}

/* Is file range [inner, inner + inner_len) within [outer, outer + outer_len)? */
static bool range_within(uint64_t inner, uint64_t inner_len, uint64_t outer, uint64_t outer_len)
{
	return inner >= outer && inner - outer <= outer_len &&
	       inner_len <= outer_len - (inner - outer);
}

static bool segment_fits(const struct mt_module_segment *seg, uint64_t offset, uint64_t len,
			 uint64_t page)
{
	uint64_t start = seg->offset & ~(page - 1);
	uint64_t size = seg->offset - start + seg->filesz;

	if (page == 1)
		return range_within(offset, len, seg->offset, seg->filesz) ||
		       range_within(seg->offset, seg->filesz, offset, len);
	if (seg->filesz > UINT64_MAX / 2 || start > UINT64_MAX / 2)
		return false;
	return seg->filesz && range_within(offset, len, start, (size + page - 1) & ~(page - 1));
}

int mt_module_load_bias(const struct mt_module *module, uint64_t start, uint64_t len,
			uint64_t offset, uint64_t *ret_bias)
{
	/*
	 * What is recorded is executable, so an executable segment that fits goes before another
	 * that does. The page sizes are for a mapping that was split later (mprotect,
	 * munmap): it can begin in the page before the segment's first byte and end inside.
	 */
	static const struct { uint64_t page; bool any; } passes[] = {
		{ 1, false }, { 1, true }, { 4096, false }, { 65536, false },
	};
	const struct mt_module_segment *seg;
	size_t pass, i;

	for (pass = 0; pass < MT_ARRAY_SIZE(passes); pass++) {
		for (i = 0; i < module->n_segments; i++) {
			seg = &module->segments[i];
			if (!passes[pass].any && !(seg->flags & PF_X))
				continue;
			if (!segment_fits(seg, offset, len, passes[pass].page))
				continue;
			*ret_bias = start + (seg->offset - offset) - seg->vaddr;
			return 0;
		}
	}
	return -MT_E_NO_DATA;
}

/* Is it of the same build? If not, it is let go. */
static bool debug_fits(struct mt_module *module)
{
	uint8_t id[MT_BUILD_ID_MAX];
	GElf_Ehdr ehdr;
	size_t n = image_build_id(&module->debug, id);

	if (n == module->build_id_len && !memcmp(id, module->build_id, n) &&
	    gelf_getehdr(module->debug.elf, &ehdr) && ehdr.e_machine == module->machine)
		return true;
	image_release(&module->debug);
	return false;
}

static void find_packed_debug(struct mt_module *module)
{
	if (image_map(&module->debug, module->pack, module->packed->debug) ||
	    !debug_fits(module))
		return;
	module->debug_path = strdup(module->packed->debug_path);
	if (!module->debug_path)
		image_release(&module->debug);
}

/* Take fd as the debug file if it proves to be this module's. */
static bool accept_debug(struct mt_module *module, int fd, bool have_crc, uint32_t want_crc)
{
	struct stat own, st;
	uint32_t crc;

	/* A link can name the file itself. */
	if (module->own.fd < 0 || fstat(module->own.fd, &own) < 0 || fstat(fd, &st) < 0 ||
	    (own.st_dev == st.st_dev && own.st_ino == st.st_ino)) {
		close(fd);
		return false;
	}
	if (!module->build_id_len &&
	    (!have_crc || mt_module_file_crc(fd, &crc) < 0 || crc != want_crc)) {
		close(fd);
		return false;
	}
	if (image_open(&module->debug, fd, NULL, 0) < 0)
		return false;
	return debug_fits(module);
}

static bool try_debug(struct mt_module *module, const char *path, bool have_crc, uint32_t crc)
{
	int fd = mt_module_file_open_regular(path);

	if (fd < 0 || !accept_debug(module, fd, have_crc, crc))
		return false;
	module->debug_path = strdup(path);
	if (!module->debug_path)
		image_release(&module->debug);
	return module->debug_path != NULL;
}

static void find_debug(struct mt_module *module)
{
	char path[PATH_MAX];
	const char *name;
	unsigned int i;
	GElf_Word crc;
	int err;

	if (module->build_id_len &&
	    !mt_module_file_build_id_path(module->debug_dir, module->build_id,
					  module->build_id_len, path, sizeof(path)) &&
	    try_debug(module, path, false, 0))
		return;
	name = dwelf_elf_gnu_debuglink(module->own.elf, &crc);
	if (!name || !*name || strchr(name, '/'))
		return;
	for (i = 0;; i++) {
		err = mt_module_file_link_path(module->debug_dir, i < 2 ? module->found_path :
					       module->path, name, i, path, sizeof(path));
		if (err == -ENOENT || (!err && try_debug(module, path, true, crc)))
			return;
	}
}

const char *mt_module_debug_path(struct mt_module *module)
{
	if (!module->debug_tried) {
		module->debug_tried = true;
		if (module->own.elf && module->packed)
			find_packed_debug(module);
		else if (module->own.elf)
			find_debug(module);
	}
	return module->debug_path ? module->debug_path : "";
}

/* The sections of a table, once. Damaged: no entries. */
static void load_table(struct image *image, struct table *table, uint32_t type)
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

static struct table *find_table(struct mt_module *module, enum mt_symbol_table which,
				struct image **ret_image)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct image *image = &module->own;
	struct table *table;

	if (which == MT_TABLE_DEBUG_SYMTAB) {
		mt_module_debug_path(module);
		image = &module->debug;
		which = MT_TABLE_SYMTAB;
	}
	table = &image->table[which];
	if (!table->tried)
		load_table(image, table, types[which]);
	*ret_image = image;
	return table;
}

size_t mt_module_symbol_count(struct mt_module *module, enum mt_symbol_table table)
{
	struct image *image;

	return find_table(module, table, &image)->n;
}

bool mt_module_symbol(struct mt_module *module, enum mt_symbol_table which, size_t index,
		      struct mt_elf_symbol *ret_symbol)
{
	struct image *image;
	struct table *table = find_table(module, which, &image);
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

Elf *mt_module_elf(struct mt_module *module)
{
	return module->own.elf;
}

Elf *mt_module_debug_elf(struct mt_module *module)
{
	mt_module_debug_path(module);
	return module->debug.elf;
}

/* No compressed debug section may promise more than the ceiling: libdw unpacks them all. */
static bool sizes_sane(const struct image *image)
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

static bool has_debug_info(const struct image *image)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = image_find_section(image, ".debug_info", &shdr);

	return scn && shdr.sh_type != SHT_NOBITS && shdr.sh_size;
}

/* Has what was opened the build-id that the link names? If not, it is let go. */
static bool alt_fits(struct mt_module *module, const void *id, size_t id_len)
{
	uint8_t have[MT_BUILD_ID_MAX];

	if (image_build_id(&module->alt, have) == id_len && !memcmp(have, id, id_len) &&
	    sizes_sane(&module->alt)) {
		module->alt_dwarf = dwarf_begin_elf(module->alt.elf, DWARF_C_READ, NULL);
		if (module->alt_dwarf)
			return true;
	}
	image_release(&module->alt);
	return false;
}

static bool try_alt(struct mt_module *module, const char *path, const void *id, size_t id_len)
{
	int fd = mt_module_file_open_regular(path);

	return fd >= 0 && !image_open(&module->alt, fd, NULL, 0) && alt_fits(module, id, id_len);
}

/*
 * Find the file that dwz moved common parts to. False: there is one, but it is not here.
 */
static bool attach_alt(struct mt_module *module, const char *dwarf_path)
{
	const char *slash = strrchr(dwarf_path, '/');
	char path[PATH_MAX];
	const char *name;
	const void *id;
	ssize_t n;

	n = dwelf_dwarf_gnu_debugaltlink(module->dwarf, &name, &id);
	if (n == 0)
		return true;
	if (n < 0 || n > MT_BUILD_ID_MAX)
		return false;
	if (module->packed) {
		if (image_map(&module->alt, module->pack, module->packed->alt) ||
		    !alt_fits(module, id, n))
			return false;
		goto found;
	}
	if (!mt_module_file_build_id_path(module->debug_dir, id, n, path, sizeof(path)) &&
	    try_alt(module, path, id, n))
		goto found;
	if (name[0] == '/')
		n = try_alt(module, name, id, n) ? 0 : -1;
	else if (snprintf(path, sizeof(path), "%.*s/%s", slash ? (int)(slash - dwarf_path) : 0,
			  dwarf_path, name) < (int)sizeof(path))
		n = try_alt(module, path, id, n) ? 0 : -1;
	if (n)
		return false;
found:
	dwarf_setalt(module->dwarf, module->alt_dwarf);
	return true;
}

Dwarf *mt_module_dwarf(struct mt_module *module)
{
	const char *path = module->found_path;
	struct image *image = &module->own;

	if (module->dwarf_tried)
		return module->dwarf;
	module->dwarf_tried = true;
	if (!has_debug_info(image) && *mt_module_debug_path(module)) {
		image = &module->debug;
		path = module->debug_path;
	}
	if (!image->elf || !image->n_sections || !sizes_sane(image))
		return NULL;
	module->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (module->dwarf && !attach_alt(module, path)) {
		dwarf_end(module->dwarf);
		module->dwarf = NULL;
	}
	return module->dwarf;
}
