/* What the oracles have in common. */
#include "tests/oracle/oracle.h"

#define RSP 7

void mt_oracle_free(struct mt_oracle *oracle)
{
	if (oracle)
		oracle->ops->free(oracle);
}

const char *mt_oracle_name(const struct mt_oracle *oracle)
{
	return oracle->ops->name;
}

bool mt_oracle_read_stack(struct mt_oracle *oracle, uint64_t addr, uint64_t *ret_value)
{
	const struct mt_stack *stack = oracle->stack;
	uint64_t offset = addr - stack->regs[RSP];

	if (addr < stack->regs[RSP] || offset > stack->n_bytes || stack->n_bytes - offset < 8) {
		oracle->missed = true;
		return false;
	}
	memcpy(ret_value, stack->bytes + offset, 8);
	return true;
}

int mt_oracle_unwind(struct mt_oracle *oracle, const struct mt_stack *stack, uint64_t *pcs,
		     size_t max, size_t *ret_n, bool *ret_short)
{
	int err;

	oracle->stack = stack;
	oracle->missed = false;
	err = oracle->ops->unwind(oracle, stack, pcs, max, ret_n);
	*ret_short = oracle->missed;
	return err;
}
