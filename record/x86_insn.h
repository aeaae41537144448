/*
 * record/x86_insn.h - length and control flow of x86-64 instructions.
 *
 * Everything a compiler emits for 64-bit mode, VEX, EVEX and XOP included. What is not
 * known is refused: a probe is never put where an instruction might not begin.
 * After the Intel SDM, volume 2, chapter 2 and appendix A.
 */
#ifndef MT_X86_INSN_H
#define MT_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_X86_INSN_MAX 15

enum mt_x86_flow {
	MT_X86_NEXT,		/* goes on with the next instruction; calls are not in here */
	MT_X86_CALL,
	MT_X86_CALL_INDIRECT,
	MT_X86_JUMP,
	MT_X86_JUMP_INDIRECT,
	MT_X86_BRANCH,		/* conditional */
	MT_X86_RETURN,
	MT_X86_STOP,		/* hlt, ud2, int3, far jumps: nothing is known of what follows */
};

struct mt_x86_insn {
	uint8_t len;
	uint8_t flow;		/* enum mt_x86_flow */
	bool has_memory;	/* indirect: the target is read from next instruction + offset */
	int32_t offset;		/* of a direct target from the next instruction; or has_memory */
};

/* Decode the instruction at code[0..len). False: not known, or it does not end inside. */
bool mt_x86_decode(const uint8_t *code, size_t len, struct mt_x86_insn *ret_insn);

#endif
