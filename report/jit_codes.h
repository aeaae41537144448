/*
 * report/jit_codes.h - what a process compiled at run time and where, from the files that such
 * programs write for profilers: perf's map (text) and jitdump (with times).
 *
 * Addresses are those of the process. Code may be put where other code was before: the last that
 * was there counts, of those with a time the last before the moment that is asked for.
 */
#ifndef MT_JIT_CODES_H
#define MT_JIT_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_jit_codes;

#define MT_JIT_CODES_MAX (1u << 23)
#define MT_JIT_LINES_MAX (1u << 24)
#define MT_JIT_NONE UINT32_MAX

struct mt_jit_code {
	uint64_t start;
	uint64_t end;		/* exclusive */
	uint64_t time;		/* CLOCK_MONOTONIC, from when on; 0: not known */
	const char *name;	/* whole, as in the file; lives as long as the codes */
	uint32_t order;		/* in which they were written */
	uint32_t first_line;	/* what a dump says of its source, for jit_codes.c */
	uint32_t n_lines;
};

int mt_jit_codes_new(struct mt_jit_codes **ret_codes);
void mt_jit_codes_free(struct mt_jit_codes *codes);

/*
 * Take what a map or a dump has. Lines that are none, records that are cut or of no use are passed
 * over; a dump that is none gives nothing. 0, -ENOMEM, -MT_E_LIMIT.
 */
int mt_jit_codes_take_map(struct mt_jit_codes *codes, const uint8_t *text, size_t size);
int mt_jit_codes_take_dump(struct mt_jit_codes *codes, const uint8_t *bytes, size_t size);

/* Before the first look-up, after the last of the above: 0 or -ENOMEM. */
int mt_jit_codes_index(struct mt_jit_codes *codes);

size_t mt_jit_codes_count(const struct mt_jit_codes *codes);
const struct mt_jit_code *mt_jit_codes_at(const struct mt_jit_codes *codes, uint32_t index);
/* The code at addr at this time, or MT_JIT_NONE. */
uint32_t mt_jit_codes_find(const struct mt_jit_codes *codes, uint64_t addr, uint64_t time);
/* Where addr of that code was written. false: nothing says so. The file lives as the name does. */
bool mt_jit_codes_line(const struct mt_jit_codes *codes, uint32_t index, uint64_t addr,
		       const char **ret_file, uint32_t *ret_line);

#endif
