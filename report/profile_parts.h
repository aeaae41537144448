/*
 * report/profile_parts.h - the files of a profile folder, each as a stream of bytes.
 */
#ifndef MT_PROFILE_PARTS_H
#define MT_PROFILE_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mt_json;
struct mt_session;
struct mt_symbol;
struct mt_symbolizer;

#define MT_PROFILE_METADATA "memtrack.metadata"
#define MT_PROFILE_SYMBOLS ".symbols.map"
#define MT_PROFILE_UNWIND ".unwind_data"

/* What DWARF calls the function at a symbol of another name; NULL: it has no name. */
struct mt_profile_function {
	uint64_t svma;
	const char *name;
};

/* A mapped file that gives the folder something. */
struct mt_profile_part {
	uint32_t file;		/* mt_session_file */
	char *key;		/* INDEX__BASENAME */
	bool symbols;
	bool unwind;
	bool debug;
	struct mt_profile_function *functions;	/* once the metadata has its lines; ascending */
	size_t n_functions;
};

struct mt_profile_parts {
	struct mt_session *session;
	struct mt_symbolizer *symbolizer;
	struct mt_profile_part *parts;
	size_t n;
	uint32_t *part_of_file;	/* by file index; UINT32_MAX: none */
};

/*
 * What a symbol is, as one letter for each line of KEY.symbols.map: what a name is chosen by.
 * memtrack.metadata(5) has the table.
 */
enum mt_profile_symbol { MT_PROFILE_DATA, MT_PROFILE_FUNCTION, MT_PROFILE_LABEL };
enum mt_profile_binding { MT_PROFILE_GLOBAL, MT_PROFILE_WEAK, MT_PROFILE_LOCAL };
#define MT_PROFILE_LETTER(symbol, binding) ('a' + 3 * (symbol) + (binding))

/* Open every file that some process mapped and see what it has. 0 or -ENOMEM. */
int mt_profile_parts_load(struct mt_profile_parts *parts, struct mt_session *session,
			  struct mt_symbolizer *symbolizer);
void mt_profile_parts_release(struct mt_profile_parts *parts);

/* Write KEY.symbols.map, KEY.unwind_data. What could not be written shows in ferror(out). */
void mt_profile_put_symbols(const struct mt_profile_parts *parts,
			    const struct mt_profile_part *part, FILE *out);
void mt_profile_put_unwind(const struct mt_profile_parts *parts,
			   const struct mt_profile_part *part, FILE *out);

/* Is the symbol in KEY.symbols.map? Its name must be text in one line. */
bool mt_profile_has_symbol(const struct mt_symbol *symbol);

/* The member "modules" of memtrack.metadata: what proves each file, and what --profile needs. */
void mt_profile_put_facts(const struct mt_profile_parts *parts, struct mt_json *json);

/* Write memtrack.metadata: 0, -ENOMEM, -EIO. */
int mt_profile_put_metadata(const struct mt_profile_parts *parts, const char *integration_name,
			    const char *integration_version, FILE *out);

#endif
