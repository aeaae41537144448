/*
 * tests/fuzz/fuzz_expr.c - DWARF expressions.
 */
#include "report/dwarf_expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every address can be read; its contents depend on it. */
static int read_memory(void *arg, uint64_t addr, unsigned int size, uint64_t *ret_value)
{
	(void)arg;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		abort();
	*ret_value = (addr * 0x9e3779b97f4a7c15u) >> (64 - 8 * size);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t regs[33] = { [6] = 0x7ffd1000, [7] = 0x7ffd0000, [16] = 0x401020 };
	uint64_t cfa = 0x7ffd0100;
	struct mt_expr_input input = {
		.regs = regs,
		.known = ((uint64_t)1 << 33) - 1,
		.bias = 0x550000000000,
		.read = read_memory,
	};
	uint64_t value;

	mt_expr_eval(data, size, &input, &value);
	input.cfa = &cfa;
	mt_expr_eval(data, size, &input, &value);
	return 0;
}
