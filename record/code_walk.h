/*
 * record/code_walk.h - where a function of an ELF file returns, and what it calls and jumps on to.
 *
 * A probe on a return instruction, unlike a return probe, leaves the stack as it is: exceptions
 * pass. So functions that may throw are probed there. The function is followed from its entry
 * over all branches, and over jumps to other functions where asked, since those return to the
 * same caller.
 */
#ifndef MT_CODE_WALK_H
#define MT_CODE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/elf_names.h"

struct mt_elf_image;

#define MT_WALK_RETURNS_MAX 64
#define MT_WALK_JUMPS_MAX 64
#define MT_WALK_CALLS_MAX 64

/* A function that is called: in this file, or by its name in another one. */
struct mt_code_call {
	uint64_t vaddr;		/* 0: in another file */
	char name[MT_ELF_NAME_MAX];	/* there */
};

struct mt_code_walk {
	uint64_t returns[MT_WALK_RETURNS_MAX];	/* virtual addresses of return instructions */
	size_t n_returns;
	uint64_t jumps[MT_WALK_JUMPS_MAX];	/* functions that end it with a jump to them */
	size_t n_jumps;
	char imports[MT_WALK_JUMPS_MAX][MT_ELF_NAME_MAX];	/* the same: names in other files */
	size_t n_imports;
	struct mt_code_call calls[MT_WALK_CALLS_MAX];	/* by direct calls */
	size_t n_calls;
	bool more_calls;	/* than these */
	bool unknown;		/* there may be more: code not understood, or too much of it */
};

/*
 * Does the function at vaddr do nothing but jump to another one of this file? *ret_target
 * is where that is, even if other files may replace it.
 */
bool mt_code_only_jumps(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_target);

/*
 * Walk the function at vaddr; into: also the functions it jumps to, if they are in this file. Of
 * ret_walk's arrays what is found is set.
 */
void mt_code_walk(const struct mt_elf_image *image, uint64_t vaddr, bool into,
		  struct mt_code_walk *ret_walk);

#endif
