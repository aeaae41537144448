/* DWARF expressions of call frame information. */
#include "report/dwarf_expr.h"

#include "common/error.h"
#include "report/dwarf_bytes.h"

/* DWARF 5 table 7.9. */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct machine {
	const struct mt_expr_input *input;
	const uint8_t *begin;
	struct mt_bytes code;
	unsigned int depth;
	uint64_t stack[MT_EXPR_DEPTH_MAX];
};

static int push(struct machine *m, uint64_t value)
{
	if (m->depth == MT_EXPR_DEPTH_MAX)
		return -MT_E_LIMIT;
	m->stack[m->depth++] = value;
	return 0;
}

static int push_reg(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= 64 || !(m->input->known >> reg & 1))
		return -MT_E_NO_DATA;
	return push(m, m->input->regs[reg] + (uint64_t)offset);
}

static int push_copy(struct machine *m, unsigned int index)
{
	if (index >= m->depth)
		return -MT_E_CORRUPT;
	return push(m, m->stack[m->depth - 1 - index]);
}

static int deref(struct machine *m, unsigned int size)
{
	uint64_t value = 0;
	int err;

	if (!m->depth || (size != 1 && size != 2 && size != 4 && size != 8))
		return -MT_E_CORRUPT;
	err = m->input->read(m->input->arg, m->stack[m->depth - 1], size, &value);
	if (!err)
		m->stack[m->depth - 1] = value;
	return err;
}

/* Branch by offset from the operand's end; anywhere inside the expression or to its very end. */
static int jump(struct machine *m, int64_t offset)
{
	const uint8_t *end = m->code.end;

	if (offset < m->begin - m->code.at || offset > end - m->code.at)
		return -MT_E_CORRUPT;
	m->code.at += offset;
	return 0;
}

static int unary(struct machine *m, uint8_t op, uint64_t operand)
{
	uint64_t *top;

	if (!m->depth)
		return -MT_E_CORRUPT;
	top = &m->stack[m->depth - 1];
	switch (op) {
	case OP_ABS:
		if (*top >> 63)
			*top = -*top;
		break;
	case OP_NEG:
		*top = -*top;
		break;
	case OP_NOT:
		*top = ~*top;
		break;
	case OP_PLUS_UCONST:
		*top += operand;
		break;
	}
	return 0;
}

static int divide(int64_t a, int64_t b, uint64_t *ret_value)
{
	if (!b)
		return -MT_E_CORRUPT;
	/* The one quotient that has no representation wraps. */
	*ret_value = b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
	return 0;
}

/* a is the second entry, b the top. Comparison and division are signed, modulo is not. */
static int binary_value(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret_value)
{
	int64_t sa = (int64_t)a;
	int64_t sb = (int64_t)b;

	switch (op) {
	case OP_AND:
		*ret_value = a & b;
		return 0;
	case OP_DIV:
		return divide(sa, sb, ret_value);
	case OP_MINUS:
		*ret_value = a - b;
		return 0;
	case OP_MOD:
		if (!b)
			return -MT_E_CORRUPT;
		*ret_value = a % b;
		return 0;
	case OP_MUL:
		*ret_value = a * b;
		return 0;
	case OP_OR:
		*ret_value = a | b;
		return 0;
	case OP_PLUS:
		*ret_value = a + b;
		return 0;
	case OP_SHL:
		*ret_value = b < 64 ? a << b : 0;
		return 0;
	case OP_SHR:
		*ret_value = b < 64 ? a >> b : 0;
		return 0;
	case OP_SHRA:
		*ret_value = (uint64_t)(sa >> (b < 64 ? b : 63));
		return 0;
	case OP_XOR:
		*ret_value = a ^ b;
		return 0;
	case OP_EQ:
		*ret_value = sa == sb;
		return 0;
	case OP_GE:
		*ret_value = sa >= sb;
		return 0;
	case OP_GT:
		*ret_value = sa > sb;
		return 0;
	case OP_LE:
		*ret_value = sa <= sb;
		return 0;
	case OP_LT:
		*ret_value = sa < sb;
		return 0;
	case OP_NE:
		*ret_value = sa != sb;
		return 0;
	default:
		return -MT_E_CORRUPT;
	}
}

static int binary(struct machine *m, uint8_t op)
{
	uint64_t value;
	int err;

	if (m->depth < 2)
		return -MT_E_CORRUPT;
	err = binary_value(op, m->stack[m->depth - 2], m->stack[m->depth - 1], &value);
	if (err)
		return err;
	m->depth--;
	m->stack[m->depth - 1] = value;
	return 0;
}

static int rearrange(struct machine *m, uint8_t op)
{
	uint64_t *top = &m->stack[m->depth];
	uint64_t value;

	if (m->depth < (op == OP_DROP ? 1u : op == OP_SWAP ? 2u : 3u))
		return -MT_E_CORRUPT;
	value = top[-1];
	switch (op) {
	case OP_DROP:
		m->depth--;
		break;
	case OP_SWAP:
		top[-1] = top[-2];
		top[-2] = value;
		break;
	case OP_ROT:
		top[-1] = top[-2];
		top[-2] = top[-3];
		top[-3] = value;
		break;
	}
	return 0;
}

static int branch_if(struct machine *m, int64_t offset)
{
	if (!m->depth)
		return -MT_E_CORRUPT;
	return m->stack[--m->depth] ? jump(m, offset) : 0;
}

static int constant(struct machine *m, uint8_t op)
{
	unsigned int size = 1u << ((op - OP_CONST1U) / 2);

	if ((op - OP_CONST1U) % 2)
		return push(m, (uint64_t)mt_bytes_sint(&m->code, size));
	return push(m, mt_bytes_uint(&m->code, size));
}

static int step_range(struct machine *m, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push(m, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(m, op - OP_BREG0, mt_bytes_sleb(&m->code));
	if (op >= OP_CONST1U && op <= OP_CONST8S)
		return constant(m, op);
	return binary(m, op);
}

static int step(struct machine *m)
{
	uint8_t op = (uint8_t)mt_bytes_uint(&m->code, 1);
	uint64_t reg;

	switch (op) {
	case OP_ADDR:
		return push(m, mt_bytes_uint(&m->code, 8) + m->input->bias);
	case OP_DEREF:
		return deref(m, 8);
	case OP_DEREF_SIZE:
		return deref(m, (unsigned int)mt_bytes_uint(&m->code, 1));
	case OP_CONSTU:
		return push(m, mt_bytes_uleb(&m->code));
	case OP_CONSTS:
		return push(m, (uint64_t)mt_bytes_sleb(&m->code));
	case OP_DUP:
		return push_copy(m, 0);
	case OP_OVER:
		return push_copy(m, 1);
	case OP_PICK:
		return push_copy(m, (unsigned int)mt_bytes_uint(&m->code, 1));
	case OP_DROP:
	case OP_SWAP:
	case OP_ROT:
		return rearrange(m, op);
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
		return unary(m, op, 0);
	case OP_PLUS_UCONST:
		return unary(m, op, mt_bytes_uleb(&m->code));
	case OP_BRA:
		return branch_if(m, mt_bytes_sint(&m->code, 2));
	case OP_SKIP:
		return jump(m, mt_bytes_sint(&m->code, 2));
	case OP_BREGX:
		reg = mt_bytes_uleb(&m->code);
		return push_reg(m, reg, mt_bytes_sleb(&m->code));
	case OP_NOP:
		return 0;
	default:
		return step_range(m, op);
	}
}

int mt_expr_eval(const uint8_t *ops, size_t len, const struct mt_expr_input *input,
		 uint64_t *ret_value)
{
	struct machine m;
	unsigned int steps;
	int err = 0;

	m.input = input;
	m.begin = ops;
	m.code = mt_bytes_of(ops, len);
	m.depth = 0;
	if (input->cfa)
		err = push(&m, *input->cfa);

	for (steps = 0; !err && m.code.at != m.code.end; steps++) {
		if (steps == MT_EXPR_STEPS_MAX)
			return -MT_E_LIMIT;
		err = step(&m);
		/* An operand that is cut made up the values the step used. */
		if (m.code.bad)
			return -MT_E_CORRUPT;
	}
	if (err)
		return err;
	if (!m.depth)
		return -MT_E_CORRUPT;
	*ret_value = m.stack[m.depth - 1];
	return 0;
}
