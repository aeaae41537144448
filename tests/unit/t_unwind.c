/* mt_unwind() on stacks and unwind tables built by hand. */
#include <errno.h>

#include "report/session.h"
#include "tests/unit/unwind_fixture.h"

TestSuite(unwind, .init = setup, .fini = teardown);

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
