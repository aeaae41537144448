/*
 * report/module.h - the ELF file behind a mapping, proved to be the right one.
 *
 * A failure is a result too: the module object exists, says why, and answers nothing.
 */
#ifndef MT_MODULE_H
#define MT_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

struct mt_cache;
struct mt_debuginfod;
struct mt_file;
struct mt_module;
struct mt_pack;
struct mt_profile_module;
struct mt_profile_modules;

#define MT_REASON_MAX 192

/* Ceilings for what an ELF file may claim. */
#define MT_SEGMENTS_MAX 4096u
#define MT_SECTIONS_MAX (1u << 20)
#define MT_SECTION_BYTES_MAX (4ull << 30)	/* decompressed */

enum mt_module_status {
	MT_MODULE_VERIFIED,	/* same (dev, ino), or same build-id */
	MT_MODULE_GONE,		/* nothing at the path */
	MT_MODULE_CHANGED,	/* another (dev, ino) at the path, or contents written since */
	MT_MODULE_UNREADABLE,	/* see the reason */
	MT_MODULE_NOT_ELF,
	MT_MODULE_NO_FILE,	/* anonymous memory; [vdso] of another kernel */
};

struct mt_module_options {
	const char *kernel;	/* uname -r of the recording, for [vdso]; NULL: unknown */
	const char *debug_dir;	/* root of separate debug files; NULL: SYSROOT/usr/lib/debug */
	const struct mt_pack *pack;	/* looked at first; outlives the module; NULL: none */
	/* A profile folder, looked in next; outlives the module; NULL: none. */
	struct mt_profile_modules *profile;
	const char *sysroot;	/* folder to look for all files in; NULL: this machine's own */
	struct mt_debuginfod *debuginfod;	/* asked for what is not found; NULL: nobody is */
	struct mt_cache *cache;	/* of what is worked out of modules; NULL: none */
	/* One moment by both clocks, as in the header; 0: files' times are not looked at. */
	uint64_t start_time;
	uint64_t start_realtime;
};

struct mt_module_segment {
	uint64_t offset;	/* PT_LOAD p_offset, p_filesz, p_vaddr, p_memsz, p_flags */
	uint64_t filesz;
	uint64_t vaddr;
	uint64_t memsz;
	uint32_t flags;
};

/* A section's contents and where they are mapped (svma = address as in the ELF file). */
struct mt_section {
	const uint8_t *data;	/* NULL if absent */
	size_t size;
	uint64_t svma;
};

/*
 * Open and verify. Always yields a module unless -ENOMEM. On the recording machine
 * the file at file->path must have file's (dev, ino), compared by major and minor, as stat(2) or
 * as a mapping shows them, and its generation where both sides know one; anything else is refused
 * before a byte of it is read. If it was written to since it was noted, its build-id must still be
 * the noted one; one that nobody noted must not have been written to since it was first mapped.
 * Below a sysroot the build-id alone decides, and a file without one is refused. One that is
 * refused may still come from debuginfod, by its build-id. Of a pack, what
 * was verified when it was made, or the same refusal, unless the profile folder or the sysroot has
 * it. In a profile folder the build-id alone decides. [vdso] is taken from this process if this
 * kernel is the recorded one and the build-id agrees. options NULL: all defaults.
 */
int mt_module_open(const struct mt_file *file, const struct mt_module_options *options,
		   struct mt_module **ret_module);
void mt_module_free(struct mt_module *module);

enum mt_module_status mt_module_status(const struct mt_module *module);
const char *mt_module_status_name(enum mt_module_status status);	/* "verified", ... */
/* One clause for people, e.g. "inode 812, recorded 799"; "" if verified. */
const char *mt_module_reason(const struct mt_module *module);
const char *mt_module_path(const struct mt_module *module);
/* The package that the pack says it came in, "" if that is unknown; NULL: not from a pack. */
const char *mt_module_package(const struct mt_module *module);
/* The profile folder's, if it is from one; NULL. */
const struct mt_profile_module *mt_module_profile(const struct mt_module *module);
/* By its name: false if there is none such. */
bool mt_module_status_find(const char *name, enum mt_module_status *ret_status);

/* The files that a module is read from, as they are: for a pack. */
enum mt_module_image {
	MT_IMAGE_OWN,
	MT_IMAGE_DEBUG,
	MT_IMAGE_ALT,
	MT_IMAGES
};

/* false: there is no such file. Bytes live as long as the module. */
bool mt_module_image(struct mt_module *module, enum mt_module_image image,
		     const uint8_t **ret_bytes, size_t *ret_size);
/*
 * The split units of DWARF that were found, once mt_lines_load() has looked for them: each a .dwo
 * file of its own. false: no such index.
 */
bool mt_module_split_image(struct mt_module *module, size_t index, uint64_t *ret_id,
			   const uint8_t **ret_bytes, size_t *ret_size);
/* What such a file is called in a pack, with its id as generation. */
#define MT_SPLIT_PATH "[split]"
/* Build-id bytes; 0 length if none or not verified. */
size_t mt_module_build_id(const struct mt_module *module, uint8_t ret_id[MT_BUILD_ID_MAX]);

size_t mt_module_segments(const struct mt_module *module, const struct mt_module_segment **ret);
uint64_t mt_module_base_svma(const struct mt_module *module);	/* lowest PT_LOAD p_vaddr */
uint16_t mt_module_machine(const struct mt_module *module);	/* e_machine */
uint64_t mt_module_entry(const struct mt_module *module);	/* e_entry */

/* A section that has memory of its own in a process. */
struct mt_module_range {
	const char *name;	/* lives as long as the module */
	uint64_t svma;
	uint64_t size;
};

size_t mt_module_sections(const struct mt_module *module);
/* false: section index is not one of those. */
bool mt_module_memory_section(const struct mt_module *module, size_t index,
			      struct mt_module_range *ret_range);

/* Named section of the verified file (decompressed where compressed), or data == NULL. */
void mt_module_section(struct mt_module *module, const char *name, struct mt_section *ret_section);

/*
 * Load bias of a placement that maps file bytes [offset, offset + len) at address start:
 * start's address minus its svma, wrapping; memtrack.metadata(5)'s rule. -MT_E_NO_DATA if no
 * PT_LOAD fits.
 */
int mt_module_load_bias(const struct mt_module *module, uint64_t start, uint64_t len,
			uint64_t offset, uint64_t *ret_bias);

/*
 * Separate debug file found for it: by build-id, else by .gnu_debuglink in the file's
 * folder, its .debug folder and under the debug folder. It must have the file's build-id; where
 * the file has none, the link's checksum. "" if there is none. Searched for once.
 */
const char *mt_module_debug_path(struct mt_module *module);

enum mt_symbol_table {
	MT_TABLE_SYMTAB,
	MT_TABLE_DYNSYM,
	MT_TABLE_DEBUG_SYMTAB,	/* the separate debug file's .symtab */
	MT_TABLE_MINI_SYMTAB,	/* of the stripped file's .gnu_debugdata */
	MT_TABLES
};

/* A symbol that has an address in the module: in a section; no file, section or TLS symbol. */
struct mt_elf_symbol {
	const char *name;	/* lives as long as the module */
	uint64_t addr;
	uint64_t size;		/* as in the file */
	uint64_t section_end;	/* svma at which its section ends; UINT64_MAX if unknown */
	uint8_t type;		/* STT_* of elf(5) */
	uint8_t binding;	/* STB_* */
};

/* Of MT_TABLE_MINI_SYMTAB, unpacked. */
#define MT_MINI_BYTES_MAX (256u << 20)

/* How many entries the table has at most, symbols without an address included. */
size_t mt_module_symbol_count(struct mt_module *module, enum mt_symbol_table table);
/* False: entry index is not such a symbol, or is damaged. */
bool mt_module_symbol(struct mt_module *module, enum mt_symbol_table table, size_t index,
		      struct mt_elf_symbol *ret_symbol);

/*
 * For cfi_parse.c and dwarf_*.c only: libelf's and libdw's handles, or NULL. Borrowed.
 * mt_module_dwarf() is of the file that has .debug_info, its own or the debug file, with the
 * supplementary file (.gnu_debugaltlink) it refers to; NULL as well if that one is missing, for
 * names would then be wrong.
 */
struct Elf;
struct Dwarf;
struct Elf *mt_module_elf(struct mt_module *module);
struct Elf *mt_module_debug_elf(struct mt_module *module);
struct Dwarf *mt_module_dwarf(struct mt_module *module);

#endif
