/* mt_unwind() for aarch64: link register, frame records, pointer authentication. */
#include "report/unwind.h"

#include "tests/unit/cfi_fixture.h"

#define STACK_BASE 0xffffe0000000u
#define WORDS 64
#define CODE_MASK 0x0000ffffffffffffu
#define SIGNATURE 0x00ab000000000000u

enum {
	LEAF = 0x1000,		/* CFA sp, return address in x30 */
	FRAME = 0x1100,		/* CFA sp + 32, x29 and x30 at CFA - 32 */
	WITH_FP = 0x1200,	/* CFA x29 + 48, x29 and x30 at CFA - 48 */
	OUTERMOST = 0x1300,
	NO_INFO = 0x1400,
	END_OF_CODE = 0x1500,
};

static struct mt_cfi *cfi;
static struct mt_unwinder *unwinder;
static struct mt_stack stack;
static uint64_t words[WORDS];
static const struct mt_frame *frames;
static enum mt_unwind_end end;

static bool find(void *arg, const struct mt_stack *of, uint64_t addr,
		 struct mt_unwind_code *ret_code)
{
	(void)arg;
	(void)of;
	if (addr < LEAF || addr >= END_OF_CODE)
		return false;
	ret_code->cfi = cfi;
	return true;
}

static void setup(void)
{
	static const uint8_t initial[] = { 0x0c, 31, 0 };
	static struct cfi_section section;
	size_t cie = cfi_cie(&section, "", NULL, 0, 30, initial, sizeof(initial));

	cfi_fde(&section, cie, LEAF, 0x100, CFI_CODE(0x2d));
	cfi_fde(&section, cie, FRAME, 0x100, CFI_CODE(0x2d, 0x0e, 32, 0x9d, 4, 0x9e, 3));
	cfi_fde(&section, cie, WITH_FP, 0x100, CFI_CODE(0x0c, 29, 48, 0x9d, 6, 0x9e, 5));
	cfi_fde(&section, cie, OUTERMOST, 0x100, CFI_CODE(0x07, 30));
	cfi = cfi_compile(&section, true);
	cr_assert_eq(mt_unwinder_new("aarch64", CODE_MASK, find, NULL, &unwinder), 0);
	stack.n_regs = 33;
	stack.regs[29] = STACK_BASE + 8 * 8;
	stack.regs[30] = SIGNATURE | (FRAME + 0x20);
	stack.regs[31] = STACK_BASE;
	stack.regs[32] = LEAF;
	stack.bytes = (const uint8_t *)words;
	stack.n_bytes = sizeof(words);
}

static void teardown(void)
{
	mt_unwinder_free(unwinder);
	mt_cfi_free(cfi);
}

TestSuite(unwind_aarch64, .init = setup, .fini = teardown);

Test(unwind_aarch64, signed_return_addresses)
{
	words[0] = STACK_BASE + 8 * 8;
	words[1] = SIGNATURE | (WITH_FP + 0x20);
	words[8] = 0;
	words[9] = SIGNATURE | (OUTERMOST + 0x20);
	cr_expect_eq(mt_unwind(unwinder, &stack, &frames, &end), 4);
	cr_expect_eq(end, MT_UNWIND_COMPLETE);
	cr_expect_eq(frames[1].pc, FRAME + 0x20);
	cr_expect_eq(frames[2].pc, WITH_FP + 0x20);
	cr_expect_eq(frames[3].pc, OUTERMOST + 0x20);
	cr_expect_eq(frames[1].source, MT_FRAME_CFI);
}

/* A return address still in x30 cannot be that of a function that has called another. */
Test(unwind_aarch64, link_register_of_a_caller)
{
	stack.regs[30] = LEAF + 0x20;
	cr_expect_eq(mt_unwind(unwinder, &stack, &frames, &end), 2);
	cr_expect_eq(end, MT_UNWIND_BAD_CFI);
}

Test(unwind_aarch64, no_information_innermost)
{
	stack.regs[32] = NO_INFO;
	words[1] = OUTERMOST + 0x20;
	cr_expect_eq(mt_unwind(unwinder, &stack, &frames, &end), 3);
	cr_expect_eq(end, MT_UNWIND_COMPLETE);
	cr_expect_eq(frames[1].source, MT_FRAME_LEAF);
	cr_expect_eq(frames[1].pc, FRAME + 0x20);
}

/* The frame record is at the bottom of the frame, so the stack pointer is not known after it. */
Test(unwind_aarch64, frame_records)
{
	stack.regs[30] = NO_INFO + 0x20;
	words[8] = STACK_BASE + 8 * 20;
	words[9] = SIGNATURE | (WITH_FP + 0x20);
	words[20] = 0;
	words[21] = OUTERMOST + 0x20;
	cr_expect_eq(mt_unwind(unwinder, &stack, &frames, &end), 4);
	cr_expect_eq(end, MT_UNWIND_COMPLETE);
	cr_expect_eq(frames[2].source, MT_FRAME_FP);
	cr_expect_eq(frames[2].pc, WITH_FP + 0x20);

	words[9] = FRAME + 0x20;
	cr_expect_eq(mt_unwind(unwinder, &stack, &frames, &end), 3);
	cr_expect_eq(end, MT_UNWIND_BAD_CFI);
}

/* WITH_FP keeps its record 48 bytes below the CFA; that is a frame pointer all the same. */
Test(unwind_aarch64, chain_beyond_the_bytes)
{
	stack.regs[30] = WITH_FP + 0x20;
	stack.n_bytes = 8 * 8;
	stack.flags = MT_STACK_CUT_BUDGET;
	stack.n_fp = 4;
	stack.fp[0] = LEAF;
	stack.fp[1] = WITH_FP + 0x20;
	stack.fp[2] = SIGNATURE | (WITH_FP + 0x40);
	stack.fp[3] = OUTERMOST + 0x20;
	cr_expect_eq(mt_unwind(unwinder, &stack, &frames, &end), 4);
	cr_expect_eq(end, MT_UNWIND_COMPLETE);
	cr_expect_eq(frames[2].pc, WITH_FP + 0x40);
}
