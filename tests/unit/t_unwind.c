/* mt_unwind() on stacks and unwind tables built by hand. */
#include "report/unwind.h"

#include <errno.h>

#include "report/session.h"
#include "tests/unit/cfi_fixture.h"

#define STACK_BASE 0x7ffd0000u
#define WORDS 64
#define BIAS 0x550000000000
#define ENTRY 0x1810

/* svmas of the test module; each function is 0x100 long */
enum {
	LEAF = 0x1000,		/* CFA rsp + 8 */
	FRAMELESS = 0x1100,	/* CFA rsp + 32, rbx at CFA - 16 */
	WITH_FP = 0x1200,	/* CFA rbp + 16, rbp at CFA - 16 */
	OUTERMOST = 0x1300,	/* return address undefined */
	TRAMPOLINE = 0x1400,	/* signal frame: registers from [rsp + 0x40...] */
	NEEDS_RBX = 0x1500,	/* CFA rbx + 16 */
	BAD_EXPR = 0x1600,	/* CFA by an expression that divides by zero */
	BACKWARDS = 0x1700,	/* CFA rsp + 0, return address at CFA + 8 */
	NO_INFO = 0x1800,	/* a gap in the table, mapped; has the entry point */
	END_OF_CODE = 0x1900,
};

static struct {
	struct mt_cfi *cfi;
	struct mt_unwinder *unwinder;
	struct mt_stack stack;
	uint64_t words[WORDS];
	const struct mt_frame *frames;
	size_t n;
	enum mt_unwind_end end;
	unsigned int asked;
	bool keep;		/* let the unwinder keep answers */
	bool many;		/* it is not only t.stack that is unwound */
} t;

static bool find(void *arg, const struct mt_stack *stack, uint64_t addr,
		 struct mt_unwind_code *ret_code)
{
	cr_assert_eq(arg, &t);
	cr_assert(t.many || stack == &t.stack);
	cr_assert_eq(ret_code->cfi, NULL);
	t.asked++;
	if (addr < BIAS + LEAF || addr >= BIAS + END_OF_CODE)
		return false;
	ret_code->cfi = t.cfi;
	ret_code->bias = BIAS;
	ret_code->placement = 5;
	ret_code->from = 0;
	ret_code->until = t.keep ? 100 : 0;
	return true;
}

static void build_table(struct mt_cfi_source *source, uint8_t **ret_copy)
{
	static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
	static struct cfi_section section;
	size_t signal;

	memset(&section, 0, sizeof(section));
	cfi_fde(&section, cfi_x86_cie(&section), LEAF, 0x100, NULL, 0);
	cfi_fde(&section, 0, FRAMELESS, 0x100, CFI_CODE(0x0e, 32, 0x83, 2));
	cfi_fde(&section, 0, WITH_FP, 0x100, CFI_CODE(0x0c, 6, 16, 0x86, 2));
	cfi_fde(&section, 0, OUTERMOST, 0x100, CFI_CODE(0x07, 16));
	cfi_fde(&section, 0, NEEDS_RBX, 0x100, CFI_CODE(0x0c, 3, 16));
	cfi_fde(&section, 0, BAD_EXPR, 0x100, CFI_CODE(0x0f, 3, 0x31, 0x30, 0x1b));
	cfi_fde(&section, 0, BACKWARDS, 0x100, CFI_CODE(0x0e, 0, 0x11, 16, 0x7f));
	signal = cfi_cie(&section, "zS", NULL, 0, 16, initial, sizeof(initial));
	/* CFA = [rsp + 0x40]; rbp at rsp + 0x48, pc at rsp + 0x50 */
	cfi_fde(&section, signal, TRAMPOLINE, 0x100,
		CFI_CODE(0, 0x0f, 4, 0x77, 0xc0, 0x00, 0x06, 0x10, 6, 3, 0x77, 0xc8, 0x00, 0x10,
			 16, 3, 0x77, 0xd0, 0x00));
	*ret_copy = cfi_exact(&section, section.len, &source->eh_frame);
}

static void setup(void)
{
	struct mt_cfi_source source = { .entry = ENTRY };
	uint8_t *copy;

	memset(&t, 0, sizeof(t));
	build_table(&source, &copy);
	cr_assert_eq(mt_cfi_compile_source(&source, &t.cfi), 0);
	free(copy);
	cr_assert_eq(cfi_damaged(t.cfi), 0);
	cr_assert_eq(mt_unwinder_new("x86_64", UINT64_MAX, find, &t, &t.unwinder), 0);
	t.stack.id = 1;
	t.stack.time = 10;
	t.stack.n_regs = 17;
	t.stack.regs[7] = STACK_BASE;
	t.stack.regs[16] = BIAS + LEAF;
	t.stack.regs[6] = 0x1234;
	t.stack.bytes = (const uint8_t *)t.words;
	t.stack.n_bytes = sizeof(t.words);
}

static void teardown(void)
{
	mt_unwinder_free(t.unwinder);
	mt_cfi_free(t.cfi);
}

TestSuite(unwind, .init = setup, .fini = teardown);

static uint64_t word_at(unsigned int index)
{
	return STACK_BASE + 8 * (uint64_t)index;
}

/* A return address into a function. */
static uint64_t into(uint64_t function)
{
	return BIAS + function + 0x20;
}

static void unwind(void)
{
	t.n = mt_unwind(t.unwinder, &t.stack, &t.frames, &t.end);
}

static void expect_frame(size_t index, uint64_t pc, enum mt_frame_source source)
{
	cr_assert_lt(index, t.n, "%zu frames, %s", t.n, mt_unwind_end_id(t.end));
	cr_expect_eq(t.frames[index].pc, pc, "frame %zu: 0x%llx", index,
		     (unsigned long long)t.frames[index].pc);
	cr_expect_eq(t.frames[index].source, source, "frame %zu: source %u", index,
		     t.frames[index].source);
}

static void expect_end(enum mt_unwind_end end, size_t n)
{
	cr_expect_eq(t.end, end, "ended %s", mt_unwind_end_id(t.end));
	cr_expect_eq(t.n, n, "%zu frames", t.n);
}

/* leaf <- frameless <- with_fp <- frameless <- outermost */
static void build_stack(void)
{
	t.words[0] = into(FRAMELESS);
	t.words[3] = into(WITH_FP);		/* its frame: words 1 to 4, CFA = word 5 */
	t.words[4] = into(WITH_FP);
	t.stack.regs[6] = word_at(8);
	t.words[8] = 0xabc;			/* saved rbp */
	t.words[9] = into(FRAMELESS);
	t.words[13] = into(OUTERMOST);
}

Test(unwind, every_kind_of_frame)
{
	build_stack();
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
	expect_frame(0, BIAS + LEAF, MT_FRAME_REGISTERS);
	expect_frame(1, into(FRAMELESS), MT_FRAME_CFI);
	expect_frame(2, into(WITH_FP), MT_FRAME_CFI);
	expect_frame(3, into(FRAMELESS), MT_FRAME_CFI);
	expect_frame(4, into(OUTERMOST), MT_FRAME_CFI);
	cr_expect(t.frames[0].exact);
	cr_expect_not(t.frames[1].exact);
	cr_expect_eq(t.frames[4].placement, 5);
}

/* A call can be the last instruction of a function: pc is then the next one's first. */
Test(unwind, return_address_at_the_end_of_a_function)
{
	t.words[0] = BIAS + FRAMELESS + 0x100;
	t.words[4] = BIAS + OUTERMOST + 0x100;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 3);
	/* The innermost pc is looked up as it is. */
	t.stack.regs[16] = BIAS + FRAMELESS;
	t.words[3] = into(OUTERMOST);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 2);
}

Test(unwind, return_address_zero_ends)
{
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 1);
}

Test(unwind, bytes_end)
{
	build_stack();
	t.stack.n_bytes = 13 * 8 + 7;	/* one byte short */
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 4);
	t.stack.flags = MT_STACK_CUT_FAULT;
	unwind();
	expect_end(MT_UNWIND_UNREADABLE, 4);
	t.stack.flags |= MT_STACK_CUT_BUDGET;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 4);
	t.stack.above = 1;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 4);
	t.stack.n_bytes++;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
}

Test(unwind, memory_that_is_not_above_the_copy)
{
	t.stack.flags = MT_STACK_CUT_BUDGET;
	t.stack.above = 64;
	t.words[0] = into(WITH_FP);
	t.stack.regs[6] = STACK_BASE - 16;	/* below */
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 2);
	t.stack.regs[6] = word_at(WORDS) + 64 - 8;	/* at the top of the stack */
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 2);
	t.stack.regs[6] = word_at(WORDS) + 64 - 16;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 2);
	t.stack.regs[6] = UINT64_MAX - 16;
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 2);
	t.stack.regs[6] = UINT64_MAX - 3;	/* the address wraps */
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 2);
}

/* A callee-saved register is needed only two frames later, and its slot was not captured. */
Test(unwind, lost_register)
{
	t.stack.regs[16] = BIAS + FRAMELESS;
	t.stack.regs[3] = word_at(20);
	t.words[2] = word_at(6);	/* rbx */
	t.words[3] = into(NEEDS_RBX);
	t.words[7] = into(OUTERMOST);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 3);
	/* NEEDS_RBX without the register: its value is that of before, not this frame's. */
	t.words[0] = into(NEEDS_RBX);
	t.stack.regs[16] = BIAS + LEAF;
	t.stack.regs[3] = word_at(6);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 3);
}

Test(unwind, tables_that_cannot_be_evaluated)
{
	t.words[0] = into(BAD_EXPR);
	unwind();
	expect_end(MT_UNWIND_BAD_CFI, 2);
	t.words[0] = into(BACKWARDS);
	t.words[2] = into(LEAF);
	unwind();
	expect_end(MT_UNWIND_NOT_ADVANCING, 2);
}

Test(unwind, pc_nowhere)
{
	t.words[0] = 0x666000;
	unwind();
	expect_end(MT_UNWIND_NO_MODULE, 2);
	cr_expect_eq(t.frames[1].placement, MT_NONE);
	t.stack.regs[16] = 0x666000;
	t.words[0] = 0x1234;
	unwind();
	expect_end(MT_UNWIND_NO_MODULE, 1);
}

Test(unwind, no_information_innermost)
{
	build_stack();
	t.stack.regs[16] = BIAS + NO_INFO;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
	expect_frame(1, into(FRAMELESS), MT_FRAME_LEAF);
	expect_frame(2, into(WITH_FP), MT_FRAME_CFI);
}

/* Code without unwind information deeper down: the frame pointer leads on to code that has. */
Test(unwind, frame_pointer_chain_and_back)
{
	t.words[0] = into(NO_INFO);
	t.stack.regs[6] = word_at(4);
	t.words[4] = word_at(8);
	t.words[5] = into(NO_INFO);
	t.words[8] = 0xabc;
	t.words[9] = into(FRAMELESS);
	t.words[13] = into(OUTERMOST);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
	expect_frame(1, into(NO_INFO), MT_FRAME_CFI);
	expect_frame(2, into(NO_INFO), MT_FRAME_FP);
	expect_frame(3, into(FRAMELESS), MT_FRAME_FP);
	expect_frame(4, into(OUTERMOST), MT_FRAME_CFI);
}

Test(unwind, frame_pointer_chains_that_are_none)
{
	static const uint64_t bad[] = { 0x1234, 8 * 60 + 3 };
	size_t i;

	t.words[0] = into(NO_INFO);
	t.stack.regs[6] = word_at(4);
	t.words[4] = word_at(4);	/* points to itself */
	t.words[5] = into(NO_INFO);
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	t.words[4] = word_at(3);	/* downwards */
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	t.words[4] = word_at(8) + 1;	/* not aligned */
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	t.words[4] = word_at(8);
	t.words[5] = 0x1234;		/* not code */
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	t.words[5] = into(FRAMELESS);
	t.stack.regs[6] = STACK_BASE;	/* below the frame */
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	for (i = 0; i < MT_ARRAY_SIZE(bad); i++) {
		t.stack.regs[6] = STACK_BASE + bad[i];
		unwind();
		expect_end(MT_UNWIND_NO_CFI, 2);
	}
	t.stack.regs[6] = word_at(WORDS - 1);	/* the record's second half was not captured */
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	t.stack.flags = MT_STACK_CUT_BUDGET;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 2);
}

/* After a step along the chain only the frame and stack pointers are known. */
Test(unwind, registers_unknown_after_the_chain)
{
	t.words[0] = into(NO_INFO);
	t.stack.regs[6] = word_at(4);
	t.stack.regs[3] = word_at(10);
	t.words[4] = word_at(8);
	t.words[5] = into(NEEDS_RBX);
	unwind();
	expect_end(MT_UNWIND_BAD_CFI, 3);
}

Test(unwind, signal_frame)
{
	/* Handler LEAF, trampoline with its context in words 1.., interrupted in FRAMELESS. */
	t.words[0] = BIAS + TRAMPOLINE + 1;
	t.words[1 + 8] = word_at(20);		/* sp */
	t.words[1 + 9] = word_at(40);		/* rbp */
	t.words[1 + 10] = BIAS + FRAMELESS;	/* pc: the first instruction */
	t.words[23] = into(WITH_FP);
	t.words[41] = into(OUTERMOST);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
	expect_frame(2, BIAS + FRAMELESS, MT_FRAME_CFI);
	cr_expect(t.frames[2].exact);
	cr_expect_not(t.frames[1].exact);
	cr_expect_not(t.frames[3].exact);
	expect_frame(3, into(WITH_FP), MT_FRAME_CFI);
}

/* A handler on another stack: what it interrupted lies below, and was not captured. */
Test(unwind, signal_frame_to_another_stack)
{
	t.words[0] = BIAS + TRAMPOLINE + 1;
	t.words[1 + 8] = STACK_BASE - 0x10000;
	t.words[1 + 10] = BIAS + FRAMELESS;
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 3);
	expect_frame(2, BIAS + FRAMELESS, MT_FRAME_CFI);
}

/* Signal frames that lead to themselves end, if not otherwise, at the limit. */
Test(unwind, signal_frames_in_a_circle)
{
	t.stack.regs[16] = BIAS + TRAMPOLINE;
	t.words[8] = STACK_BASE;
	t.words[10] = BIAS + TRAMPOLINE;
	unwind();
	expect_end(MT_UNWIND_TOO_DEEP, MT_UNWIND_FRAMES_MAX);
}

Test(unwind, entry_code)
{
	/* ld.so: _start calls with the stack pointer where the kernel put it. */
	t.words[WORDS - 1] = BIAS + ENTRY + 8;
	t.stack.regs[7] = word_at(WORDS - 1);
	t.stack.bytes = (const uint8_t *)&t.words[WORDS - 1];
	t.stack.n_bytes = 8;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 2);
	/* More stack lies above: it has a caller. */
	t.stack.flags = MT_STACK_CUT_BUDGET;
	t.stack.above = 4096;
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
}

Test(unwind, entry_code_below_the_arguments)
{
	/* The bytes go on with argc, argv, environment. */
	t.words[0] = BIAS + ENTRY + 8;
	t.words[1] = 2;
	t.words[2] = word_at(30);
	t.words[3] = word_at(31);
	t.words[4] = 0;
	t.words[5] = word_at(32);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 2);
	t.words[4] = 7;			/* argv does not end */
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
}

/* The convention for outermost frames, in code that is not at the file's entry point. */
Test(unwind, frame_pointer_zero)
{
	t.words[WORDS - 1] = BIAS + NO_INFO + 4;
	t.stack.regs[7] = word_at(WORDS - 1);
	t.stack.bytes = (const uint8_t *)&t.words[WORDS - 1];
	t.stack.n_bytes = 8;
	unwind();
	expect_end(MT_UNWIND_NO_CFI, 2);
	t.stack.regs[6] = 0;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 2);
}

/* Frames above the captured bytes, from the kernel's frame-pointer chain. */
Test(unwind, chain_beyond_the_bytes)
{
	build_stack();
	t.stack.n_bytes = 8 * 8;	/* up to the frame record of WITH_FP */
	t.stack.flags = MT_STACK_CUT_BUDGET;
	t.stack.fp[0] = BIAS + LEAF;
	t.stack.fp[1] = into(WITH_FP);
	t.stack.fp[2] = into(WITH_FP) + 1;
	t.stack.fp[3] = into(OUTERMOST);
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 3);
	t.stack.n_fp = 3;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 4);
	expect_frame(3, into(WITH_FP) + 1, MT_FRAME_FP);
	t.stack.n_fp = 4;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
	expect_frame(4, into(OUTERMOST), MT_FRAME_FP);

	/* A function on the chain that keeps no frame pointer: its callers may be missing. */
	t.stack.fp[2] = into(FRAMELESS);
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 4);
	/* A chain that does not meet our last frame. */
	t.stack.fp[1] = into(FRAMELESS) + 8;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 3);
	/* Or that leaves the code. */
	t.stack.fp[1] = into(WITH_FP);
	t.stack.fp[2] = 0x1234;
	unwind();
	expect_end(MT_UNWIND_TRUNCATED, 3);
}

/* The kernel's first entry may be the probe's site, some instructions into the function. */
Test(unwind, chain_from_the_probe_site)
{
	build_stack();
	t.stack.n_bytes = 8 * 8;
	t.stack.flags = MT_STACK_CUT_BUDGET;
	t.stack.fp[0] = BIAS + LEAF + 3;
	t.stack.fp[1] = into(WITH_FP);
	t.stack.fp[2] = into(OUTERMOST);
	t.stack.n_fp = 3;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 4);
}

Test(unwind, too_deep)
{
	static uint64_t deep[MT_UNWIND_FRAMES_MAX];
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(deep); i++)
		deep[i] = into(LEAF);
	t.stack.bytes = (const uint8_t *)deep;
	t.stack.n_bytes = sizeof(deep);
	unwind();
	expect_end(MT_UNWIND_TOO_DEEP, MT_UNWIND_FRAMES_MAX);
	/* Exactly as many as there may be is not too deep. */
	deep[MT_UNWIND_FRAMES_MAX - 2] = into(OUTERMOST);
	unwind();
	expect_end(MT_UNWIND_COMPLETE, MT_UNWIND_FRAMES_MAX);
}

Test(unwind, nothing_captured)
{
	t.stack.n_regs = 0;
	unwind();
	expect_end(MT_UNWIND_EMPTY, 0);
	t.stack.n_regs = 16;
	unwind();
	expect_end(MT_UNWIND_EMPTY, 0);
	t.stack.n_regs = MT_REGS_MAX + 1;
	unwind();
	expect_end(MT_UNWIND_EMPTY, 0);
	t.stack.n_regs = 17;
	t.stack.n_bytes = 0;
	t.stack.bytes = NULL;
	unwind();
	expect_end(MT_UNWIND_BAD_MEMORY, 1);
}

Test(unwind, answers_are_kept_for_their_process_and_time)
{
	unsigned int first;

	build_stack();
	unwind();
	first = t.asked;
	unwind();
	cr_expect_eq(t.asked, 2 * first);	/* nothing is kept unasked */

	t.keep = true;
	unwind();
	cr_expect_eq(t.asked, 3 * first - 1);	/* FRAMELESS is there twice */
	unwind();
	cr_expect_eq(t.asked, 3 * first - 1);
	expect_end(MT_UNWIND_COMPLETE, 5);
	cr_expect_eq(t.frames[3].placement, 5);
	t.stack.time = 99;
	unwind();
	cr_expect_eq(t.asked, 3 * first - 1);
	t.stack.time = 100;			/* the answer has expired */
	unwind();
	cr_expect_eq(t.asked, 4 * first - 1);
	t.stack.time = 10;
	t.stack.process = 1;
	unwind();
	cr_expect_gt(t.asked, 4 * first - 1);
}

/* However many go on beside it, a stack's frames and its end are its own. */
Test(unwind, several_at_once_are_as_each_alone)
{
	static struct mt_frame alone[MT_UNWIND_AT_ONCE][16];
	const struct mt_stack *some[MT_UNWIND_AT_ONCE];
	struct mt_unwound unwound[MT_UNWIND_AT_ONCE];
	struct mt_stack stacks[MT_UNWIND_AT_ONCE];
	enum mt_unwind_end ends[MT_UNWIND_AT_ONCE];
	size_t n[MT_UNWIND_AT_ONCE], i, k;

	build_stack();
	t.many = true;
	for (k = 0; k < 2 * MT_UNWIND_AT_ONCE; k++) {
		t.keep = k % 2;
		for (i = 0; i < MT_UNWIND_AT_ONCE; i++) {
			stacks[i] = t.stack;
			some[i] = &stacks[i];
			stacks[i].n_bytes = (uint32_t)((i + k) % 17 * 8);
			stacks[i].flags = i % 3 ? MT_STACK_CUT_BUDGET : 0;
			if (i % 5 == 4)
				stacks[i].regs[16] = BIAS + NO_INFO;
			if (i % 7 == 6)
				stacks[i].n_regs = 0;
			n[i] = mt_unwind(t.unwinder, &stacks[i], &t.frames, &ends[i]);
			cr_assert_leq(n[i], 16);
			memcpy(alone[i], t.frames, n[i] * sizeof(*t.frames));
		}
		mt_unwind_some(t.unwinder, some, MT_UNWIND_AT_ONCE - k % 3, unwound);
		for (i = 0; i < MT_UNWIND_AT_ONCE - k % 3; i++) {
			cr_expect_eq(unwound[i].n, n[i]);
			cr_expect_eq(unwound[i].end, ends[i]);
			cr_expect_arr_eq(unwound[i].frames, alone[i], n[i] * sizeof(*t.frames));
		}
	}
}

Test(unwind, names_of_ends)
{
	cr_expect_str_eq(mt_unwind_end_id(MT_UNWIND_COMPLETE), "complete");
	cr_expect_str_eq(mt_unwind_end_id(MT_UNWIND_NOT_ADVANCING), "not_advancing");
	cr_expect_str_eq(mt_unwind_end_id(MT_UNWIND_END_KINDS), "unknown");
	cr_expect_str_eq(mt_unwind_end_text(MT_UNWIND_NO_MODULE), "pc is in no known mapping");
}

Test(unwind, unknown_architecture)
{
	struct mt_unwinder *none = NULL;

	cr_expect_eq(mt_unwinder_new("riscv64", UINT64_MAX, find, &t, &none), -EOPNOTSUPP);
	cr_expect_null(none);
}
