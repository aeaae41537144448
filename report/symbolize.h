/*
 * report/symbolize.h - frames to names, files and lines; inlined calls included.
 *
 * Owns the modules of a session, opened and verified on first use, with their unwind tables,
 * symbols and line tables, each loaded once; failures are remembered too.
 */
#ifndef MT_SYMBOLIZE_H
#define MT_SYMBOLIZE_H

#include "report/unwind.h"

struct mt_session;
struct mt_module;
struct mt_symbols;
struct mt_symbolizer;

/* One source-level function at a pc. */
struct mt_location {
	const char *function;	/* demangled; NULL if unknown */
	const char *linkage;	/* as in the file; NULL if unknown */
	const char *file;	/* NULL if unknown */
	uint32_t line;		/* 0 if unknown */
	bool inlined;		/* inlined into the next location */
	const char *module;	/* path of the module, NULL if the pc is in no mapping */
	uint64_t offset;	/* svma of pc in the module (or pc itself), for module+0xoffset */
};

int mt_symbolizer_new(struct mt_session *session, struct mt_symbolizer **ret_symbolizer);
void mt_symbolizer_free(struct mt_symbolizer *symbolizer);

/* The module of a file index (mt_session_file), opened if need be. Never NULL except out of memory. */
struct mt_module *mt_symbolizer_module(struct mt_symbolizer *symbolizer, uint32_t file);
/* Its symbols, or NULL if it has none or was refused. */
const struct mt_symbols *mt_symbolizer_symbols(struct mt_symbolizer *symbolizer, uint32_t file);
/* Has this file line information (its own or a separate debug file's)? */
bool mt_symbolizer_has_lines(struct mt_symbolizer *symbolizer, uint32_t file);

/* mt_unwind_find_fn; arg is the symbolizer. */
bool mt_symbolizer_find_code(void *arg, const struct mt_stack *stack, uint64_t addr,
			     struct mt_unwind_code *ret_code);

/*
 * Source-level functions at a frame, innermost inlined first; at least one. Cached by
 * (file, svma); strings live as long as the symbolizer.
 */
int mt_symbolize(struct mt_symbolizer *symbolizer, const struct mt_frame *frame,
		 const struct mt_location **ret_locations, size_t *ret_n);

#endif
