/*
 * report/cfi_rows.h - building a struct mt_cfi; private to the cfi_*.c files.
 *
 * Rows are appended in ascending order of svma. Rule sets and expressions are interned.
 */
#ifndef MT_CFI_ROWS_H
#define MT_CFI_ROWS_H

#include "report/cfi.h"

#define MT_CFI_SETS_MAX (1u << 20)
#define MT_CFI_RULES_MAX (1u << 24)	/* of all sets together */
#define MT_CFI_EXPRS_MAX (1u << 16)
#define MT_CFI_EXPR_BYTES_MAX (1u << 24)
#define MT_CFI_EXPR_LEN_MAX 4096u

/* Set index of a gap. */
#define MT_CFI_NO_SET 0u

/* The rules being computed: what a CFA program changes step by step. */
struct mt_cfi_state {
	uint8_t cfa_reg;
	uint8_t cfa_expr;	/* cfa_value is an expression index */
	uint8_t cfa_set;	/* there is a CFA rule at all */
	uint8_t ra;
	uint8_t signal;
	int32_t cfa_value;
	int32_t cfa_offset;	/* last offset given, which an expression only hides */
	uint64_t rules_set;	/* bit r: rules[r] is not MT_RULE_SAME */
	uint64_t rules_hash;	/* sum of the hashes of those */
	struct mt_cfi_rule rules[MT_REGS_MAX];
};

struct mt_cfi_builder;

int mt_cfi_builder_new(struct mt_cfi_builder **ret_builder);
void mt_cfi_builder_free(struct mt_cfi_builder *builder);

void mt_cfi_state_set(struct mt_cfi_state *state, struct mt_cfi_rule rule);

/* Index of an equal expression or set: 0, -MT_E_LIMIT, -ENOMEM. */
int mt_cfi_intern_expr(struct mt_cfi_builder *builder, const uint8_t *ops, size_t len,
		       int32_t *ret_index);
int mt_cfi_intern_rules(struct mt_cfi_builder *builder, const struct mt_cfi_state *state,
			uint32_t *ret_set);

/*
 * Append a row. svma is not below the last one's; an equal one replaces it. -MT_E_LIMIT if
 * it is more than 4 GiB above the first.
 */
int mt_cfi_add_row(struct mt_cfi_builder *builder, uint64_t svma, uint32_t set);

/* Number of rows, and forget those from count on: an entry that proved damaged. */
size_t mt_cfi_builder_rows(const struct mt_cfi_builder *builder);
void mt_cfi_builder_cut(struct mt_cfi_builder *builder, size_t count);

/* Work done for lookups in the interning tables, to bound that of hostile contents. */
uint64_t mt_cfi_builder_work(const struct mt_cfi_builder *builder);

/* Make the table; the builder is left empty. entry is the ELF entry point's svma, 0 if none. */
int mt_cfi_builder_finish(struct mt_cfi_builder *builder, uint64_t entry, size_t entries,
			  size_t damaged, struct mt_cfi **ret_cfi);

#endif
