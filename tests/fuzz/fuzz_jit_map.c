/*
 * tests/fuzz/fuzz_jit_map.c - perf's map of code compiled at run time.
 */
#include "tests/fuzz/jit_look.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_jit_codes *codes;

	if (mt_jit_codes_new(&codes))
		abort();
	if (mt_jit_codes_take_map(codes, data, size))
		abort();
	jit_look(codes);
	mt_jit_codes_free(codes);
	return 0;
}
