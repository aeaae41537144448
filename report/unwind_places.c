/* What is known of the code at an address: found once, and summed up for the most frequent step. */
#include "report/unwind_places.h"

#include "report/session.h"

#define SPAN_MAX 0xff

/*
 * Can its caller be found with sp and fp alone? All it takes must then be near the CFA, and
 * no register but those two and the pc must be of any consequence.
 */
static void sum_up(const struct mt_unwind_arch *arch, struct mt_unwind_place *place)
{
	const struct mt_cfi_rules *rules = place->rules;
	int64_t ra = -1, fp = -1, at;
	unsigned int i;

	if (rules->flags & MT_CFI_END) {
		place->how = MT_HOW_END;
		return;
	}
	if (!(rules->flags & MT_CFI_PLAIN) || rules->low < INT16_MIN ||
	    (int64_t)rules->high - rules->low > SPAN_MAX || rules->ra == arch->fp ||
	    (rules->cfa_reg != arch->sp && rules->cfa_reg != arch->fp))
		return;
	for (i = 0; i < rules->n_rules; i++) {
		at = (int64_t)rules->list[i].value - rules->low;
		if (rules->list[i].reg == rules->ra)
			ra = at;
		else if (rules->list[i].reg == arch->fp)
			fp = at;
	}
	/* A return address that no call has saved is a matter for the rules. */
	if (ra < 0)
		return;
	place->how = rules->cfa_reg == arch->sp ? MT_HOW_FROM_SP : MT_HOW_FROM_FP;
	place->cfa_value = rules->cfa_value;
	place->low = (int16_t)rules->low;
	place->slots.span = (uint8_t)(rules->high - rules->low);
	place->slots.ra = (uint8_t)ra;
	place->slots.fp = (uint8_t)(fp < 0 ? ra : fp);
	place->slots.same_fp = fp < 0 ? -1 : 0;
}

/* Into the last place. false: it must not be kept. */
static bool find_place(struct mt_unwind_places *places, const struct mt_stack *stack, uint64_t addr)
{
	struct mt_unwind_place *place = &places->cache[MT_UNWIND_CACHE_PLACES];
	struct mt_unwind_code code = { 0 };

	*place = (struct mt_unwind_place){ .addr = addr, .process = stack->process,
					    .how = MT_HOW_SEE_RULES };
	place->mapped = places->find(places->arg, stack, addr, &code);
	if (!place->mapped)
		code = (struct mt_unwind_code){ .placement = MT_NONE };
	place->placement = code.placement;
	place->jit = code.jit;
	place->from = code.from;
	place->until = code.until;
	places->origins[MT_UNWIND_CACHE_PLACES] = (struct mt_unwind_origin){ code.cfi, code.bias };
	if (code.cfi)
		place->rules = mt_cfi_find(code.cfi, addr - code.bias);
	if (place->rules)
		sum_up(places->arch, place);
	return code.from < code.until;
}

const struct mt_unwind_place *mt_unwind_look_further(struct mt_unwind_places *places,
						     const struct mt_stack *stack, uint64_t addr,
						     struct mt_unwind_place *set)
{
	size_t at = (size_t)(set - places->cache);

	if (mt_unwind_is_of(&set[1], stack, addr))
		return &set[1];
	if (!find_place(places, stack, addr))
		return &places->cache[MT_UNWIND_CACHE_PLACES];
	set[1] = set[0];
	set[0] = places->cache[MT_UNWIND_CACHE_PLACES];
	places->origins[at + 1] = places->origins[at];
	places->origins[at] = places->origins[MT_UNWIND_CACHE_PLACES];
	return &set[0];
}
