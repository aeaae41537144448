#include "report/cfi_cache.h"

#include "common/error.h"
#include "report/cache.h"
#include "report/cfi_rows.h"
#include "report/cfi_table.h"

#include <errno.h>

#define ROWS_MAX (1u << 26)

/* As this machine has numbers: an entry of another machine's does not get here. */
struct head {
	uint64_t base, entry, n_entries, n_damaged;
	uint32_t n_rows, n_sets, n_rules, n_exprs, n_ops;
	uint32_t zero;
};

struct set {
	int32_t cfa_value;
	uint8_t cfa_reg, ra, n_rules, flags;
};

struct rule {
	uint8_t reg, kind, zero[2];
	int32_t value;
};

struct expr {
	uint32_t first, len;
};

static int put_sets(const struct mt_cfi *cfi, struct mt_buf *buf)
{
	const struct mt_cfi_rules *from;
	struct set set;
	size_t i;
	int err = 0;

	for (i = 0; i < cfi->n_sets && !err; i++) {
		from = &cfi->sets[i];
		set = (struct set){
			.cfa_value = from->cfa_value, .cfa_reg = from->cfa_reg, .ra = from->ra,
			.n_rules = from->n_rules, .flags = from->flags,
		};
		err = mt_buf_append(buf, &set, sizeof(set));
	}
	return err;
}

static int put_rules(const struct mt_cfi *cfi, struct mt_buf *buf)
{
	struct rule rule;
	size_t i;
	int err = 0;

	for (i = 0; i < cfi->n_rules && !err; i++) {
		rule = (struct rule){
			.reg = cfi->rules[i].reg, .kind = cfi->rules[i].kind,
			.value = cfi->rules[i].value,
		};
		err = mt_buf_append(buf, &rule, sizeof(rule));
	}
	return err;
}

int mt_cfi_write(const struct mt_cfi *cfi, struct mt_buf *buf)
{
	struct head head = {
		.base = cfi->base, .entry = cfi->entry, .n_entries = cfi->n_entries,
		.n_damaged = cfi->n_damaged, .n_rows = (uint32_t)cfi->n_rows,
		.n_sets = (uint32_t)cfi->n_sets, .n_rules = (uint32_t)cfi->n_rules,
		.n_exprs = (uint32_t)cfi->n_exprs, .n_ops = (uint32_t)cfi->n_ops,
	};
	struct expr expr;
	size_t i;
	int err;

	err = mt_buf_append(buf, &head, sizeof(head));
	if (!err)
		err = mt_buf_append(buf, cfi->pcs, cfi->n_rows * sizeof(*cfi->pcs));
	if (!err)
		err = mt_buf_append(buf, cfi->row_sets, cfi->n_rows * sizeof(*cfi->row_sets));
	if (!err)
		err = put_sets(cfi, buf);
	if (!err)
		err = put_rules(cfi, buf);
	for (i = 0; i < cfi->n_exprs && !err; i++) {
		expr = (struct expr){ cfi->exprs[i].first, cfi->exprs[i].len };
		err = mt_buf_append(buf, &expr, sizeof(expr));
	}
	return err ? err : mt_buf_append(buf, cfi->ops, cfi->n_ops);
}

/* What is left to read. */
struct input {
	const uint8_t *at;
	size_t left;
};

/* n things of size bytes, copied; one more than none is allocated. */
static int take(struct input *in, size_t n, size_t size, void *ret_array)
{
	void *array;

	if (n > in->left / size)
		return -MT_E_CORRUPT;
	array = malloc(n * size + 1);
	if (!array)
		return -ENOMEM;
	memcpy(array, in->at, n * size);
	in->at += n * size;
	in->left -= n * size;
	memcpy(ret_array, &array, sizeof(array));
	return 0;
}

static bool is_register(int64_t value)
{
	return value >= 0 && value < MT_REGS_MAX;
}

static bool rule_fits(const struct mt_cfi *cfi, const struct mt_cfi_rule *rule)
{
	switch (rule->kind) {
	case MT_RULE_UNDEFINED:
	case MT_RULE_OFFSET:
	case MT_RULE_VAL_OFFSET:
		return true;
	case MT_RULE_REGISTER:
		return is_register(rule->value);
	case MT_RULE_EXPR:
	case MT_RULE_VAL_EXPR:
		return rule->value >= 0 && (size_t)rule->value < cfi->n_exprs;
	}
	return false;
}

/* Rules by register, each once, and the flags that they make. */
static bool set_fits(const struct mt_cfi *cfi, struct mt_cfi_rules *set)
{
	uint8_t flags = set->flags & (MT_CFI_SIGNAL | MT_CFI_CFA_EXPR);
	const struct mt_cfi_rule *rule;
	bool plain = !flags;
	unsigned int i;

	if (!is_register(set->cfa_reg) || !is_register(set->ra) ||
	    (set->flags & MT_CFI_CFA_EXPR &&
	     (set->cfa_value < 0 || (size_t)set->cfa_value >= cfi->n_exprs)))
		return false;
	for (i = 0; i < set->n_rules; i++) {
		rule = &set->list[i];
		if (!is_register(rule->reg) || (i && rule[-1].reg >= rule->reg) ||
		    !rule_fits(cfi, rule))
			return false;
		if (rule->reg == set->ra)
			flags |= rule->kind == MT_RULE_UNDEFINED ? MT_CFI_RETURNS | MT_CFI_END :
								   MT_CFI_RETURNS;
		plain &= rule->kind == MT_RULE_OFFSET && rule->value <= INT32_MAX - 8;
	}
	if (plain)
		flags |= MT_CFI_PLAIN;
	for (i = 0; plain && i < set->n_rules; i++) {
		rule = &set->list[i];
		set->low = rule->value < set->low ? rule->value : set->low;
		set->high = rule->value + 8 > set->high ? rule->value + 8 : set->high;
	}
	return flags == set->flags;
}

static int read_exprs(struct mt_cfi *cfi, struct input *in, const struct head *head)
{
	struct expr *exprs;
	size_t i;
	int err = take(in, head->n_exprs, sizeof(*exprs), &exprs);

	if (err)
		return err;
	cfi->exprs = calloc((size_t)head->n_exprs + 1, sizeof(*cfi->exprs));
	if (!cfi->exprs)
		err = -ENOMEM;
	for (i = 0; !err && i < head->n_exprs; i++) {
		if (exprs[i].len > MT_CFI_EXPR_LEN_MAX || exprs[i].first > head->n_ops ||
		    exprs[i].len > head->n_ops - exprs[i].first)
			err = -MT_E_CORRUPT;
		cfi->exprs[i].first = exprs[i].first;
		cfi->exprs[i].len = exprs[i].len;
	}
	free(exprs);
	cfi->n_exprs = err ? 0 : head->n_exprs;
	return err;
}

static int read_rules(struct mt_cfi *cfi, const struct rule *rules, size_t n)
{
	size_t i;

	cfi->rules = calloc(n + 1, sizeof(*cfi->rules));
	if (!cfi->rules)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		cfi->rules[i] = (struct mt_cfi_rule){
			.reg = rules[i].reg, .kind = rules[i].kind, .value = rules[i].value,
		};
	cfi->n_rules = n;
	return 0;
}

/* With rules and expressions there, the sets made of them. */
static int read_sets(struct mt_cfi *cfi, const struct set *sets, size_t n)
{
	struct mt_cfi_rules *set;
	size_t i, rule = 0;

	cfi->sets = calloc(n, sizeof(*cfi->sets));
	if (!cfi->sets)
		return -ENOMEM;
	cfi->n_sets = n;
	for (i = 0; i < n; i++) {
		set = &cfi->sets[i];
		set->cfa_value = sets[i].cfa_value;
		set->cfa_reg = sets[i].cfa_reg;
		set->ra = sets[i].ra;
		set->n_rules = sets[i].n_rules;
		set->flags = sets[i].flags;
		if (set->n_rules > cfi->n_rules - rule)
			return -MT_E_CORRUPT;
		set->list = set->n_rules ? cfi->rules + rule : NULL;
		rule += set->n_rules;
		/* The first one stands for a gap. */
		if (i ? !set_fits(cfi, set) : set->n_rules || set->flags)
			return -MT_E_CORRUPT;
	}
	return rule == cfi->n_rules ? 0 : -MT_E_CORRUPT;
}

static bool rows_fit(const struct mt_cfi *cfi)
{
	size_t i;

	for (i = 0; i < cfi->n_rows; i++) {
		if (i ? cfi->pcs[i] <= cfi->pcs[i - 1] : cfi->pcs[0] != 0)
			return false;
		if (cfi->row_sets[i] >= cfi->n_sets)
			return false;
	}
	return true;
}

static int read_arrays(struct mt_cfi *cfi, struct input *in, const struct head *head)
{
	struct rule *rules = NULL;
	struct set *sets = NULL;
	int err;

	err = take(in, head->n_rows, sizeof(*cfi->pcs), &cfi->pcs);
	if (!err)
		err = take(in, head->n_rows, sizeof(*cfi->row_sets), &cfi->row_sets);
	if (!err)
		err = take(in, head->n_sets, sizeof(*sets), &sets);
	if (!err)
		err = take(in, head->n_rules, sizeof(*rules), &rules);
	if (!err)
		err = read_exprs(cfi, in, head);
	if (!err && in->left != head->n_ops)
		err = -MT_E_CORRUPT;
	if (!err)
		err = take(in, head->n_ops, 1, &cfi->ops);
	if (err)
		goto out_free;
	cfi->n_ops = head->n_ops;
	err = read_rules(cfi, rules, head->n_rules);
	if (!err)
		err = read_sets(cfi, sets, head->n_sets);
	cfi->n_rows = head->n_rows;
	if (!err && !rows_fit(cfi))
		err = -MT_E_CORRUPT;

out_free:
	free(rules);
	free(sets);
	return err;
}

int mt_cfi_read(const void *bytes, size_t len, struct mt_cfi **ret_cfi)
{
	struct input in = { bytes, len };
	struct mt_cfi *cfi;
	struct head head;
	int err;

	if (len < sizeof(head))
		return -MT_E_CORRUPT;
	memcpy(&head, in.at, sizeof(head));
	in.at += sizeof(head);
	in.left -= sizeof(head);
	if (head.n_rows > ROWS_MAX || head.n_sets > MT_CFI_SETS_MAX ||
	    head.n_rules > MT_CFI_RULES_MAX || head.n_exprs > MT_CFI_EXPRS_MAX ||
	    head.n_ops > MT_CFI_EXPR_BYTES_MAX)
		return -MT_E_LIMIT;
	if (!head.n_sets || head.zero)
		return -MT_E_CORRUPT;
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->base = head.base;
	cfi->entry = head.entry;
	cfi->n_entries = (size_t)head.n_entries;
	cfi->n_damaged = (size_t)head.n_damaged;
	err = read_arrays(cfi, &in, &head);
	if (!err)
		err = mt_cfi_table_index(cfi);
	if (err) {
		mt_cfi_free(cfi);
		return err;
	}
	*ret_cfi = cfi;
	return 0;
}

int mt_cfi_load(struct mt_module *module, struct mt_cache *cache, struct mt_cfi **ret_cfi)
{
	struct mt_buf buf;
	struct mt_cfi *cfi;
	bool found = false;
	int err;

	mt_buf_init(&buf);
	if (mt_cache_get(cache, MT_CACHE_CFI, module, &buf)) {
		found = !mt_cfi_read(buf.data, buf.len, &cfi);
		mt_cache_judge(cache, found);
	}
	err = found ? 0 : mt_cfi_compile(module, &cfi);
	if (!err && !found && cache) {
		mt_buf_reset(&buf);
		if (!mt_cfi_write(cfi, &buf))
			mt_cache_put(cache, MT_CACHE_CFI, module, buf.data, buf.len);
	}
	mt_buf_release(&buf);
	if (!err)
		*ret_cfi = cfi;
	return err;
}
