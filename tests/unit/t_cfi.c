/* Compiled unwind rows of programs built by hand. */
#include "tests/unit/cfi_expect.h"

TestSuite(cfi, .init = setup, .fini = teardown);

/* push %rbp; mov %rsp, %rbp; push %rbx; ...; leave; ret */
Test(cfi, a_function_with_a_frame_pointer)
{
	const struct mt_cfi_rules *rules;

	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x40,
		CFI_CODE(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x44, 0x83, 3, 0x60, 0x0c, 7, 8));
	cfi = cfi_compile(&section, false);
	cr_expect_null(mt_cfi_find(cfi, 0xfff));
	expect_cfa(0x1000, 7, 8);
	expect_rule(0x1000, 16, MT_RULE_OFFSET, -8);
	expect_same(0x1000, 6);
	expect_cfa(0x1001, 7, 16);
	expect_rule(0x1003, 6, MT_RULE_OFFSET, -16);
	expect_cfa(0x1003, 7, 16);
	expect_cfa(0x1004, 6, 16);
	expect_same(0x1007, 3);
	expect_rule(0x1008, 3, MT_RULE_OFFSET, -24);
	expect_cfa(0x1028, 7, 8);
	expect_cfa(0x103f, 7, 8);
	cr_expect_null(mt_cfi_find(cfi, 0x1040));
	cr_expect_null(mt_cfi_find(cfi, UINT64_MAX));
	cr_expect_eq(mt_cfi_rows(cfi), 6);
	cr_expect_eq(cfi_damaged(cfi), 0);

	rules = mt_cfi_find(cfi, 0x1008);
	cr_expect_eq(rules->flags, MT_CFI_PLAIN | MT_CFI_RETURNS);
	cr_expect_eq(rules->ra, 16);
	cr_expect_eq(rules->n_rules, 3);
	cr_expect_eq(rules->low, -24);
	cr_expect_eq(rules->high, 0);
}

Test(cfi, every_advance)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x40000,
		CFI_CODE(0x02, 0xf0, 0x0e, 16, 0x03, 0x00, 0x10, 0x0e, 24, 0x04, 0x00, 0x00, 0x02,
			 0x00, 0x0e, 32, 0x1d, 1, 0, 0, 0, 0, 0, 0, 0, 0x0e, 40, 0x01, 0x00,
			 0x00, 0x04, 0x00, 0, 0, 0, 0, 0x0e, 48));
	cfi = cfi_compile(&section, false);
	expect_cfa(0x10ef, 7, 8);
	expect_cfa(0x10f0, 7, 16);
	expect_cfa(0x20ef, 7, 16);
	expect_cfa(0x20f0, 7, 24);
	expect_cfa(0x220ef, 7, 24);
	expect_cfa(0x220f0, 7, 32);
	expect_cfa(0x220f1, 7, 40);
	expect_cfa(0x40000, 7, 48);
	expect_cfa(0x40fff, 7, 48);
	cr_expect_null(mt_cfi_find(cfi, 0x41000));
}

Test(cfi, every_rule)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10,
		CFI_CODE(0x83, 2,		/* offset rbx */
			 0x05, 12, 3,		/* offset_extended r12 */
			 0x11, 13, 0x7c,	/* offset_extended_sf r13, -4 */
			 0x14, 14, 4,		/* val_offset r14 */
			 0x15, 15, 0x7f,	/* val_offset_sf r15, -1 */
			 0x09, 6, 2,		/* register rbp, rcx */
			 0x07, 0,		/* undefined rax */
			 0x2f, 8, 5,		/* GNU_negative_offset_extended r8 */
			 0x10, 9, 2, 0x23, 8,	/* expression r9 */
			 0x16, 10, 2, 0x23, 8,	/* val_expression r10 */
			 0x16, 11, 1, 0x38,	/* another for r11 */
			 0x11, 33, 1,		/* a vector register: not tracked */
			 0x09, 1, 33));		/* rdx in one */
	cfi = cfi_compile(&section, false);
	expect_rule(0x1000, 3, MT_RULE_OFFSET, -16);
	expect_rule(0x1000, 12, MT_RULE_OFFSET, -24);
	expect_rule(0x1000, 13, MT_RULE_OFFSET, 32);
	expect_rule(0x1000, 14, MT_RULE_VAL_OFFSET, -32);
	expect_rule(0x1000, 15, MT_RULE_VAL_OFFSET, 8);
	expect_rule(0x1000, 6, MT_RULE_REGISTER, 2);
	expect_rule(0x1000, 0, MT_RULE_UNDEFINED, 0);
	expect_rule(0x1000, 8, MT_RULE_OFFSET, 40);
	expect_rule(0x1000, 9, MT_RULE_EXPR, 0);
	expect_rule(0x1000, 10, MT_RULE_VAL_EXPR, 0);
	expect_rule(0x1000, 11, MT_RULE_VAL_EXPR, 1);
	expect_rule(0x1000, 1, MT_RULE_UNDEFINED, 0);
	cr_expect_eq(mt_cfi_find(cfi, 0x1000)->flags, MT_CFI_RETURNS);
	cr_expect_eq(mt_cfi_find(cfi, 0x1000)->n_rules, 13);
	cr_expect_eq(mt_cfi_expr(cfi, 0).len, 2);
	cr_expect_arr_eq(mt_cfi_expr(cfi, 0).ops, "\x23\x08", 2);
	cr_expect_eq(mt_cfi_expr(cfi, 1).ops[0], 0x38);
}

Test(cfi, restore_and_same_value)
{
	static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1, 0x83, 2 };
	size_t cie = cfi_cie(&section, "", NULL, 0, 16, initial, sizeof(initial));

	cfi_fde(&section, cie, 0x1000, 0x10,
		CFI_CODE(0x83, 5, 0x86, 6, 0x41, 0xc3, 0xc6, 0x41, 0x08, 3, 0x41, 0x06, 3, 0x41,
			 0x07, 16));
	cfi = cfi_compile(&section, false);
	expect_rule(0x1000, 3, MT_RULE_OFFSET, -40);
	expect_rule(0x1000, 6, MT_RULE_OFFSET, -48);
	expect_rule(0x1001, 3, MT_RULE_OFFSET, -16);
	expect_same(0x1001, 6);
	expect_same(0x1002, 3);
	expect_rule(0x1003, 3, MT_RULE_OFFSET, -16);
	cr_expect_eq(mt_cfi_find(cfi, 0x1003)->flags & MT_CFI_END, 0);
	cr_expect_eq(mt_cfi_find(cfi, 0x1004)->flags & MT_CFI_END, MT_CFI_END);
}

Test(cfi, remember_and_restore_state_nest)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10,
		CFI_CODE(0x0e, 16, 0x83, 2, 0x0a, 0x41, 0x0e, 24, 0x0a, 0x41, 0x0c, 6, 32, 0xc3,
			 0x41, 0x0b, 0x41, 0x0b));
	cfi = cfi_compile(&section, false);
	expect_cfa(0x1001, 7, 24);
	expect_cfa(0x1002, 6, 32);
	expect_same(0x1002, 3);
	expect_cfa(0x1003, 7, 24);
	expect_rule(0x1003, 3, MT_RULE_OFFSET, -16);
	expect_cfa(0x1004, 7, 16);
}

Test(cfi, cfa_by_every_instruction)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10,
		CFI_CODE(0x12, 6, 0x7e,			/* def_cfa_sf rbp, -2 */
			 0x41, 0x13, 0x7d,		/* def_cfa_offset_sf -3 */
			 0x41, 0x0f, 2, 0x77, 0,	/* def_cfa_expression */
			 0x41, 0x0d, 7,			/* register, with the offset before it */
			 0x41, 0x0f, 1, 0x38, 0x0e, 48,	/* an offset does not end it */
			 0x41, 0x0d, 12));
	cfi = cfi_compile(&section, false);
	expect_cfa(0x1000, 6, 16);
	expect_cfa(0x1001, 6, 24);
	cr_expect_eq(mt_cfi_find(cfi, 0x1002)->flags, MT_CFI_CFA_EXPR | MT_CFI_RETURNS);
	cr_expect_eq(mt_cfi_find(cfi, 0x1002)->cfa_value, 0);
	expect_cfa(0x1003, 7, 24);
	cr_expect_eq(mt_cfi_find(cfi, 0x1004)->flags, MT_CFI_CFA_EXPR | MT_CFI_RETURNS);
	cr_expect_eq(mt_cfi_find(cfi, 0x1004)->cfa_value, 1);
	expect_cfa(0x1005, 12, 48);
}

/* The argument size is of no use here, and rows that say the same are one. */
Test(cfi, rows_that_change_nothing)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10,
		CFI_CODE(0x41, 0x2e, 16, 0x41, 0x2e, 0, 0x41, 0x0e, 16));
	cfi_fde(&section, 0, 0x1010, 0x10, CFI_CODE(0x0e, 16));
	cfi = cfi_compile(&section, false);
	cr_expect_eq(mt_cfi_rows(cfi), 3);
	expect_cfa(0x1002, 7, 8);
	expect_cfa(0x1010, 7, 16);
	cr_expect_null(mt_cfi_find(cfi, 0x1020));
}

/* On x86-64 a call has pushed the return address, also where the CIE forgets to say so. */
Test(cfi, return_address_by_default)
{
	static const uint8_t initial[] = { 0x0c, 7, 8 };

	cfi_fde(&section, cfi_cie(&section, "", NULL, 0, 16, initial, sizeof(initial)), 0x1000, 1,
		NULL, 0);
	cfi = cfi_compile(&section, false);
	expect_rule(0x1000, 16, MT_RULE_OFFSET, -8);
}

Test(cfi, what_lies_beyond_the_function_does_not_count)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10,
		CFI_CODE(0x4f, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0xff));
	cfi = cfi_compile(&section, false);
	cr_expect_eq(cfi_damaged(cfi), 0);
	expect_cfa(0x100f, 7, 16);
	cr_expect_null(mt_cfi_find(cfi, 0x1010));
}

/* Every kind of bad program: its function is left out, its neighbours are not. */
Test(cfi, damaged_programs_are_left_out_alone)
{
	static const struct {
		size_t n;
		uint8_t code[16];
	} bad[] = {
		{ 1, { 0x0b } },			/* nothing remembered */
		{ 1, { 0x3f } },			/* no such instruction */
		{ 1, { 0x2d } },			/* another machine's */
		{ 2, { 0x0d, 17 } },			/* no such register for the CFA */
		{ 4, { 0x0f, 9, 0x77, 0x08 } },		/* expression longer than the program */
		{ 3, { 0x10, 3, 0x7f } },		/* the same for a register */
		{ 8, { 0x41, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f, 0 } },	/* offset too large */
		{ 9, { 0x01, 0, 0x0f, 0, 0, 0, 0, 0, 0 } },	/* set_loc backwards */
		{ 7, { 0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f } },	/* slot too far away */
		{ 12, { 0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 } },
	};
	uint64_t at = 0x1000;
	size_t i;

	cfi_x86_cie(&section);
	for (i = 0; i < MT_ARRAY_SIZE(bad); i++, at += 0x40) {
		cfi_fde(&section, 0, at, 0x10, CFI_CODE(0x0e, 16));
		cfi_fde(&section, 0, at + 0x10, 0x10, bad[i].code, bad[i].n);
		cfi_fde(&section, 0, at + 0x20, 0x10, CFI_CODE(0x0e, 24));
	}
	cfi = cfi_compile(&section, false);
	cr_expect_eq(cfi_damaged(cfi), MT_ARRAY_SIZE(bad));
	for (i = 0, at = 0x1000; i < MT_ARRAY_SIZE(bad); i++, at += 0x40) {
		expect_cfa(at, 7, 16);
		expect_cfa(at + 0xf, 7, 16);
		cr_expect_null(mt_cfi_find(cfi, at + 0x10), "program %zu", i);
		cr_expect_null(mt_cfi_find(cfi, at + 0x1f), "program %zu", i);
		expect_cfa(at + 0x20, 7, 24);
		cr_expect_null(mt_cfi_find(cfi, at + 0x30));
	}
}

Test(cfi, remembering_is_limited)
{
	uint8_t code[MT_CFI_REMEMBER_MAX + 1];

	memset(code, 0x0a, sizeof(code));
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10, code, MT_CFI_REMEMBER_MAX);
	cfi_fde(&section, 0, 0x1010, 0x10, code, MT_CFI_REMEMBER_MAX + 1);
	cfi = cfi_compile(&section, false);
	cr_expect_eq(cfi_damaged(cfi), 1);
	expect_cfa(0x1000, 7, 8);
	cr_expect_null(mt_cfi_find(cfi, 0x1010));
}

Test(cfi, aarch64)
{
	static const uint8_t initial[] = { 0x0c, 31, 0 };
	size_t cie = cfi_cie(&section, "", NULL, 0, 30, initial, sizeof(initial));

	/* paciasp; stp x29, x30, [sp, -32]!; mov x29, sp; ... autiasp; ret */
	cfi_fde(&section, cie, 0x1000, 0x40,
		CFI_CODE(0x44, 0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x60, 0x2d, 0xde, 0xdd,
			 0x0e, 0, 0x05, 72, 2));
	cfi = cfi_compile(&section, true);
	expect_cfa(0x1000, 31, 0);
	expect_same(0x1000, 30);
	cr_expect_eq(mt_cfi_find(cfi, 0x1000)->ra, 30);
	expect_cfa(0x1008, 31, 32);
	expect_rule(0x1008, 29, MT_RULE_OFFSET, -32);
	expect_rule(0x1008, 30, MT_RULE_OFFSET, -24);
	expect_same(0x1028, 30);
	expect_cfa(0x1028, 31, 0);
	cr_expect_eq(mt_cfi_rows(cfi), 4);
}

Test(cfi, entry_code)
{
	struct mt_cfi_source source = { .entry = 0x1810 };
	uint8_t *copy;

	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x800, NULL, 0);
	cfi_fde(&section, 0, 0x1850, 0x10, NULL, 0);
	copy = cfi_exact(&section, section.len, &source.eh_frame);
	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	free(copy);
	cr_expect(mt_cfi_is_entry(cfi, 0x1810));
	cr_expect(mt_cfi_is_entry(cfi, 0x184f));
	cr_expect_not(mt_cfi_is_entry(cfi, 0x180f));
	cr_expect_not(mt_cfi_is_entry(cfi, 0x1850));
	cr_expect_not(mt_cfi_is_entry(cfi, 0x1860));	/* another gap */
}
