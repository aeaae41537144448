/*
 * report/unwind_places.h - what is known of the code at addresses, kept for the next stacks;
 * private to the unwind*.c files.
 */
#ifndef MT_UNWIND_PLACES_H
#define MT_UNWIND_PLACES_H

#include "report/pages.h"
#include "report/unwind_state.h"

#define MT_UNWIND_CACHE_SETS 8192u	/* power of two */
#define MT_UNWIND_CACHE_PLACES (2 * MT_UNWIND_CACHE_SETS)

enum mt_unwind_how {
	/* Everything is at a small distance to the CFA, and that is this register and a number. */
	MT_HOW_FROM_SP = 0,
	MT_HOW_FROM_FP = 1,
	MT_HOW_END,		/* there is no caller */
	MT_HOW_SEE_RULES,	/* as they say, if there are any */
};

/* Where the caller's pc and fp are in what is read; in four bytes, which go at once. */
struct mt_unwind_slots {
	uint8_t ra, fp;
	int8_t same_fp;		/* -1: the caller's fp is the same, and fp is as ra; else 0 */
	uint8_t span;		/* how much is read */
};

/*
 * What is known of the code at an address, for the stacks of one process from code.from to
 * code.until: what stepping to its caller takes most often, in one cache line. The rest is needed
 * seldom, and lies elsewhere.
 */
struct mt_unwind_place {
	uint64_t addr;
	uint64_t from, until;
	const struct mt_cfi_rules *rules;	/* NULL: no unwind information */
	uint32_t process;
	uint32_t placement;
	uint32_t jit;
	/* If plain: the CFA, where what is read around it begins, and what is there. */
	int32_t cfa_value;
	struct mt_unwind_slots slots;
	int16_t low;
	uint8_t how;		/* enum mt_unwind_how */
	bool mapped;
} __attribute__((aligned(MT_CACHE_LINE)));

_Static_assert(sizeof(struct mt_unwind_place) == MT_CACHE_LINE, "a cache line");

/* What else is known of it. */
struct mt_unwind_origin {
	const struct mt_cfi *cfi;
	uint64_t bias;
};

struct mt_unwind_places {
	const struct mt_unwind_arch *arch;
	mt_unwind_find_fn find;
	void *arg;
	/* In sets of two, the last one found anew first; behind them what is not to be kept. */
	struct mt_unwind_place cache[MT_UNWIND_CACHE_PLACES + 1];
	struct mt_unwind_origin origins[MT_UNWIND_CACHE_PLACES + 1];
};

static inline const struct mt_unwind_origin *
mt_unwind_origin_of(const struct mt_unwind_places *places, const struct mt_unwind_place *place)
{
	return &places->origins[place - places->cache];
}

static inline struct mt_unwind_place *
mt_unwind_set_of(struct mt_unwind_places *places, const struct mt_stack *stack, uint64_t addr)
{
	uint64_t hash = (addr ^ (uint64_t)stack->process << 40) * 0x9e3779b97f4a7c15u;

	return &places->cache[(hash >> 32) % MT_UNWIND_CACHE_SETS * 2];
}

static inline bool mt_unwind_is_of(const struct mt_unwind_place *place,
				   const struct mt_stack *stack, uint64_t addr)
{
	return place->addr == addr && place->process == stack->process &&
	       stack->time >= place->from && stack->time < place->until;
}

/* What is not in the set's first place. */
const struct mt_unwind_place *mt_unwind_look_further(struct mt_unwind_places *places,
						     const struct mt_stack *stack, uint64_t addr,
						     struct mt_unwind_place *set);

/* In the set of the address. Valid until the next call. */
static inline const struct mt_unwind_place *
mt_unwind_look_into(struct mt_unwind_places *places, struct mt_unwind_place *set,
		    const struct mt_stack *stack, uint64_t addr)
{
	return mt_unwind_is_of(&set[0], stack, addr) ? &set[0] :
			mt_unwind_look_further(places, stack, addr, set);
}

static inline const struct mt_unwind_place *
mt_unwind_look_up(struct mt_unwind_places *places, const struct mt_stack *stack, uint64_t addr)
{
	return mt_unwind_look_into(places, mt_unwind_set_of(places, stack, addr), stack, addr);
}

#endif
