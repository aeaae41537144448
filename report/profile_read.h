/*
 * report/profile_read.h - modules out of a profile folder that was written elsewhere.
 *
 * What memtrack.metadata says of them is read at once; the symbols and unwind tables of one when it
 * is asked for, into an ELF file in memory that has the same sections, segments, symbols and
 * build-id as the one that was mapped, and no code. Folders may be anybody's.
 */
#ifndef MT_PROFILE_READ_H
#define MT_PROFILE_READ_H

#include "report/module.h"

#define MT_PROFILE_MODULES_MAX (1u << 16)
#define MT_PROFILE_LOCATED_MAX (1u << 24)
#define MT_PROFILE_FILE_MAX (1ull << 30)
#define MT_PROFILE_SECTIONS_MAX 4096u

/* Where a function was written. */
struct mt_profile_located {
	uint64_t svma;
	uint64_t size;
	const char *name;	/* DWARF's, NULL: it has none */
	const char *file;
	uint32_t line;		/* 0: unknown */
};

/* Strings live as long as the folder. */
struct mt_profile_module {
	const char *key;
	const char *path;	/* where it was mapped from */
	uint8_t build_id[MT_BUILD_ID_MAX];
	uint32_t n_build_id;
	uint16_t machine;
	uint64_t entry;
	struct mt_module_segment *segments;
	size_t n_segments;
	struct mt_module_range *sections;
	size_t n_sections;
	const char *kinds;	/* a letter for each symbol; NULL: it has none */
	const struct mt_profile_located *located;	/* ascending */
	size_t n_located;
	size_t first_function, n_functions;	/* for profile_read.c */
};

struct mt_profile_modules;

/* The folder dir. 0; -MT_E_CORRUPT: that is no profile folder; -MT_E_LIMIT; -errno. */
int mt_profile_modules_open(const char *dir, struct mt_profile_modules **ret_modules);
/* The same of the text of a memtrack.metadata, which becomes the modules'. For tests. */
int mt_profile_modules_parse(char *text, size_t n, struct mt_profile_modules **ret_modules);
void mt_profile_modules_free(struct mt_profile_modules *modules);

size_t mt_profile_modules_count(const struct mt_profile_modules *modules);
/* By build-id, NULL if it has none such. Borrowed. */
const struct mt_profile_module *mt_profile_modules_find(const struct mt_profile_modules *modules,
							const uint8_t *id, size_t n);
/* One of this path, or else of its last part, whatever its build-id; NULL: none. */
const struct mt_profile_module *mt_profile_modules_named(const struct mt_profile_modules *modules,
							 const char *path);

/* The module as an ELF file: bytes of malloc(). 0, -MT_E_CORRUPT, -MT_E_LIMIT, -errno. */
int mt_profile_module_image(const struct mt_profile_modules *modules,
			    const struct mt_profile_module *module, uint8_t **ret_bytes,
			    size_t *ret_size);

/*
 * The same of what the files of the folder hold: KEY.symbols.map, and KEY.unwind_data. NULL: there
 * is none.
 */
int mt_profile_image_build(const struct mt_profile_module *module, const char *symbols,
			   size_t n_symbols, const uint8_t *unwind, size_t n_unwind,
			   uint8_t **ret_bytes, size_t *ret_size);

/* The function at svma, NULL: none is known. */
const struct mt_profile_located *mt_profile_locate(const struct mt_profile_module *module,
						   uint64_t svma);

#endif
