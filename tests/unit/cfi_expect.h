/*
 * tests/unit/cfi_expect.h - what the unwind rows of one section must be.
 */
#ifndef CFI_EXPECT_H
#define CFI_EXPECT_H

#include <inttypes.h>

#include "common/error.h"
#include "tests/unit/cfi_fixture.h"

static struct cfi_section section;
static struct mt_cfi *cfi;

static inline void setup(void)
{
	memset(&section, 0, sizeof(section));
	cfi = NULL;
}

static inline void teardown(void)
{
	mt_cfi_free(cfi);
}

static inline const struct mt_cfi_rule *rule_at(uint64_t svma, unsigned int reg)
{
	const struct mt_cfi_rules *rules = mt_cfi_find(cfi, svma);
	unsigned int i;

	cr_assert_not_null(rules, "nothing at 0x%" PRIx64, svma);
	for (i = 0; i < rules->n_rules; i++)
		if (rules->list[i].reg == reg)
			return &rules->list[i];
	return NULL;
}

static inline void expect_cfa(uint64_t svma, unsigned int reg, int offset)
{
	const struct mt_cfi_rules *rules = mt_cfi_find(cfi, svma);

	cr_assert_not_null(rules, "nothing at 0x%" PRIx64, svma);
	cr_expect_eq(rules->flags & MT_CFI_CFA_EXPR, 0);
	cr_expect_eq(rules->cfa_reg, reg, "r%u at 0x%" PRIx64, rules->cfa_reg, svma);
	cr_expect_eq(rules->cfa_value, offset, "%d at 0x%" PRIx64, rules->cfa_value, svma);
}

static inline void expect_rule(uint64_t svma, unsigned int reg, enum mt_cfi_rule_kind kind,
			       int value)
{
	const struct mt_cfi_rule *rule = rule_at(svma, reg);

	cr_assert_not_null(rule, "r%u at 0x%" PRIx64 " has no rule", reg, svma);
	cr_expect_eq(rule->kind, kind, "r%u: kind %u", reg, rule->kind);
	cr_expect_eq(rule->value, value, "r%u: %d", reg, rule->value);
}

static inline void expect_same(uint64_t svma, unsigned int reg)
{
	cr_expect_null(rule_at(svma, reg), "r%u at 0x%" PRIx64 " has a rule", reg, svma);
}

#endif
