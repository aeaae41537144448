/*
 * report/symbolize.h - frames to names, files and lines; inlined calls included.
 *
 * Owns the modules of a session, opened and verified on first use, with their unwind tables,
 * symbols and line tables, each loaded once; failures are remembered too.
 */
#ifndef MT_SYMBOLIZE_H
#define MT_SYMBOLIZE_H

#include "report/module.h"
#include "report/unwind.h"

struct mt_jit;
struct mt_session;
struct mt_symbols;
struct mt_lines;
struct mt_symbolizer;

/* Stands for a module where code was compiled at run time. */
#define MT_JIT_MODULE "[jit]"

/* One source-level function at a pc. */
struct mt_location {
	const char *function;	/* demangled; NULL if unknown */
	const char *linkage;	/* as in the file; NULL if unknown */
	const char *file;	/* NULL if unknown */
	uint32_t line;		/* 0 if unknown */
	bool inlined;		/* inlined into the next location */
	const char *module;	/* path of the module, NULL if the pc is in no mapping */
	uint64_t offset;	/* for module+0xoffset, see mt_symbolize() */
};

/*
 * Borrows session, and options' strings; options NULL: defaults, without [vdso] (whose kernel
 * must be known: give the recording's header's) and without a look at the files' times.
 */
int mt_symbolizer_new(struct mt_session *session, const struct mt_module_options *options,
		      struct mt_symbolizer **ret_symbolizer);
void mt_symbolizer_free(struct mt_symbolizer *symbolizer);

/* The module of a file index (mt_session_file), opened if need be. NULL only out of memory. */
struct mt_module *mt_symbolizer_module(struct mt_symbolizer *symbolizer, uint32_t file);
/* What its processes compiled at run time. Borrowed. */
struct mt_jit *mt_symbolizer_jit(struct mt_symbolizer *symbolizer);
/* Its symbols, or NULL if it has none or was refused. */
const struct mt_symbols *mt_symbolizer_symbols(struct mt_symbolizer *symbolizer, uint32_t file);
/* Its line tables, or NULL. */
struct mt_lines *mt_symbolizer_lines(struct mt_symbolizer *symbolizer, uint32_t file);
/* Has it any? Told by the cache where that knows the file. */
bool mt_symbolizer_has_symbols(struct mt_symbolizer *symbolizer, uint32_t file);
/* Has this file line information (its own or a separate debug file's)? */
bool mt_symbolizer_has_lines(struct mt_symbolizer *symbolizer, uint32_t file);
/*
 * Load bias of a placement. False: its module was refused, or the mapping is of nothing
 * its segments load.
 */
bool mt_symbolizer_bias(struct mt_symbolizer *symbolizer, uint32_t placement, uint64_t *ret_bias);

/* Keep what was worked out of the files, for the next run, in the cache that options named. */
void mt_symbolizer_save(struct mt_symbolizer *symbolizer);

/*
 * mt_unwind_find_fn; arg is the symbolizer. Any number of threads may call it at once, as long as
 * nothing else is called.
 */
bool mt_symbolizer_find_code(void *arg, const struct mt_stack *stack, uint64_t addr,
			     struct mt_unwind_code *ret_code);

/*
 * Source-level functions at a frame, innermost inlined first; at least one. Cached by
 * (file, svma); they and their strings live as long as the symbolizer. The function is the
 * one that holds pc - 1, or pc if the frame is exact; never the nearest one before. Without a
 * function, offset is what there is: the svma of pc; in a module that was refused, pc's offset in
 * the file; in no module, pc. 0 or -ENOMEM. Threads may name frames of different files at once.
 */
int mt_symbolize(struct mt_symbolizer *symbolizer, const struct mt_frame *frame,
		 const struct mt_location **ret_locations, size_t *ret_n);

#endif
