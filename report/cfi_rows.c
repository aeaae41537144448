/* Interned rule sets and sorted rows: the builder. */
#include "report/cfi_rows.h"

#include <errno.h>

#include "common/error.h"
#include "report/cfi_table.h"

/* Open addressing over indices + 1 (0 = free); the keys are in the arrays indexed. */
struct slots {
	uint32_t *index;
	uint32_t *hash;
	size_t cap;		/* power of two, or 0 */
	size_t used;
};

struct mt_cfi_builder {
	struct mt_cfi *cfi;
	size_t rows_cap;
	size_t sets_cap;
	size_t rules_cap;
	size_t exprs_cap;
	size_t ops_cap;
	uint32_t *first_rule;	/* per set: index in cfi->rules */
	size_t first_cap;
	struct slots set_slots;
	struct slots expr_slots;
	uint64_t work;
};

/* Grow *array to hold want elements of size bytes each. */
static int grow(void **array, size_t *cap, size_t want, size_t size)
{
	size_t next = *cap ? *cap : 64;
	void *grown;

	if (want <= *cap)
		return 0;
	while (next < want)
		next += next / 2;
	grown = reallocarray(*array, next, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = next;
	return 0;
}

#define GROW(array, cap, want) grow((void **)(array), (cap), (want), sizeof(**(array)))

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15u;
	value ^= value >> 29;
	value *= 0xbf58476d1ce4e5b9u;
	return value ^ value >> 32;
}

static uint64_t rule_hash(struct mt_cfi_rule rule)
{
	return mix((uint64_t)rule.reg << 40 | (uint64_t)rule.kind << 32 | (uint32_t)rule.value);
}

void mt_cfi_state_set(struct mt_cfi_state *state, struct mt_cfi_rule rule)
{
	uint64_t bit = (uint64_t)1 << rule.reg;

	if (state->rules_set & bit)
		state->rules_hash -= rule_hash(state->rules[rule.reg]);
	if (rule.kind == MT_RULE_SAME) {
		state->rules_set &= ~bit;
		return;
	}
	state->rules_set |= bit;
	state->rules_hash += rule_hash(rule);
	state->rules[rule.reg] = rule;
}

static int slots_grow(struct slots *slots)
{
	struct slots next = { NULL, NULL, slots->cap ? slots->cap * 2 : 256, slots->used };
	size_t i;
	size_t at;

	next.index = calloc(next.cap, sizeof(*next.index));
	next.hash = calloc(next.cap, sizeof(*next.hash));
	if (!next.index || !next.hash) {
		free(next.index);
		free(next.hash);
		return -ENOMEM;
	}
	for (i = 0; i < slots->cap; i++) {
		if (!slots->index[i])
			continue;
		at = slots->hash[i] & (next.cap - 1);
		while (next.index[at])
			at = (at + 1) & (next.cap - 1);
		next.index[at] = slots->index[i];
		next.hash[at] = slots->hash[i];
	}
	free(slots->index);
	free(slots->hash);
	*slots = next;
	return 0;
}

static void slots_release(struct slots *slots)
{
	free(slots->index);
	free(slots->hash);
}

int mt_cfi_builder_new(struct mt_cfi_builder **ret_builder)
{
	struct mt_cfi_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return -ENOMEM;
	builder->cfi = calloc(1, sizeof(*builder->cfi));
	if (!builder->cfi)
		goto out_free;
	if (GROW(&builder->cfi->sets, &builder->sets_cap, 1) ||
	    GROW(&builder->first_rule, &builder->first_cap, 1))
		goto out_free;
	/* MT_CFI_NO_SET */
	memset(&builder->cfi->sets[0], 0, sizeof(builder->cfi->sets[0]));
	builder->first_rule[0] = 0;
	builder->cfi->n_sets = 1;
	*ret_builder = builder;
	return 0;

out_free:
	mt_cfi_builder_free(builder);
	return -ENOMEM;
}

void mt_cfi_builder_free(struct mt_cfi_builder *builder)
{
	if (!builder)
		return;
	mt_cfi_free(builder->cfi);
	free(builder->first_rule);
	slots_release(&builder->set_slots);
	slots_release(&builder->expr_slots);
	free(builder);
}

static int add_expr(struct mt_cfi_builder *builder, const uint8_t *ops, size_t len)
{
	struct mt_cfi *cfi = builder->cfi;

	if (cfi->n_exprs == MT_CFI_EXPRS_MAX || len > MT_CFI_EXPR_LEN_MAX ||
	    len > MT_CFI_EXPR_BYTES_MAX - cfi->n_ops)
		return -MT_E_LIMIT;
	if (GROW(&cfi->exprs, &builder->exprs_cap, cfi->n_exprs + 1) ||
	    GROW(&cfi->ops, &builder->ops_cap, cfi->n_ops + len + 1))
		return -ENOMEM;
	if (len)
		memcpy(cfi->ops + cfi->n_ops, ops, len);
	cfi->exprs[cfi->n_exprs].first = (uint32_t)cfi->n_ops;
	cfi->exprs[cfi->n_exprs].len = (uint32_t)len;
	cfi->n_ops += len;
	cfi->n_exprs++;
	return 0;
}

int mt_cfi_intern_expr(struct mt_cfi_builder *builder, const uint8_t *ops, size_t len,
		       int32_t *ret_index)
{
	struct mt_cfi *cfi = builder->cfi;
	struct slots *slots = &builder->expr_slots;
	uint64_t hash = len;
	struct mt_cfi_expr have;
	size_t at;
	size_t i;
	int err;

	if (len > MT_CFI_EXPR_LEN_MAX)
		return -MT_E_LIMIT;
	for (i = 0; i < len; i++)
		hash = mix(hash ^ ops[i]);
	if (slots->used * 2 >= slots->cap) {
		err = slots_grow(slots);
		if (err)
			return err;
	}

	builder->work += len;
	at = (uint32_t)hash & (slots->cap - 1);
	for (; slots->index[at]; at = (at + 1) & (slots->cap - 1)) {
		builder->work++;
		if (slots->hash[at] != (uint32_t)hash)
			continue;
		have = mt_cfi_expr(cfi, (int32_t)slots->index[at] - 1);
		if (have.len == len && (!len || !memcmp(have.ops, ops, len))) {
			*ret_index = (int32_t)slots->index[at] - 1;
			return 0;
		}
		builder->work += len;
	}

	err = add_expr(builder, ops, len);
	if (err)
		return err;
	slots->index[at] = (uint32_t)cfi->n_exprs;
	slots->hash[at] = (uint32_t)hash;
	slots->used++;
	*ret_index = (int32_t)cfi->n_exprs - 1;
	return 0;
}

static uint8_t state_flags(const struct mt_cfi_state *state)
{
	uint8_t flags = 0;
	bool plain = !state->cfa_expr && !state->signal;
	const struct mt_cfi_rule *rule;
	uint64_t left;

	if (state->signal)
		flags |= MT_CFI_SIGNAL;
	if (state->cfa_expr)
		flags |= MT_CFI_CFA_EXPR;
	if (state->rules_set >> state->ra & 1) {
		flags |= MT_CFI_RETURNS;
		if (state->rules[state->ra].kind == MT_RULE_UNDEFINED)
			flags |= MT_CFI_END;
	}
	for (left = state->rules_set; left; left &= left - 1) {
		rule = &state->rules[__builtin_ctzll(left)];
		plain &= rule->kind == MT_RULE_OFFSET && rule->value <= INT32_MAX - 8;
	}
	return plain ? flags | MT_CFI_PLAIN : flags;
}

static bool same_rules(const struct mt_cfi_builder *builder, uint32_t set,
		       const struct mt_cfi_state *state, uint8_t flags)
{
	const struct mt_cfi_rules *have = &builder->cfi->sets[set];
	const struct mt_cfi_rule *rule;
	const struct mt_cfi_rule *want;
	uint64_t left;

	if (have->cfa_reg != state->cfa_reg || have->cfa_value != state->cfa_value ||
	    have->ra != state->ra || have->flags != flags ||
	    have->n_rules != __builtin_popcountll(state->rules_set))
		return false;
	if (!have->n_rules)
		return true;
	rule = builder->cfi->rules + builder->first_rule[set];
	for (left = state->rules_set; left; left &= left - 1, rule++) {
		want = &state->rules[__builtin_ctzll(left)];
		if (rule->reg != want->reg || rule->kind != want->kind ||
		    rule->value != want->value)
			return false;
	}
	return true;
}

static int add_rules(struct mt_cfi_builder *builder, const struct mt_cfi_state *state,
		     uint8_t flags)
{
	struct mt_cfi *cfi = builder->cfi;
	unsigned int n = (unsigned int)__builtin_popcountll(state->rules_set);
	struct mt_cfi_rules *set;
	struct mt_cfi_rule *rule;
	uint64_t left;

	if (cfi->n_sets == MT_CFI_SETS_MAX || n > MT_CFI_RULES_MAX - cfi->n_rules)
		return -MT_E_LIMIT;
	if (GROW(&cfi->sets, &builder->sets_cap, cfi->n_sets + 1) ||
	    GROW(&builder->first_rule, &builder->first_cap, cfi->n_sets + 1) ||
	    GROW(&cfi->rules, &builder->rules_cap, cfi->n_rules + n))
		return -ENOMEM;

	set = &cfi->sets[cfi->n_sets];
	memset(set, 0, sizeof(*set));
	set->cfa_value = state->cfa_value;
	set->cfa_reg = state->cfa_reg;
	set->ra = state->ra;
	set->n_rules = (uint8_t)n;
	set->flags = flags;
	builder->first_rule[cfi->n_sets] = (uint32_t)cfi->n_rules;
	for (left = state->rules_set; left; left &= left - 1) {
		rule = &cfi->rules[cfi->n_rules++];
		*rule = state->rules[__builtin_ctzll(left)];
		if (!(flags & MT_CFI_PLAIN))
			continue;
		if (rule->value < set->low)
			set->low = rule->value;
		if (rule->value + 8 > set->high)
			set->high = rule->value + 8;
	}
	cfi->n_sets++;
	return 0;
}

int mt_cfi_intern_rules(struct mt_cfi_builder *builder, const struct mt_cfi_state *state,
			uint32_t *ret_set)
{
	struct slots *slots = &builder->set_slots;
	uint8_t flags = state_flags(state);
	uint64_t hash;
	size_t at;
	int err;

	hash = mix((uint64_t)(uint32_t)state->cfa_value << 32 | (uint32_t)state->cfa_reg << 16 |
		   (uint32_t)state->ra << 8 | flags);
	hash = mix(hash + state->rules_hash);
	if (slots->used * 2 >= slots->cap) {
		err = slots_grow(slots);
		if (err)
			return err;
	}

	at = (uint32_t)hash & (slots->cap - 1);
	for (; slots->index[at]; at = (at + 1) & (slots->cap - 1)) {
		builder->work++;
		if (slots->hash[at] == (uint32_t)hash &&
		    same_rules(builder, slots->index[at], state, flags)) {
			*ret_set = slots->index[at];
			return 0;
		}
	}

	err = add_rules(builder, state, flags);
	if (err)
		return err;
	slots->index[at] = (uint32_t)builder->cfi->n_sets - 1;
	slots->hash[at] = (uint32_t)hash;
	slots->used++;
	*ret_set = slots->index[at];
	return 0;
}

int mt_cfi_add_row(struct mt_cfi_builder *builder, uint64_t svma, uint32_t set)
{
	struct mt_cfi *cfi = builder->cfi;
	size_t pcs_cap = builder->rows_cap;

	if (!cfi->n_rows)
		cfi->base = svma;
	if (svma - cfi->base > UINT32_MAX)
		return -MT_E_LIMIT;
	if (cfi->n_rows && cfi->base + cfi->pcs[cfi->n_rows - 1] == svma) {
		cfi->row_sets[cfi->n_rows - 1] = set;
		return 0;
	}
	/* A row that changes nothing, such as one that only notes the arguments' size. */
	if (cfi->n_rows && cfi->row_sets[cfi->n_rows - 1] == set)
		return 0;
	if (GROW(&cfi->pcs, &pcs_cap, cfi->n_rows + 1) ||
	    GROW(&cfi->row_sets, &builder->rows_cap, cfi->n_rows + 1))
		return -ENOMEM;
	cfi->pcs[cfi->n_rows] = (uint32_t)(svma - cfi->base);
	cfi->row_sets[cfi->n_rows] = set;
	cfi->n_rows++;
	return 0;
}

size_t mt_cfi_builder_rows(const struct mt_cfi_builder *builder)
{
	return builder->cfi->n_rows;
}

void mt_cfi_builder_cut(struct mt_cfi_builder *builder, size_t count)
{
	if (count < builder->cfi->n_rows)
		builder->cfi->n_rows = count;
}

uint64_t mt_cfi_builder_work(const struct mt_cfi_builder *builder)
{
	return builder->work;
}

/* Give back what growing reserved too much. */
static void shrink(void **array, size_t n, size_t size)
{
	void *smaller = n ? reallocarray(*array, n, size) : NULL;

	if (smaller)
		*array = smaller;
}

int mt_cfi_builder_finish(struct mt_cfi_builder *builder, uint64_t entry, size_t entries,
			  size_t damaged, struct mt_cfi **ret_cfi)
{
	struct mt_cfi *cfi = builder->cfi;
	size_t i;
	int err;

	shrink((void **)&cfi->pcs, cfi->n_rows, sizeof(*cfi->pcs));
	shrink((void **)&cfi->row_sets, cfi->n_rows, sizeof(*cfi->row_sets));
	for (i = 0; i < cfi->n_sets; i++)
		cfi->sets[i].list = cfi->sets[i].n_rules ? cfi->rules + builder->first_rule[i] :
							   NULL;
	cfi->entry = entry;
	cfi->n_entries = entries;
	cfi->n_damaged = damaged;
	err = mt_cfi_table_index(cfi);
	if (err)
		return err;
	builder->cfi = NULL;
	*ret_cfi = cfi;
	return 0;
}
