/*
 * tests/fuzz/fuzz_cfi.c - unwind sections.
 *
 * The first byte chooses the machine and the section. The bytes stand before an
 * unmapped page, so that an overrun by libdw, which no sanitizer instruments, is seen too.
 */
#include <sys/mman.h>

#include "report/cfi_source.h"

#define SPACE (1u << 21)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct mt_cfi *cfi)
{
	const struct mt_cfi_rules *rules;
	uint64_t last = 0;
	uint64_t svma;
	unsigned int k;
	size_t i;

	for (i = 0; i < mt_cfi_rows(cfi); i++) {
		rules = mt_cfi_row(cfi, i, &svma);
		if ((i && svma <= last) || mt_cfi_find(cfi, svma) != rules)
			abort();
		last = svma;
		for (k = 0; rules && k < rules->n_rules; k++) {
			if (rules->list[k].reg >= MT_REGS_MAX)
				abort();
			if (rules->list[k].kind == MT_RULE_EXPR ||
			    rules->list[k].kind == MT_RULE_VAL_EXPR)
				mt_cfi_expr(cfi, rules->list[k].value);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *space;
	struct mt_cfi_source source = { 0 };
	struct mt_section section;
	struct mt_cfi *cfi;

	if (!space) {
		space = mmap(NULL, SPACE + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (space == MAP_FAILED || mprotect(space, SPACE, PROT_READ | PROT_WRITE))
			abort();
	}
	if (size < 2 || size > SPACE)
		return 0;
	section.size = size - 1;
	section.data = space + SPACE - section.size;
	section.svma = 0x400000;
	memcpy(space + SPACE - section.size, data + 1, section.size);
	source.aarch64 = data[0] & 1;
	if (data[0] & 2)
		source.debug_frame = section;
	else
		source.eh_frame = section;
	if (mt_cfi_compile_source(&source, &cfi))
		return 0;
	look(cfi);
	mt_cfi_free(cfi);
	return 0;
}
