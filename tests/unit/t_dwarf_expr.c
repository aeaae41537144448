/* DWARF expressions, built by hand. */
#include "report/dwarf_expr.h"

#include <criterion/criterion.h>
#include <inttypes.h>

#include "common/error.h"

#define EXPECT(want, ...) expect_value((want), (const uint8_t[]){ __VA_ARGS__ }, \
				       sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define EXPECT_ERR(want, ...) expect_error((want), (const uint8_t[]){ __VA_ARGS__ }, \
					   sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define MEMORY 0x7000
#define REFUSED (-1234)

static const uint64_t regs[64] = { [6] = 0x6000, [7] = 0x7000, [16] = 0x40100b, [40] = 40 };
static unsigned int last_size;

/* 64 bytes at MEMORY, each its own distance. */
static int read_memory(void *arg, uint64_t addr, unsigned int size, uint64_t *ret_value)
{
	unsigned int i;

	cr_assert_eq(arg, &last_size);
	last_size = size;
	if (addr < MEMORY || addr - MEMORY > 64 || 64 - (addr - MEMORY) < size)
		return REFUSED;
	*ret_value = 0;
	for (i = 0; i < size; i++)
		*ret_value |= (addr - MEMORY + i) << (8 * i);
	return 0;
}

static struct mt_expr_input input = {
	.regs = regs,
	.known = 1u << 6 | 1u << 7 | 1u << 16,
	.bias = 0x10000,
	.read = read_memory,
	.arg = &last_size,
};

static void expect_value(uint64_t want, const uint8_t *ops, size_t len)
{
	uint64_t value = ~want;

	cr_expect_eq(mt_expr_eval(ops, len, &input, &value), 0, "op 0x%02x", ops[len - 1]);
	cr_expect_eq(value, want, "0x%" PRIx64 ", not 0x%" PRIx64 ", op 0x%02x", value, want,
		     ops[len - 1]);
}

static void expect_error(int want, const uint8_t *ops, size_t len)
{
	uint64_t value = 77;
	int err = mt_expr_eval(ops, len, &input, &value);

	cr_expect_eq(err, want, "%d, not %d, op 0x%02x", err, want, ops[0]);
	cr_expect_eq(value, 77, "the result was written, op 0x%02x", ops[0]);
}

Test(dwarf_expr, constants)
{
	EXPECT(5, 0x35);
	EXPECT(31, 0x4f);
	EXPECT(0xfe, 0x08, 0xfe);
	EXPECT((uint64_t)-2, 0x09, 0xfe);
	EXPECT(0xfffe, 0x0a, 0xfe, 0xff);
	EXPECT((uint64_t)-2, 0x0b, 0xfe, 0xff);
	EXPECT(0xfffffffe, 0x0c, 0xfe, 0xff, 0xff, 0xff);
	EXPECT((uint64_t)-2, 0x0d, 0xfe, 0xff, 0xff, 0xff);
	EXPECT(0x0807060504030201, 0x0e, 1, 2, 3, 4, 5, 6, 7, 8);
	EXPECT(0x8807060504030201, 0x0f, 1, 2, 3, 4, 5, 6, 7, 0x88);
	EXPECT(624485, 0x10, 0xe5, 0x8e, 0x26);
	EXPECT((uint64_t)-123456, 0x11, 0xc0, 0xbb, 0x78);
	EXPECT(0x0807060504030201 + 0x10000, 0x03, 1, 2, 3, 4, 5, 6, 7, 8);
}

Test(dwarf_expr, leb128_at_the_edge_of_64_bits)
{
	EXPECT(UINT64_MAX, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	EXPECT(1, 0x10, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
	EXPECT_ERR(-MT_E_CORRUPT, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02);
	EXPECT((uint64_t)INT64_MIN,
	       0x11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f);
	EXPECT((uint64_t)INT64_MAX,
	       0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00);
	EXPECT_ERR(-MT_E_CORRUPT, 0x11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
}

Test(dwarf_expr, registers)
{
	EXPECT(0x7008, 0x77, 8);
	EXPECT(0x5ff0, 0x76, 0x70);		/* -16 */
	EXPECT(0x7001, 0x92, 7, 1);
	EXPECT_ERR(-MT_E_NO_DATA, 0x70, 0);	/* not known */
	EXPECT_ERR(-MT_E_NO_DATA, 0x92, 40, 0);
	EXPECT_ERR(-MT_E_NO_DATA, 0x92, 64, 0);	/* no such register */
	EXPECT_ERR(-MT_E_NO_DATA, 0x92, 0xff, 0xff, 0x7f, 0);
}

Test(dwarf_expr, memory)
{
	EXPECT(0x0f0e0d0c0b0a0908, 0x77, 8, 0x06);
	cr_expect_eq(last_size, 8);
	EXPECT(0x03, 0x77, 3, 0x94, 1);
	EXPECT(0x0403, 0x77, 3, 0x94, 2);
	EXPECT(0x06050403, 0x77, 3, 0x94, 4);
	cr_expect_eq(last_size, 4);
	EXPECT(0x0f0e0d0c0b0a0908, 0x77, 8, 0x94, 8);
	EXPECT_ERR(-MT_E_CORRUPT, 0x77, 3, 0x94, 3);
	EXPECT_ERR(-MT_E_CORRUPT, 0x77, 3, 0x94, 0);
	EXPECT_ERR(-MT_E_CORRUPT, 0x06);
	EXPECT_ERR(REFUSED, 0x77, 57, 0x06);	/* ends one byte beyond */
}

Test(dwarf_expr, stack_operations)
{
	EXPECT(1, 0x31, 0x12);
	EXPECT(1, 0x31, 0x32, 0x13);
	EXPECT(1, 0x31, 0x32, 0x14);
	EXPECT(1, 0x31, 0x32, 0x33, 0x15, 2);
	EXPECT(3, 0x31, 0x32, 0x33, 0x15, 0);
	EXPECT(1, 0x31, 0x32, 0x16);
	/* rot: the top becomes third: 1 2 3 -> 3 1 2 */
	EXPECT(2, 0x31, 0x32, 0x33, 0x17);
	EXPECT(1, 0x31, 0x32, 0x33, 0x17, 0x13);
	EXPECT(3, 0x31, 0x32, 0x33, 0x17, 0x13, 0x13);
	EXPECT_ERR(-MT_E_CORRUPT, 0x12);
	EXPECT_ERR(-MT_E_CORRUPT, 0x13);
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x14);
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x15, 1);
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x16);
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x32, 0x17);
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x13);	/* nothing is left */
}

Test(dwarf_expr, arithmetic)
{
	EXPECT(3, 0x09, 0xfd, 0x19);				/* abs -3 */
	EXPECT(3, 0x33, 0x19);
	EXPECT(0x0c, 0x08, 0x3c, 0x3f, 0x1a);			/* and */
	EXPECT((uint64_t)-3, 0x09, 0xfa, 0x32, 0x1b);		/* -6 / 2, signed */
	EXPECT(4, 0x36, 0x32, 0x1c);				/* minus */
	EXPECT(2, 0x08, 20, 0x36, 0x1d);			/* 20 mod 6 */
	EXPECT(0, 0x09, 0xff, 0x35, 0x1d);			/* 2^64-1 mod 5, unsigned */
	EXPECT(30, 0x35, 0x36, 0x1e);
	EXPECT((uint64_t)-5, 0x35, 0x1f);
	EXPECT(~(uint64_t)5, 0x35, 0x20);
	EXPECT(7, 0x35, 0x33, 0x21);
	EXPECT(8, 0x35, 0x33, 0x22);
	EXPECT(5 + 300, 0x35, 0x23, 0xac, 0x02);
	EXPECT(20, 0x35, 0x32, 0x24);
	EXPECT(0, 0x35, 0x08, 64, 0x24);			/* shift by 64 */
	EXPECT(5, 0x44, 0x32, 0x25);
	EXPECT(1, 0x09, 0xff, 0x08, 63, 0x25);
	EXPECT(0, 0x09, 0xff, 0x08, 64, 0x25);
	EXPECT((uint64_t)-1, 0x09, 0xfe, 0x31, 0x26);
	EXPECT((uint64_t)-1, 0x09, 0xfe, 0x08, 200, 0x26);
	EXPECT(6, 0x35, 0x33, 0x27);
}

Test(dwarf_expr, division_that_c_does_not_define)
{
	EXPECT_ERR(-MT_E_CORRUPT, 0x35, 0x30, 0x1b);
	EXPECT_ERR(-MT_E_CORRUPT, 0x35, 0x30, 0x1d);
	/* INT64_MIN / -1 */
	EXPECT((uint64_t)INT64_MIN, 0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b);
	/* negate and abs of INT64_MIN */
	EXPECT((uint64_t)INT64_MIN, 0x31, 0x08, 63, 0x24, 0x1f);
	EXPECT((uint64_t)INT64_MIN, 0x31, 0x08, 63, 0x24, 0x19);
}

Test(dwarf_expr, comparisons_are_signed)
{
	EXPECT(1, 0x35, 0x35, 0x29);
	EXPECT(0, 0x35, 0x36, 0x29);
	EXPECT(0, 0x09, 0xff, 0x31, 0x2a);	/* -1 >= 1 */
	EXPECT(1, 0x35, 0x35, 0x2a);
	EXPECT(0, 0x09, 0xff, 0x31, 0x2b);
	EXPECT(1, 0x36, 0x35, 0x2b);
	EXPECT(1, 0x09, 0xff, 0x31, 0x2c);
	EXPECT(1, 0x09, 0xff, 0x31, 0x2d);
	EXPECT(0, 0x35, 0x35, 0x2d);
	EXPECT(1, 0x35, 0x36, 0x2e);
	EXPECT_ERR(-MT_E_CORRUPT, 0x35, 0x29);
}

Test(dwarf_expr, branches)
{
	EXPECT(2, 0x31, 0x2f, 1, 0, 0x33, 0x32);		/* skip over lit3 */
	EXPECT(1, 0x31, 0x2f, 0, 0);				/* to the very end */
	EXPECT(5, 0x35, 0x31, 0x28, 1, 0, 0x33);		/* taken */
	EXPECT(3, 0x35, 0x30, 0x28, 1, 0, 0x33);		/* not taken */
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x2f, 1, 0);		/* beyond the end */
	EXPECT_ERR(-MT_E_CORRUPT, 0x31, 0x2f, 0xfb, 0xff);	/* before the begin */
	EXPECT_ERR(-MT_E_CORRUPT, 0x28, 0, 0);
	/* Counting down from 9: lit9, loop: lit1 minus dup bra loop */
	EXPECT(0, 0x39, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff);
}

Test(dwarf_expr, limits)
{
	uint8_t deep[MT_EXPR_DEPTH_MAX + 1];
	uint8_t loop[] = { 0x2f, 0xfd, 0xff };
	uint64_t value;

	memset(deep, 0x31, sizeof(deep));
	cr_expect_eq(mt_expr_eval(deep, MT_EXPR_DEPTH_MAX, &input, &value), 0);
	cr_expect_eq(mt_expr_eval(deep, sizeof(deep), &input, &value), -MT_E_LIMIT);
	cr_expect_eq(mt_expr_eval(loop, sizeof(loop), &input, &value), -MT_E_LIMIT);
	cr_expect_eq(mt_expr_eval(loop, 0, &input, &value), -MT_E_CORRUPT);
	cr_expect_eq(mt_expr_eval(NULL, 0, &input, &value), -MT_E_CORRUPT);
}

Test(dwarf_expr, the_cfa_is_pushed_first)
{
	uint64_t cfa = 0x7010;
	struct mt_expr_input with_cfa = input;
	uint8_t plus8[] = { 0x23, 8 };
	uint64_t value = 0;

	with_cfa.cfa = &cfa;
	cr_expect_eq(mt_expr_eval(plus8, sizeof(plus8), &with_cfa, &value), 0);
	cr_expect_eq(value, 0x7018);
	cr_expect_eq(mt_expr_eval(NULL, 0, &with_cfa, &value), 0);
	cr_expect_eq(value, 0x7010);
}

/* What ld writes for PLT entries: rsp + 8, or + 16 once 11 bytes of the entry have run. */
Test(dwarf_expr, plt_entry)
{
	uint8_t plt[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	uint64_t plt_regs[17] = { [7] = 0x7000, [16] = 0x401020 };
	struct mt_expr_input at = input;
	uint64_t value = 0;

	at.regs = plt_regs;
	cr_expect_eq(mt_expr_eval(plt, sizeof(plt), &at, &value), 0);
	cr_expect_eq(value, 0x7008);
	plt_regs[16] = 0x40102a;
	cr_expect_eq(mt_expr_eval(plt, sizeof(plt), &at, &value), 0);
	cr_expect_eq(value, 0x7008);
	plt_regs[16] = 0x40102b;
	cr_expect_eq(mt_expr_eval(plt, sizeof(plt), &at, &value), 0);
	cr_expect_eq(value, 0x7010);
}

Test(dwarf_expr, what_call_frame_information_must_not_contain)
{
	static const uint8_t bad[] = {
		0x00, 0x01, 0x02, 0x04, 0x05, 0x07, 0x18, 0x50, 0x6f, 0x90, 0x91, 0x93, 0x95,
		0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa8, 0xe0, 0xff,
	};
	uint64_t value;
	uint8_t ops[12] = { 0x31, 0x31 };
	size_t i;

	for (i = 0; i < sizeof(bad); i++) {
		ops[2] = bad[i];
		cr_expect_eq(mt_expr_eval(ops, sizeof(ops), &input, &value), -MT_E_CORRUPT,
			     "op 0x%02x", bad[i]);
	}
}

/* Every operation with its operand cut at every byte is an error, never an overrun. */
Test(dwarf_expr, cut_operands)
{
	static const uint8_t ops[][11] = {
		{ 9, 0x03, 1, 2, 3, 4, 5, 6, 7, 8 }, { 2, 0x08, 1 }, { 3, 0x0a, 1, 2 },
		{ 5, 0x0c, 1, 2, 3, 4 }, { 9, 0x0e, 1, 2, 3, 4, 5, 6, 7, 8 }, { 3, 0x10, 0x81, 1 },
		{ 3, 0x11, 0x81, 1 }, { 2, 0x77, 8 }, { 3, 0x92, 7, 8 },
	};
	uint64_t value;
	uint8_t *exact;
	size_t i;
	size_t len;

	for (i = 0; i < MT_ARRAY_SIZE(ops); i++) {
		for (len = 1; len <= ops[i][0]; len++) {
			exact = malloc(len);
			cr_assert_not_null(exact);
			memcpy(exact, ops[i] + 1, len);
			cr_expect_eq(mt_expr_eval(exact, len, &input, &value),
				     len == ops[i][0] ? 0 : -MT_E_CORRUPT, "op 0x%02x, %zu bytes",
				     ops[i][1], len);
			free(exact);
		}
	}
}
