/*
 * tests/fuzz/jit_look.h - look at all codes, and up what they say.
 */
#ifndef JIT_LOOK_H
#define JIT_LOOK_H

#include "report/jit_codes.h"

static inline void jit_look(struct mt_jit_codes *codes)
{
	const struct mt_jit_code *code, *found;
	const char *file;
	uint32_t i, at, line;

	if (mt_jit_codes_index(codes))
		abort();
	for (i = 0; i < mt_jit_codes_count(codes); i++) {
		code = mt_jit_codes_at(codes, i);
		if (code->start >= code->end || !*code->name)
			abort();
		if (mt_jit_codes_line(codes, i, code->end - 1, &file, &line) && !*file)
			abort();
		at = mt_jit_codes_find(codes, code->end - 1, code->time);
		if (at == MT_JIT_NONE)
			abort();
		found = mt_jit_codes_at(codes, at);
		if (found->start >= code->end || found->end < code->end ||
		    found->time > code->time)
			abort();
	}
}

#endif
