/*
 * report/cfi.h - unwind tables of one module, compiled to sorted rows.
 *
 * A row is valid for pcs from its start up to the next row's. Addresses are svmas
 * (as in the ELF file). DWARF 5 section 6.4; x86-64 psABI 3.6.2, AAPCS64 for
 * the register numbers. Rows share rule sets: a module has few distinct ones. Read-only
 * after compilation, so any number of threads may look up.
 */
#ifndef MT_CFI_H
#define MT_CFI_H

#include "common/event.h"

struct mt_module;
struct mt_cfi;

enum mt_cfi_rule_kind {
	MT_RULE_SAME,		/* the caller's value is this frame's */
	MT_RULE_UNDEFINED,
	MT_RULE_OFFSET,		/* at [cfa + offset] */
	MT_RULE_VAL_OFFSET,	/* is cfa + offset */
	MT_RULE_REGISTER,	/* in register offset */
	MT_RULE_EXPR,		/* at the address the expression gives, cfa pushed first */
	MT_RULE_VAL_EXPR,	/* is the value the expression gives */
};

/* How to find one register of the caller. */
struct mt_cfi_rule {
	uint8_t reg;		/* < MT_REGS_MAX */
	uint8_t kind;		/* enum mt_cfi_rule_kind */
	int32_t value;		/* offset, register, or expression index, by kind */
};

enum mt_cfi_rules_flags {
	MT_CFI_SIGNAL = 1,	/* a signal handler returns to here: the caller's pc is exact */
	MT_CFI_CFA_EXPR = 2,	/* cfa_value is an expression index */
	MT_CFI_PLAIN = 4,	/* CFA is register + offset, every rule MT_RULE_OFFSET */
	MT_CFI_END = 8,		/* the return address is undefined: no caller */
	MT_CFI_RETURNS = 16,	/* the list has a rule for the return address */
};

/* All that holds at a pc. A register without a rule is MT_RULE_SAME. */
struct mt_cfi_rules {
	const struct mt_cfi_rule *list;	/* by register */
	int32_t cfa_value;	/* offset from cfa_reg */
	uint8_t cfa_reg;
	uint8_t ra;		/* register that stands for the return address */
	uint8_t n_rules;
	uint8_t flags;		/* enum mt_cfi_rules_flags */
	int32_t low;		/* plain: the rules read [cfa + low, cfa + high) */
	int32_t high;
};

struct mt_cfi_expr {
	const uint8_t *ops;
	size_t len;
};

struct mt_cfi_stats {
	size_t rows;
	size_t rule_sets;
	size_t entries;		/* FDEs used */
	size_t damaged;		/* records left out as damaged, over a limit, or outside the code */
	size_t bytes;		/* memory held */
};

/*
 * Compile .eh_frame and .debug_frame (also the debug file's) of a verified module; where
 * both describe a pc, .eh_frame counts. -MT_E_NO_DATA: it has neither. Damaged entries
 * are left out, never fatal.
 */
int mt_cfi_compile(struct mt_module *module, struct mt_cfi **ret_cfi);
void mt_cfi_free(struct mt_cfi *cfi);
size_t mt_cfi_rows(const struct mt_cfi *cfi);
void mt_cfi_stats(const struct mt_cfi *cfi, struct mt_cfi_stats *ret_stats);

/* Rules at svma, or NULL. Borrowed. */
const struct mt_cfi_rules *mt_cfi_find(const struct mt_cfi *cfi, uint64_t svma);

/* Row index < mt_cfi_rows(): its start; and its rules, NULL for a gap between functions. */
const struct mt_cfi_rules *mt_cfi_row(const struct mt_cfi *cfi, size_t index, uint64_t *ret_svma);

/* Expression index as in rules of this cfi. Borrowed. */
struct mt_cfi_expr mt_cfi_expr(const struct mt_cfi *cfi, int32_t index);

/*
 * Is svma in the code at the ELF entry point, where no row covers that? Entry code is
 * often written without unwind information, and has no caller.
 */
bool mt_cfi_is_entry(const struct mt_cfi *cfi, uint64_t svma);

#endif
