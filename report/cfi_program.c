/* CFA programs: DWARF 5 section 6.4.2, and the extensions of GCC and AArch64. */
#include "report/cfi_program.h"

#include "common/dwarf_cfa.h"
#include "common/error.h"

struct machine {
	struct mt_cfi_context *context;
	struct mt_cfi_builder *builder;
	const struct mt_cfi_cie *cie;
	const struct mt_cfi_state *initial;	/* NULL while it is being computed */
	struct mt_cfi_state *state;
	struct mt_bytes code;
	uint64_t loc;
	uint64_t start;
	uint64_t end;
	unsigned int depth;
	struct mt_cfi_state saved[MT_CFI_REMEMBER_MAX];
};

static int set_rule(struct machine *m, uint64_t reg, uint8_t kind, int64_t value)
{
	struct mt_cfi_rule rule = { .kind = kind };

	/* Vector registers and the like: no address is computed from them. */
	if (reg >= m->context->n_regs)
		return 0;
	if (value < INT32_MIN || value > INT32_MAX)
		return -MT_E_LIMIT;
	rule.reg = (uint8_t)reg;
	rule.value = (int32_t)value;
	mt_cfi_state_set(m->state, rule);
	return 0;
}

static int set_factored(struct machine *m, uint64_t reg, uint8_t kind, int64_t factored)
{
	int64_t value;

	if (__builtin_mul_overflow(factored, m->cie->data_align, &value))
		return -MT_E_LIMIT;
	return set_rule(m, reg, kind, value);
}

/* For operands that are unsigned in the file. */
static int set_factored_u(struct machine *m, uint64_t reg, uint8_t kind, uint64_t factored)
{
	if (factored > INT64_MAX)
		return -MT_E_LIMIT;
	return set_factored(m, reg, kind, (int64_t)factored);
}

static int set_expression(struct machine *m, uint64_t reg, uint8_t kind)
{
	uint64_t len = mt_bytes_uleb(&m->code);
	const uint8_t *ops = m->code.at;
	int32_t index;
	int err;

	if (!mt_bytes_skip(&m->code, len))
		return -MT_E_CORRUPT;
	err = mt_cfi_intern_expr(m->builder, ops, len, &index);
	return err ? err : set_rule(m, reg, kind, index);
}

static int restore(struct machine *m, uint64_t reg)
{
	struct mt_cfi_rule rule = { .kind = MT_RULE_SAME };

	if (!m->initial)
		return -MT_E_CORRUPT;
	if (reg >= m->context->n_regs)
		return 0;
	rule.reg = (uint8_t)reg;
	if (m->initial->rules_set >> reg & 1)
		rule = m->initial->rules[reg];
	mt_cfi_state_set(m->state, rule);
	return 0;
}

static int set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= m->context->n_regs)
		return -MT_E_CORRUPT;
	if (offset < INT32_MIN || offset > INT32_MAX)
		return -MT_E_LIMIT;
	m->state->cfa_reg = (uint8_t)reg;
	m->state->cfa_value = (int32_t)offset;
	m->state->cfa_offset = (int32_t)offset;
	m->state->cfa_expr = 0;
	m->state->cfa_set = 1;
	return 0;
}

/* For operands that are unsigned in the file. */
static int set_cfa_u(struct machine *m, uint64_t reg, uint64_t offset)
{
	return offset > INT32_MAX ? -MT_E_LIMIT : set_cfa(m, reg, (int64_t)offset);
}

static int set_cfa_factored(struct machine *m, uint64_t reg, int64_t factored)
{
	int64_t offset;

	if (__builtin_mul_overflow(factored, m->cie->data_align, &offset))
		return -MT_E_LIMIT;
	return set_cfa(m, reg, offset);
}

static int set_cfa_expression(struct machine *m)
{
	uint64_t len = mt_bytes_uleb(&m->code);
	const uint8_t *ops = m->code.at;
	int32_t index;
	int err;

	if (!mt_bytes_skip(&m->code, len))
		return -MT_E_CORRUPT;
	err = mt_cfi_intern_expr(m->builder, ops, len, &index);
	if (err)
		return err;
	m->state->cfa_reg = 0;
	m->state->cfa_value = index;
	m->state->cfa_expr = 1;
	m->state->cfa_set = 1;
	return 0;
}

/*
 * A new offset for the register in use. While an expression gives the CFA, DWARF has no
 * meaning for that; as GCC's unwinder has it, it is kept for the next register, and so is an
 * older one: assembly code that realigns its stack relies on it.
 */
static int change_cfa_offset(struct machine *m, int64_t offset)
{
	struct mt_cfi_state *state = m->state;
	int32_t expr = state->cfa_value;
	bool hidden = state->cfa_expr;
	int err;

	if (!state->cfa_set)
		return -MT_E_CORRUPT;
	err = set_cfa(m, state->cfa_reg, offset);
	if (!err && hidden) {
		state->cfa_value = expr;
		state->cfa_expr = 1;
	}
	return err;
}

static int change_cfa(struct machine *m, uint8_t op)
{
	uint64_t operand = op == CFA_DEF_CFA_OFFSET_SF ? (uint64_t)mt_bytes_sleb(&m->code) :
							 mt_bytes_uleb(&m->code);
	int64_t offset;

	if (!m->state->cfa_set)
		return -MT_E_CORRUPT;
	if (op == CFA_DEF_CFA_REGISTER)
		return set_cfa(m, operand, m->state->cfa_offset);
	if (op == CFA_DEF_CFA_OFFSET)
		return operand > INT32_MAX ? -MT_E_LIMIT :
					     change_cfa_offset(m, (int64_t)operand);
	if (__builtin_mul_overflow((int64_t)operand, m->cie->data_align, &offset))
		return -MT_E_LIMIT;
	return change_cfa_offset(m, offset);
}

static int remember(struct machine *m)
{
	if (m->depth == MT_CFI_REMEMBER_MAX)
		return -MT_E_LIMIT;
	m->saved[m->depth++] = *m->state;
	return 0;
}

static int recall(struct machine *m)
{
	if (!m->depth)
		return -MT_E_CORRUPT;
	*m->state = m->saved[--m->depth];
	return 0;
}

/* Write down what holds from loc on. */
static int emit(struct machine *m)
{
	uint32_t set;
	int err;

	if (!m->state->cfa_set)
		return -MT_E_CORRUPT;
	err = mt_cfi_intern_rules(m->builder, m->state, &set);
	return err ? err : mt_cfi_add_row(m->builder, m->loc, set);
}

/* Move to loc; at or beyond the end of the function nothing that follows matters. */
static int advance_to(struct machine *m, uint64_t loc)
{
	int err;

	if (!m->initial || loc < m->loc)
		return -MT_E_CORRUPT;
	if (loc == m->loc)
		return 0;
	err = emit(m);
	if (err)
		return err;
	m->loc = loc;
	if (loc >= m->end)
		m->code.at = m->code.end;
	return 0;
}

static int advance(struct machine *m, uint64_t factored)
{
	uint64_t delta;

	if (__builtin_mul_overflow(factored, m->cie->code_align, &delta) ||
	    delta > UINT64_MAX - m->loc)
		return -MT_E_CORRUPT;
	return advance_to(m, m->loc + delta);
}

static int set_loc(struct machine *m)
{
	uint64_t loc;

	if (!mt_cfi_read_pointer(m->context, &m->code, m->cie->encoding, m->start, &loc) ||
	    (m->cie->encoding & MT_PE_INDIRECT))
		return -MT_E_CORRUPT;
	return advance_to(m, loc);
}

static int step_vendor(struct machine *m, uint8_t op)
{
	uint64_t reg;
	uint64_t operand;

	switch (op) {
	case CFA_ADVANCE_LOC8:
		return advance(m, mt_bytes_uint(&m->code, 8));
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_PC:
		/*
		 * Signed or not, the unwinder strips a return address's signature; so
		 * the state makes no difference.
		 */
		return m->context->aarch64 ? 0 : -MT_E_CORRUPT;
	case CFA_ARGS_SIZE:
		mt_bytes_uleb(&m->code);
		return 0;
	case CFA_NEGATIVE_OFFSET:
		reg = mt_bytes_uleb(&m->code);
		operand = mt_bytes_uleb(&m->code);
		if (operand > INT64_MAX)
			return -MT_E_LIMIT;
		return set_factored(m, reg, MT_RULE_OFFSET, -(int64_t)operand);
	default:
		return -MT_E_CORRUPT;
	}
}

/* Instructions whose first operand is a register. */
static int step_register(struct machine *m, uint8_t op)
{
	uint64_t reg = mt_bytes_uleb(&m->code);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		return set_factored_u(m, reg, MT_RULE_OFFSET, mt_bytes_uleb(&m->code));
	case CFA_OFFSET_EXTENDED_SF:
		return set_factored(m, reg, MT_RULE_OFFSET, mt_bytes_sleb(&m->code));
	case CFA_VAL_OFFSET:
		return set_factored_u(m, reg, MT_RULE_VAL_OFFSET, mt_bytes_uleb(&m->code));
	case CFA_VAL_OFFSET_SF:
		return set_factored(m, reg, MT_RULE_VAL_OFFSET, mt_bytes_sleb(&m->code));
	case CFA_RESTORE_EXTENDED:
		return restore(m, reg);
	case CFA_UNDEFINED:
		return set_rule(m, reg, MT_RULE_UNDEFINED, 0);
	case CFA_SAME_VALUE:
		return set_rule(m, reg, MT_RULE_SAME, 0);
	case CFA_REGISTER: {
		uint64_t source = mt_bytes_uleb(&m->code);

		if (source >= m->context->n_regs)
			return set_rule(m, reg, MT_RULE_UNDEFINED, 0);
		return set_rule(m, reg, MT_RULE_REGISTER, (int64_t)source);
	}
	case CFA_EXPRESSION:
		return set_expression(m, reg, MT_RULE_EXPR);
	case CFA_VAL_EXPRESSION:
		return set_expression(m, reg, MT_RULE_VAL_EXPR);
	case CFA_DEF_CFA:
		return set_cfa_u(m, reg, mt_bytes_uleb(&m->code));
	default:	/* CFA_DEF_CFA_SF */
		return set_cfa_factored(m, reg, mt_bytes_sleb(&m->code));
	}
}

static int step_extended(struct machine *m, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return set_loc(m);
	case CFA_ADVANCE_LOC1:
	case CFA_ADVANCE_LOC2:
	case CFA_ADVANCE_LOC4:
		return advance(m, mt_bytes_uint(&m->code, 1u << (op - CFA_ADVANCE_LOC1)));
	case CFA_REMEMBER_STATE:
		return remember(m);
	case CFA_RESTORE_STATE:
		return recall(m);
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		return change_cfa(m, op);
	case CFA_DEF_CFA_EXPRESSION:
		return set_cfa_expression(m);
	case CFA_OFFSET_EXTENDED:
	case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
	case CFA_REGISTER:
	case CFA_DEF_CFA:
	case CFA_EXPRESSION:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_DEF_CFA_SF:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_VAL_EXPRESSION:
		return step_register(m, op);
	default:
		return step_vendor(m, op);
	}
}

static int run(struct machine *m)
{
	uint8_t op;
	int err;

	while (m->code.at != m->code.end) {
		if (++m->context->work > m->context->work_max)
			return -MT_E_LIMIT;
		op = (uint8_t)mt_bytes_uint(&m->code, 1);
		switch (op & CFA_PRIMARY) {
		case CFA_ADVANCE_LOC:
			err = advance(m, op & ~CFA_PRIMARY);
			break;
		case CFA_OFFSET:
			err = set_factored_u(m, op & ~CFA_PRIMARY, MT_RULE_OFFSET,
					     mt_bytes_uleb(&m->code));
			break;
		case CFA_RESTORE:
			err = restore(m, op & ~CFA_PRIMARY);
			break;
		default:
			err = step_extended(m, op);
		}
		if (err)
			return err;
		if (m->code.bad)
			return -MT_E_CORRUPT;
	}
	return 0;
}

int mt_cfi_run_initial(struct mt_cfi_context *context, struct mt_cfi_builder *builder,
		       const struct mt_cfi_cie *cie, struct mt_bytes code,
		       struct mt_cfi_state *state)
{
	struct machine m;

	m.context = context;
	m.builder = builder;
	m.cie = cie;
	m.initial = NULL;
	m.state = state;
	m.code = code;
	m.loc = 0;
	m.start = 0;
	m.end = 0;
	m.depth = 0;
	return run(&m);
}

int mt_cfi_run_fde(struct mt_cfi_context *context, struct mt_cfi_builder *builder,
		   const struct mt_cfi_cie *cie, const struct mt_cfi_fde *fde)
{
	struct mt_cfi_state state = cie->initial;
	struct machine m;
	int err;

	m.context = context;
	m.builder = builder;
	m.cie = cie;
	m.initial = &cie->initial;
	m.state = &state;
	m.code = fde->code;
	m.loc = fde->start;
	m.start = fde->start;
	m.end = fde->end;
	m.depth = 0;
	err = run(&m);
	if (err)
		return err;
	return m.loc < m.end ? emit(&m) : 0;
}
