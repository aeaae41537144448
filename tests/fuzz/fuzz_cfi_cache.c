/*
 * tests/fuzz/fuzz_cfi_cache.c - an unwind table of the cache, and what is done with one.
 */
#include "report/cfi_cache.h"

#include "report/unwind_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mt_unwind_arch x86_64 = {
	.name = "x86_64", .n_regs = 17, .pc = 16, .sp = 7, .fp = 6, .lr = MT_UNWIND_NO_LR,
};

/* One step from a stack that has all registers within the captured bytes. */
static void step(const struct mt_cfi *cfi, const struct mt_cfi_rules *rules)
{
	static uint8_t bytes[512];
	struct mt_stack stack = {
		.n_regs = MT_REGS_MAX, .bytes = bytes, .n_bytes = sizeof(bytes),
	};
	struct mt_unwind_state state;
	enum mt_unwind_end end;
	unsigned int i;

	for (i = 0; i < MT_REGS_MAX; i++)
		stack.regs[i] = 0x1000 + 8 * (i % 16);
	if (mt_unwind_state_init(&state, &x86_64, UINT64_MAX, &stack))
		mt_unwind_step_cfi(&state, cfi, rules, 0, &end);
	mt_unwind_keeps_fp(&x86_64, rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mt_cfi_rules *rules;
	struct mt_cfi *cfi;
	uint64_t svma;
	size_t i;

	if (size > 1 << 20 || mt_cfi_read(data, size, &cfi))
		return 0;
	for (i = 0; i < mt_cfi_rows(cfi); i++) {
		rules = mt_cfi_row(cfi, i, &svma);
		if (mt_cfi_find(cfi, svma) != rules)
			abort();
		mt_cfi_is_entry(cfi, svma);
		if (rules)
			step(cfi, rules);
	}
	mt_cfi_free(cfi);
	return 0;
}
