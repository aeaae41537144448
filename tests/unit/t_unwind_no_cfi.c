/* mt_unwind() where there is no unwind information: by frame pointers, and to the first code. */
#include "report/session.h"
#include "tests/unit/unwind_fixture.h"

TestSuite(unwind_no_cfi, .init = setup, .fini = teardown);

Test(unwind_no_cfi, no_information_innermost)
{
	build_stack();
	t.stack.regs[16] = BIAS + NO_INFO;
	unwind();
	expect_end(MT_UNWIND_COMPLETE, 5);
	expect_frame(1, into(FRAMELESS), MT_FRAME_LEAF);
	expect_frame(2, into(WITH_FP), MT_FRAME_CFI);
}

/* Code without unwind information deeper down: the frame pointer leads on to code that has. */
Test(unwind_no_cfi, frame_pointer_chain_and_back)
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

Test(unwind_no_cfi, frame_pointer_chains_that_are_none)
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
Test(unwind_no_cfi, registers_unknown_after_the_chain)
{
	t.words[0] = into(NO_INFO);
	t.stack.regs[6] = word_at(4);
	t.stack.regs[3] = word_at(10);
	t.words[4] = word_at(8);
	t.words[5] = into(NEEDS_RBX);
	unwind();
	expect_end(MT_UNWIND_BAD_CFI, 3);
}

Test(unwind_no_cfi, entry_code)
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

Test(unwind_no_cfi, entry_code_below_the_arguments)
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
Test(unwind_no_cfi, frame_pointer_zero)
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
Test(unwind_no_cfi, chain_beyond_the_bytes)
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
Test(unwind_no_cfi, chain_from_the_probe_site)
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
