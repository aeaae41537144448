/* Call frames of captured stacks. */
#include "report/unwind.h"

#include <errno.h>

#include "report/session.h"
#include "report/unwind_state.h"

#define CACHE_SETS 8192	/* power of two */
#define CACHE_LINE 64

/*
 * What is known of the code at an address, for the stacks of one process from code.from to
 * code.until. A cache line each: there are more than a core's nearest cache holds.
 */
struct place {
	uint64_t addr;
	struct mt_unwind_code code;
	const struct mt_cfi_rules *rules;	/* NULL: no unwind information */
	uint32_t process;
	bool mapped;
} __attribute__((aligned(CACHE_LINE)));

_Static_assert(sizeof(struct place) == CACHE_LINE, "a cache line");

struct mt_unwinder {
	const struct mt_unwind_arch *arch;
	uint64_t code_mask;
	mt_unwind_find_fn find;
	void *arg;
	size_t n;
	struct mt_frame frames[MT_UNWIND_FRAMES_MAX];
	struct place cache[CACHE_SETS][2];	/* of a set, the last one found anew first */
	struct place unkept;	/* the last answer that was not to be kept */
};

static const struct mt_unwind_arch archs[] = {
	{ .name = "x86_64", .n_regs = 17, .pc = 16, .sp = 7, .fp = 6, .lr = MT_UNWIND_NO_LR },
	{ .name = "aarch64", .n_regs = 33, .pc = 32, .sp = 31, .fp = 29, .lr = 30 },
};

static const char *const end_ids[] = {
#define X(name, id, text) [MT_UNWIND_##name] = id,
	MT_UNWIND_ENDS(X)
#undef X
};

static const char *const end_texts[] = {
#define X(name, id, text) [MT_UNWIND_##name] = text,
	MT_UNWIND_ENDS(X)
#undef X
};

const char *mt_unwind_end_id(enum mt_unwind_end end)
{
	return (unsigned int)end < MT_UNWIND_END_KINDS ? end_ids[end] : "unknown";
}

const char *mt_unwind_end_text(enum mt_unwind_end end)
{
	return (unsigned int)end < MT_UNWIND_END_KINDS ? end_texts[end] : "unknown";
}

int mt_unwinder_new(const char *arch, uint64_t code_mask, mt_unwind_find_fn find, void *arg,
		    struct mt_unwinder **ret_unwinder)
{
	struct mt_unwinder *unwinder;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(archs); i++)
		if (!strcmp(arch, archs[i].name))
			break;
	if (i == MT_ARRAY_SIZE(archs))
		return -EOPNOTSUPP;
	unwinder = aligned_alloc(CACHE_LINE, sizeof(*unwinder));
	if (!unwinder)
		return -ENOMEM;
	memset(unwinder, 0, sizeof(*unwinder));
	unwinder->arch = &archs[i];
	unwinder->code_mask = code_mask;
	unwinder->find = find;
	unwinder->arg = arg;
	*ret_unwinder = unwinder;
	return 0;
}

void mt_unwinder_free(struct mt_unwinder *unwinder)
{
	free(unwinder);
}

static struct place *set_of(struct mt_unwinder *unwinder, const struct mt_stack *stack,
			    uint64_t addr)
{
	uint64_t hash = (addr ^ (uint64_t)stack->process << 40) * 0x9e3779b97f4a7c15u;

	return unwinder->cache[(hash >> 32) % CACHE_SETS];
}

static bool is_of(const struct place *place, const struct mt_stack *stack, uint64_t addr)
{
	return place->addr == addr && place->process == stack->process &&
	       stack->time >= place->code.from && stack->time < place->code.until;
}

static void find_place(struct mt_unwinder *unwinder, const struct mt_stack *stack, uint64_t addr,
		       struct place *place)
{
	*place = (struct place){ .addr = addr, .process = stack->process };
	place->mapped = unwinder->find(unwinder->arg, stack, addr, &place->code);
	if (!place->mapped) {
		memset(&place->code, 0, sizeof(place->code));
		place->code.placement = MT_NONE;
	}
	if (place->code.cfi)
		place->rules = mt_cfi_find(place->code.cfi, addr - place->code.bias);
}

/* Valid until the next call. */
static const struct place *look_up(struct mt_unwinder *unwinder, const struct mt_stack *stack,
				   uint64_t addr)
{
	struct place *set = set_of(unwinder, stack, addr);

	if (is_of(&set[0], stack, addr))
		return &set[0];
	if (is_of(&set[1], stack, addr))
		return &set[1];
	find_place(unwinder, stack, addr, &unwinder->unkept);
	if (unwinder->unkept.code.from >= unwinder->unkept.code.until)
		return &unwinder->unkept;
	set[1] = set[0];
	set[0] = unwinder->unkept;
	return &set[0];
}

static bool is_code(struct mt_unwinder *unwinder, const struct mt_stack *stack, uint64_t pc)
{
	return look_up(unwinder, stack, pc - 1)->mapped;
}

/*
 * Is there a frame record? Its caller may use the frame pointer for something else, so that
 * the chain ends here; then it must be code that can be unwound without.
 */
static bool has_record(struct mt_unwinder *unwinder, const struct mt_unwind_state *state,
		       enum mt_unwind_end *ret_end)
{
	const struct place *place;
	uint64_t pc;
	bool linked;

	if (!mt_unwind_peek_fp(state, &pc, &linked, ret_end))
		return false;
	place = look_up(unwinder, state->stack, pc - 1);
	return place->mapped && (linked || place->rules);
}

static void add_frame(struct mt_unwinder *unwinder, uint64_t pc, bool exact,
		      enum mt_frame_source source, const struct place *place)
{
	struct mt_frame *frame = &unwinder->frames[unwinder->n++];

	frame->pc = pc;
	frame->placement = place->code.placement;
	frame->jit = place->code.jit;
	frame->source = (uint8_t)source;
	frame->exact = exact;
}

/*
 * Is this the first code of the program, which was not called? It says so by what it is,
 * the code at the file's entry point, or by the convention that outermost code clears the frame
 * pointer; and it must have nothing but the program's arguments above it.
 */
static bool is_first_frame(const struct mt_unwind_state *state, const struct place *place,
			   uint64_t addr)
{
	uint8_t fp = state->arch->fp;
	bool entry = place->code.cfi &&
		     mt_cfi_is_entry(place->code.cfi, addr - place->code.bias);

	if (!entry && !((state->known >> fp & 1) && state->regs[fp] == 0))
		return false;
	return mt_unwind_at_arguments(state);
}

/* Find the caller of code that has no unwind information. */
static bool step_without_cfi(struct mt_unwinder *unwinder, struct mt_unwind_state *state,
			     const struct place *place, enum mt_frame_source *ret_source,
			     enum mt_unwind_end *ret_end)
{
	const struct mt_stack *stack = state->stack;
	bool mapped = place->mapped;	/* place does not outlive a look-up */
	enum mt_unwind_end end;
	uint64_t pc;

	if (mapped && is_first_frame(state, place, state->pc - !state->exact)) {
		*ret_end = MT_UNWIND_COMPLETE;
		return false;
	}
	if (state->exact && mt_unwind_peek_leaf(state, &pc) && is_code(unwinder, stack, pc)) {
		mt_unwind_step_leaf(state);
		*ret_source = MT_FRAME_LEAF;
		return true;
	}
	if (has_record(unwinder, state, &end)) {
		mt_unwind_step_fp(state);
		*ret_source = MT_FRAME_FP;
		return true;
	}
	if (end == MT_UNWIND_TRUNCATED || end == MT_UNWIND_UNREADABLE)
		*ret_end = end;
	else
		*ret_end = mapped ? MT_UNWIND_NO_CFI : MT_UNWIND_NO_MODULE;
	return false;
}

/*
 * Where the kernel's frame-pointer chain goes on from the last frame: index of the next
 * address in it, or n_fp. The chain visits those of our frames whose function keeps a
 * frame pointer, in order; so the last one is on it if it is the last one met.
 */
static uint32_t chain_position(const struct mt_unwinder *unwinder, const struct mt_stack *stack)
{
	uint32_t at = 0;
	bool met = false;
	size_t i;

	/* The first entry is the pc, perhaps of the probe's site rather than of the function. */
	if (stack->n_fp && (stack->fp[0] & unwinder->code_mask) != unwinder->frames[0].pc)
		at = 1;
	for (i = 0; i < unwinder->n; i++) {
		met = at < stack->n_fp &&
		      (stack->fp[at] & unwinder->code_mask) == unwinder->frames[i].pc;
		at += met;
	}
	return met ? at : stack->n_fp;
}

/*
 * The kernel's frame-pointer chain reaches beyond the captured bytes. It is the call chain
 * only as long as every function on it keeps a frame pointer, as its unwind information
 * tells; where one does not, its callers up to the next that does would be missing.
 */
static void follow_chain(struct mt_unwinder *unwinder, const struct mt_stack *stack,
			 enum mt_unwind_end *end)
{
	const struct mt_frame *last = &unwinder->frames[unwinder->n - 1];
	uint32_t at = chain_position(unwinder, stack);
	const struct place *place = look_up(unwinder, stack, last->pc - !last->exact);
	uint64_t pc;

	for (; at < stack->n_fp && unwinder->n < MT_UNWIND_FRAMES_MAX; at++) {
		if (place->rules && !mt_unwind_keeps_fp(unwinder->arch, place->rules))
			return;
		pc = stack->fp[at] & unwinder->code_mask;
		place = look_up(unwinder, stack, pc - 1);
		if (!pc || !place->mapped)
			return;
		add_frame(unwinder, pc, false, MT_FRAME_FP, place);
		if (place->rules && (place->rules->flags & MT_CFI_END)) {
			*end = MT_UNWIND_COMPLETE;
			return;
		}
	}
}

size_t mt_unwind(struct mt_unwinder *unwinder, const struct mt_stack *stack,
		 const struct mt_frame **ret_frames, enum mt_unwind_end *ret_end)
{
	enum mt_frame_source source = MT_FRAME_REGISTERS;
	enum mt_unwind_end end = MT_UNWIND_EMPTY;
	struct mt_unwind_state state;
	const struct place *place;
	bool more;

	unwinder->n = 0;
	more = mt_unwind_state_init(&state, unwinder->arch, unwinder->code_mask, stack);
	while (more) {
		if (unwinder->n == MT_UNWIND_FRAMES_MAX) {
			end = MT_UNWIND_TOO_DEEP;
			break;
		}
		place = look_up(unwinder, stack, state.pc - !state.exact);
		add_frame(unwinder, state.pc, state.exact, source, place);
		if (place->rules) {
			source = MT_FRAME_CFI;
			more = mt_unwind_step_cfi(&state, place->code.cfi, place->rules,
						  place->code.bias, &end);
		} else {
			more = step_without_cfi(unwinder, &state, place, &source, &end);
		}
	}
	if (end == MT_UNWIND_TRUNCATED || end == MT_UNWIND_UNREADABLE)
		follow_chain(unwinder, stack, &end);

	*ret_frames = unwinder->frames;
	*ret_end = end;
	return unwinder->n;
}
