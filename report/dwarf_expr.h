/*
 * report/dwarf_expr.h - the DWARF stack machine, as far as call frame information uses it.
 *
 * DWARF 5 section 2.5.1. Every evaluation ends: steps and stack depth are limited.
 * Memory is read only through the caller's callback.
 */
#ifndef MT_DWARF_EXPR_H
#define MT_DWARF_EXPR_H

#include <stddef.h>
#include <stdint.h>

#define MT_EXPR_STEPS_MAX 4096
#define MT_EXPR_DEPTH_MAX 64

/*
 * Read size (1, 2, 4 or 8) bytes at addr, zero-extended: 0, or a negative code,
 * which ends the evaluation and becomes its result.
 */
typedef int (*mt_expr_read_fn)(void *arg, uint64_t addr, unsigned int size, uint64_t *ret_value);

struct mt_expr_input {
	const uint64_t *regs;		/* by DWARF number */
	uint64_t known;			/* bit r: regs[r] has a value; other registers are errors */
	uint64_t bias;			/* added to DW_OP_addr's operand: avma - svma */
	const uint64_t *cfa;		/* pushed before the first operation, unless NULL */
	mt_expr_read_fn read;
	void *arg;			/* read's */
};

/*
 * The value on top of the stack at the end. -MT_E_CORRUPT: not a valid expression of
 * call frame information; -MT_E_LIMIT: too many steps or values; -MT_E_NO_DATA: needs a register
 * that is not known; or the callback's code.
 */
int mt_expr_eval(const uint8_t *ops, size_t len, const struct mt_expr_input *input,
		 uint64_t *ret_value);

#endif
