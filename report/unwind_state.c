/* One step from a frame to its caller. */
#include "report/unwind_state.h"

#include "common/error.h"
#include "report/dwarf_expr.h"

#define BIT(reg) ((uint64_t)1 << (reg))
#define ARGUMENTS_MAX (1u << 20)

bool mt_unwind_state_init(struct mt_unwind_state *state, const struct mt_unwind_arch *arch,
			  uint64_t code_mask, const struct mt_stack *stack)
{
	if (stack->n_regs < arch->n_regs || stack->n_regs > MT_REGS_MAX)
		return false;
	state->arch = arch;
	state->stack = stack;
	state->code_mask = code_mask;
	state->base = stack->regs[arch->sp];
	state->pc = stack->regs[arch->pc];
	state->low = state->base;
	state->exact = true;
	state->known = BIT(arch->n_regs) - 1;
	state->lost = 0;
	state->lost_end = MT_UNWIND_BAD_CFI;
	memcpy(state->regs, stack->regs, arch->n_regs * sizeof(state->regs[0]));
	return true;
}

/* Why [addr, addr + size) is not within the captured bytes. */
static enum mt_unwind_end explain(const struct mt_unwind_state *state, uint64_t addr)
{
	const struct mt_stack *stack = state->stack;
	uint64_t offset = addr - state->base;

	if (addr < state->base)
		return MT_UNWIND_BAD_MEMORY;
	/* Known to be above the stack, not above its captured part. */
	if (stack->above && offset >= stack->n_bytes && offset - stack->n_bytes >= stack->above)
		return MT_UNWIND_BAD_MEMORY;
	if (stack->flags & MT_STACK_CUT_BUDGET)
		return MT_UNWIND_TRUNCATED;
	if (stack->flags & MT_STACK_CUT_FAULT)
		return MT_UNWIND_UNREADABLE;
	return MT_UNWIND_BAD_MEMORY;
}

static const uint8_t *captured(const struct mt_unwind_state *state, uint64_t addr, uint64_t size)
{
	uint64_t offset = addr - state->base;
	uint64_t n = state->stack->n_bytes;

	if (addr < state->base || offset > n || n - offset < size)
		return NULL;
	return state->stack->bytes + offset;
}

static uint64_t load(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

bool mt_unwind_read(const struct mt_unwind_state *state, uint64_t addr, uint64_t *ret_value,
		    enum mt_unwind_end *ret_end)
{
	const uint8_t *at = captured(state, addr, 8);

	if (!at) {
		*ret_end = explain(state, addr);
		return false;
	}
	*ret_value = load(at);
	return true;
}

struct expr_arg {
	const struct mt_unwind_state *state;
	enum mt_unwind_end end;
};

static int expr_read(void *arg, uint64_t addr, unsigned int size, uint64_t *ret_value)
{
	struct expr_arg *expr_arg = arg;
	const uint8_t *at = captured(expr_arg->state, addr, size);
	uint64_t value = 0;

	if (!at) {
		expr_arg->end = explain(expr_arg->state, addr);
		return -MT_E_CUT;
	}
	memcpy(&value, at, size);	/* little-endian, as the recorded machine */
	*ret_value = value;
	return 0;
}

static bool eval(const struct mt_unwind_state *state, const struct mt_cfi *cfi, int32_t index,
		 uint64_t bias, const uint64_t *cfa, uint64_t *ret_value,
		 enum mt_unwind_end *ret_end)
{
	struct mt_cfi_expr expr = mt_cfi_expr(cfi, index);
	struct expr_arg arg = { state, MT_UNWIND_BAD_CFI };
	struct mt_expr_input input = {
		.regs = state->regs,
		.known = state->known,
		.bias = bias,
		.cfa = cfa,
		.read = expr_read,
		.arg = &arg,
	};
	int err = mt_expr_eval(expr.ops, expr.len, &input, ret_value);

	if (!err)
		return true;
	/* A register that is not known: most often because its save slot was not captured. */
	*ret_end = err == -MT_E_NO_DATA && state->lost ? state->lost_end : arg.end;
	return false;
}

static bool get_cfa(const struct mt_unwind_state *state, const struct mt_cfi *cfi,
		    const struct mt_cfi_rules *rules, uint64_t bias, uint64_t *ret_cfa,
		    enum mt_unwind_end *ret_end)
{
	if (rules->flags & MT_CFI_CFA_EXPR)
		return eval(state, cfi, rules->cfa_value, bias, NULL, ret_cfa, ret_end);
	if (!(state->known & BIT(rules->cfa_reg))) {
		*ret_end = state->lost & BIT(rules->cfa_reg) ? state->lost_end :
							       MT_UNWIND_BAD_CFI;
		return false;
	}
	*ret_cfa = state->regs[rules->cfa_reg] + (uint64_t)(int64_t)rules->cfa_value;
	return true;
}

static void set_reg(struct mt_unwind_state *state, uint8_t reg, uint64_t value)
{
	state->regs[reg] = value;
	state->known |= BIT(reg);
	state->lost &= ~BIT(reg);
}

static void lose_reg(struct mt_unwind_state *state, uint8_t reg, enum mt_unwind_end end)
{
	state->known &= ~BIT(reg);
	state->lost |= BIT(reg);
	state->lost_end = end;
}

/*
 * Every rule a load from a fixed distance to the CFA: by far the most common, so it has
 * one bounds check for all. false: some slot was not captured; nothing has changed.
 */
static bool apply_plain(struct mt_unwind_state *state, const struct mt_cfi_rules *rules,
			uint64_t cfa)
{
	uint64_t from = cfa + (uint64_t)(int64_t)rules->low;
	const uint8_t *at = captured(state, from, (uint64_t)((int64_t)rules->high - rules->low));
	const struct mt_cfi_rule *rule = rules->list;
	const struct mt_cfi_rule *end = rule + rules->n_rules;
	uint64_t known = 0;

	if (!at)
		return false;
	for (; rule < end; rule++) {
		state->regs[rule->reg] = load(at + ((int64_t)rule->value - rules->low));
		known |= BIT(rule->reg);
	}
	state->known |= known;
	return true;
}

/* One register of the caller; before has this frame's. */
static void apply_rule(struct mt_unwind_state *state, const struct mt_unwind_state *before,
		       const struct mt_cfi *cfi, const struct mt_cfi_rule *rule, uint64_t bias,
		       uint64_t cfa)
{
	enum mt_unwind_end end = MT_UNWIND_BAD_CFI;
	uint64_t value = 0;
	bool found = false;

	switch (rule->kind) {
	case MT_RULE_OFFSET:
		found = mt_unwind_read(before, cfa + (uint64_t)(int64_t)rule->value, &value, &end);
		break;
	case MT_RULE_VAL_OFFSET:
		value = cfa + (uint64_t)(int64_t)rule->value;
		found = true;
		break;
	case MT_RULE_REGISTER:
		found = before->known & BIT(rule->value);
		value = before->regs[rule->value];
		if (before->lost & BIT(rule->value))
			end = before->lost_end;
		break;
	case MT_RULE_EXPR:
		found = eval(before, cfi, rule->value, bias, &cfa, &value, &end) &&
			mt_unwind_read(before, value, &value, &end);
		break;
	case MT_RULE_VAL_EXPR:
		found = eval(before, cfi, rule->value, bias, &cfa, &value, &end);
		break;
	case MT_RULE_UNDEFINED:
		state->known &= ~BIT(rule->reg);
		state->lost &= ~BIT(rule->reg);
		return;
	}
	if (found)
		set_reg(state, rule->reg, value);
	else
		lose_reg(state, rule->reg, end);
}

/* Is there a rule for this register, other than that it is the same? */
static const struct mt_cfi_rule *rule_of(const struct mt_cfi_rules *rules, uint8_t reg)
{
	unsigned int i;

	for (i = 0; i < rules->n_rules; i++)
		if (rules->list[i].reg == reg)
			return &rules->list[i];
	return NULL;
}

static void apply_rules(struct mt_unwind_state *state, const struct mt_cfi *cfi,
			const struct mt_cfi_rules *rules, uint64_t bias, uint64_t cfa)
{
	struct mt_unwind_state before = *state;
	unsigned int i;

	set_reg(state, state->arch->sp, cfa);
	for (i = 0; i < rules->n_rules; i++)
		apply_rule(state, &before, cfi, &rules->list[i], bias, cfa);
}

/* The caller's pc, once its registers are there. */
static bool take_return_address(struct mt_unwind_state *state, const struct mt_cfi_rules *rules,
				enum mt_unwind_end *ret_end)
{
	uint64_t bit = BIT(rules->ra);

	/*
	 * A return address that is still in its register can only be that of a function
	 * that has not called another.
	 */
	if (!state->exact && !(rules->flags & MT_CFI_RETURNS)) {
		*ret_end = MT_UNWIND_BAD_CFI;
		return false;
	}
	if (!(state->known & bit)) {
		*ret_end = state->lost & bit ? state->lost_end : MT_UNWIND_BAD_CFI;
		return false;
	}
	state->pc = state->regs[rules->ra] & state->code_mask;
	set_reg(state, state->arch->pc, state->pc);
	if (!state->pc) {
		*ret_end = state->stack->flags & MT_STACK_HOLES ? MT_UNWIND_UNREADABLE :
								  MT_UNWIND_COMPLETE;
		return false;
	}
	return true;
}

bool mt_unwind_step_cfi(struct mt_unwind_state *state, const struct mt_cfi *cfi,
			const struct mt_cfi_rules *rules, uint64_t bias,
			enum mt_unwind_end *ret_end)
{
	bool signal = rules->flags & MT_CFI_SIGNAL;
	uint64_t cfa;

	if (rules->flags & MT_CFI_END) {
		*ret_end = MT_UNWIND_COMPLETE;
		return false;
	}
	if (!get_cfa(state, cfi, rules, bias, &cfa, ret_end))
		return false;
	if ((rules->flags & MT_CFI_PLAIN) && apply_plain(state, rules, cfa))
		set_reg(state, state->arch->sp, cfa);
	else
		apply_rules(state, cfi, rules, bias, cfa);
	if (!take_return_address(state, rules, ret_end))
		return false;

	/*
	 * A signal handler may run on another stack than what it interrupted. A function that has
	 * only been entered, or is about to return, may keep nothing on the stack.
	 */
	if (!signal && (cfa < state->low || (cfa == state->low && !state->exact))) {
		*ret_end = MT_UNWIND_NOT_ADVANCING;
		return false;
	}
	state->low = !signal ? cfa :
		     state->known & BIT(state->arch->sp) ? state->regs[state->arch->sp] : 0;
	state->exact = signal;
	return true;
}

void mt_unwind_step_plain(struct mt_unwind_state *state, const struct mt_cfi_rules *rules,
			  uint64_t cfa)
{
	apply_plain(state, rules, cfa);
	set_reg(state, state->arch->sp, cfa);
	state->pc = state->regs[rules->ra] & state->code_mask;
	set_reg(state, state->arch->pc, state->pc);
	state->low = cfa;
	state->exact = false;
}

bool mt_unwind_peek_fp(const struct mt_unwind_state *state, uint64_t *ret_pc, bool *ret_linked,
		       enum mt_unwind_end *ret_end)
{
	uint64_t fp = state->regs[state->arch->fp];
	uint64_t next;
	uint64_t pc;

	*ret_end = MT_UNWIND_NO_CFI;
	if (!(state->known & BIT(state->arch->fp)) || fp < state->low || fp % 8)
		return false;
	if (!mt_unwind_read(state, fp, &next, ret_end) ||
	    !mt_unwind_read(state, fp + 8, &pc, ret_end))
		return false;
	*ret_end = MT_UNWIND_NO_CFI;
	*ret_linked = !next || (next > fp && next % 8 == 0);
	*ret_pc = pc & state->code_mask;
	return *ret_pc != 0;
}

void mt_unwind_step_fp(struct mt_unwind_state *state)
{
	const struct mt_unwind_arch *arch = state->arch;
	uint64_t fp = state->regs[arch->fp];
	const uint8_t *record = captured(state, fp, 16);

	if (!record)
		return;
	/* What else the function saved is not known. */
	state->known = 0;
	state->lost = 0;
	set_reg(state, arch->fp, load(record));
	state->pc = load(record + 8) & state->code_mask;
	set_reg(state, arch->pc, state->pc);
	if (arch->lr == MT_UNWIND_NO_LR)	/* elsewhere locals may lie above the record */
		set_reg(state, arch->sp, fp + 16);
	state->low = fp + 16;
	state->exact = false;
}

bool mt_unwind_peek_leaf(const struct mt_unwind_state *state, uint64_t *ret_pc)
{
	const struct mt_unwind_arch *arch = state->arch;
	enum mt_unwind_end end;
	uint64_t pc;

	if (arch->lr != MT_UNWIND_NO_LR) {
		if (!(state->known & BIT(arch->lr)))
			return false;
		pc = state->regs[arch->lr];
	} else if (!(state->known & BIT(arch->sp)) ||
		   !mt_unwind_read(state, state->regs[arch->sp], &pc, &end)) {
		return false;
	}
	*ret_pc = pc & state->code_mask;
	return *ret_pc != 0;
}

void mt_unwind_step_leaf(struct mt_unwind_state *state)
{
	const struct mt_unwind_arch *arch = state->arch;
	uint64_t pc;

	if (!mt_unwind_peek_leaf(state, &pc))
		return;
	if (arch->lr == MT_UNWIND_NO_LR)
		set_reg(state, arch->sp, state->regs[arch->sp] + 8);
	state->low = state->regs[arch->sp];
	state->pc = pc;
	set_reg(state, arch->pc, pc);
	state->exact = false;
}

bool mt_unwind_keeps_fp(const struct mt_unwind_arch *arch, const struct mt_cfi_rules *rules)
{
	const struct mt_cfi_rule *fp = rule_of(rules, arch->fp);
	const struct mt_cfi_rule *ra = rule_of(rules, rules->ra);

	/* The record is at the frame pointer: at cfa - cfa_value. */
	return !(rules->flags & (MT_CFI_CFA_EXPR | MT_CFI_SIGNAL)) && rules->cfa_reg == arch->fp &&
	       fp && fp->kind == MT_RULE_OFFSET && ra && ra->kind == MT_RULE_OFFSET &&
	       (int64_t)fp->value == -(int64_t)rules->cfa_value &&
	       (int64_t)ra->value == 8 - (int64_t)rules->cfa_value;
}

/* argc, that many addresses above, and a null pointer. Linux no longer runs programs with none. */
static bool arguments_at(const struct mt_unwind_state *state, uint64_t sp)
{
	enum mt_unwind_end end;
	uint64_t argc;
	uint64_t arg;
	uint64_t i;

	if (!mt_unwind_read(state, sp, &argc, &end) || !argc || argc > ARGUMENTS_MAX)
		return false;
	for (i = 0; i < argc; i++)
		if (!mt_unwind_read(state, sp + 8 + 8 * i, &arg, &end) || arg <= sp)
			return false;
	return mt_unwind_read(state, sp + 8 + 8 * argc, &arg, &end) && !arg;
}

bool mt_unwind_at_arguments(const struct mt_unwind_state *state)
{
	uint64_t sp = state->regs[state->arch->sp];
	uint64_t end = state->base + state->stack->n_bytes;

	if (!(state->known & BIT(state->arch->sp)) || state->stack->flags || sp > end)
		return false;
	/*
	 * Entry code aligns the stack to 16 bytes before it calls. The captured bytes may end where
	 * the arguments begin: that is where the kernel says that the stack starts.
	 */
	return end - sp <= 16 || arguments_at(state, sp) || arguments_at(state, sp + 8);
}
