/*
 * report/cfi.h - unwind tables of one module, compiled to sorted rows.
 *
 * A row is valid for pcs from its start up to the next row's. Addresses are svmas
 * (as in the ELF file). DWARF 5 section 6.4; x86-64 psABI 3.6.2, AAPCS64 for
 * the register numbers.
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

/*
 * Compile .eh_frame (else .debug_frame, also of the debug file) of a verified module.
 * -MT_E_NO_DATA: it has none. Damaged entries are left out, never fatal.
 */
int mt_cfi_compile(struct mt_module *module, struct mt_cfi **ret_cfi);
void mt_cfi_free(struct mt_cfi *cfi);
size_t mt_cfi_rows(const struct mt_cfi *cfi);

#endif
