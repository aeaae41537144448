/* Compiled unwind rows against libdw's, for x86-64. */
#include "tests/oracle/oracle_cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "common/error.h"
#include "report/cfi.h"

#define REGS 17
#define RSP 7

static const struct mt_cfi_rule *rule_of(const struct mt_cfi_rules *rules, unsigned int reg)
{
	unsigned int i;

	for (i = 0; i < rules->n_rules; i++)
		if (rules->list[i].reg == reg)
			return &rules->list[i];
	return NULL;
}

static bool same_cfa(const struct mt_cfi *cfi, const struct mt_cfi_rules *rules,
		     Dwarf_Frame *frame)
{
	struct mt_cfi_expr expr;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return false;
	if (!(rules->flags & MT_CFI_CFA_EXPR))
		return n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == rules->cfa_reg &&
		       (int64_t)ops[0].number2 == rules->cfa_value;
	expr = mt_cfi_expr(cfi, rules->cfa_value);
	return expr.len && expr.ops[0] == ops[0].atom;
}

/* libdw gives a rule as a location expression. */
static bool same_rule(const struct mt_cfi *cfi, const struct mt_cfi_rule *rule, unsigned int reg,
		      const Dwarf_Op *ops, size_t n, const Dwarf_Op *mem)
{
	bool plain = n && ops[0].atom == DW_OP_call_frame_cfa;
	bool value = n && ops[n - 1].atom == DW_OP_stack_value;
	size_t n_address = n - value;
	int64_t offset = 0;
	struct mt_cfi_expr expr;

	if (plain && n_address == 2 && ops[1].atom == DW_OP_plus_uconst)
		offset = (int64_t)ops[1].number;
	else if (n_address != 1)
		plain = false;

	/* What no rule means, the psABI says: for rsp, and for registers a call may change. */
	if (!rule)
		return reg == RSP ? plain && value && !offset : !n;
	switch (rule->kind) {
	case MT_RULE_UNDEFINED:
		return !n && ops == mem;
	case MT_RULE_OFFSET:
		return plain && !value && offset == rule->value;
	case MT_RULE_VAL_OFFSET:
		return plain && value && offset == rule->value;
	case MT_RULE_REGISTER:
		return n == 1 && ops[0].atom == DW_OP_regx &&
		       ops[0].number == (Dwarf_Word)rule->value;
	case MT_RULE_EXPR:
	case MT_RULE_VAL_EXPR:
		expr = mt_cfi_expr(cfi, rule->value);
		return n_address > 1 && value == (rule->kind == MT_RULE_VAL_EXPR) &&
		       ops[0].atom == DW_OP_call_frame_cfa && expr.len &&
		       expr.ops[0] == ops[1].atom;
	default:
		return false;
	}
}

static void differ(struct mt_oracle_cfi_result *result, uint64_t svma, const char *what,
		   unsigned int reg)
{
	if (!result->different++) {
		result->svma = svma;
		snprintf(result->what, sizeof(result->what), "%s %u", what, reg);
	}
}

static void compare_row(const struct mt_cfi *cfi, const struct mt_cfi_rules *rules,
			Dwarf_Frame *frame, uint64_t svma, struct mt_oracle_cfi_result *result)
{
	Dwarf_Op mem[3];
	Dwarf_Op *ops;
	unsigned int reg;
	bool signal;
	size_t n;
	int ra = dwarf_frame_info(frame, NULL, NULL, &signal);

	if (ra != rules->ra)
		differ(result, svma, "return address register", rules->ra);
	else if (signal != !!(rules->flags & MT_CFI_SIGNAL))
		differ(result, svma, "signal flag", signal);
	else if (!same_cfa(cfi, rules, frame))
		differ(result, svma, "CFA, register", rules->cfa_reg);
	for (reg = 0; reg < REGS; reg++) {
		if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n) ||
		    !same_rule(cfi, rule_of(rules, reg), reg, ops, n, mem)) {
			differ(result, svma, "register", reg);
			break;
		}
	}
}

int mt_oracle_cfi(Elf *elf, const struct mt_cfi *cfi, size_t stride,
		  struct mt_oracle_cfi_result *ret_result)
{
	struct mt_oracle_cfi_result result = { 0 };
	Dwarf_CFI *theirs = dwarf_getcfi_elf(elf);
	const struct mt_cfi_rules *rules;
	Dwarf_Frame *frame;
	uint64_t svma;
	size_t row;
	int err;

	if (!theirs)
		return -MT_E_NO_DATA;
	for (row = 0; row < mt_cfi_rows(cfi); row += stride) {
		rules = mt_cfi_row(cfi, row, &svma);
		frame = NULL;
		err = dwarf_cfi_addrframe(theirs, svma, &frame);
		result.compared++;
		if ((err != 0) != !rules)
			differ(&result, svma, rules ? "libdw has none; ours" : "libdw has one", 0);
		else if (rules)
			compare_row(cfi, rules, frame, svma, &result);
		free(frame);
	}
	dwarf_cfi_end(theirs);
	*ret_result = result;
	return 0;
}
