/* Call frames of captured stacks. */
#include "report/unwind.h"

#include <errno.h>

#include "report/unwind_places.h"

#define AHEAD 2u	/* stacks, in which what is known of code comes */

/* A stack being unwound. Of the frame at n what is needed for the step to its caller. */
struct run {
	const struct mt_stack *stack;
	uint64_t base;
	uint64_t from[2];	/* sp and fp, by enum mt_unwind_how */
	uint64_t pc;
	uint64_t cfa;
	const uint8_t *read;	/* what slots are in */
	struct mt_unwind_place *set;	/* where it is looked for what is known of pc */
	struct mt_unwind_slots slots;
	uint32_t n;
	bool ended;		/* sp, fp and pc were enough, to the end */
	struct mt_frame frames[MT_UNWIND_FRAMES_MAX];
	uint64_t cfas[MT_UNWIND_FRAMES_MAX];	/* of the steps so far */
};

struct mt_unwinder {
	void *memory;		/* as allocated: this is at a cache line in it */
	const struct mt_unwind_arch *arch;
	uint64_t code_mask;
	struct run runs[MT_UNWIND_AT_ONCE];
	struct mt_unwind_places places;
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
	void *memory;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(archs); i++)
		if (!strcmp(arch, archs[i].name))
			break;
	if (i == MT_ARRAY_SIZE(archs))
		return -EOPNOTSUPP;
	/* The system gives pages when they are touched, which most never are. */
	memory = calloc(1, sizeof(*unwinder) + MT_CACHE_LINE);
	if (!memory)
		return -ENOMEM;
	unwinder = (struct mt_unwinder *)(((uintptr_t)memory + MT_CACHE_LINE - 1) &
					  ~(uintptr_t)(MT_CACHE_LINE - 1));
	unwinder->memory = memory;
	unwinder->arch = &archs[i];
	unwinder->code_mask = code_mask;
	unwinder->places.arch = &archs[i];
	unwinder->places.find = find;
	unwinder->places.arg = arg;
	*ret_unwinder = unwinder;
	return 0;
}

void mt_unwinder_free(struct mt_unwinder *unwinder)
{
	if (unwinder)
		free(unwinder->memory);
}

static bool is_code(struct mt_unwinder *unwinder, const struct mt_stack *stack, uint64_t pc)
{
	return mt_unwind_look_up(&unwinder->places, stack, pc - 1)->mapped;
}

/*
 * Is there a frame record? Its caller may use the frame pointer for something else, so that
 * the chain ends here; then it must be code that can be unwound without.
 */
static bool has_record(struct mt_unwinder *unwinder, const struct mt_unwind_state *state,
		       enum mt_unwind_end *ret_end)
{
	const struct mt_unwind_place *place;
	uint64_t pc;
	bool linked;

	if (!mt_unwind_peek_fp(state, &pc, &linked, ret_end))
		return false;
	place = mt_unwind_look_up(&unwinder->places, state->stack, pc - 1);
	return place->mapped && (linked || place->rules);
}

static inline void put_frame(struct mt_frame *frame, uint64_t pc, bool exact,
			     enum mt_frame_source source, const struct mt_unwind_place *place)
{
	frame->pc = pc;
	frame->placement = place->placement;
	frame->jit = place->jit;
	frame->source = (uint8_t)source;
	frame->exact = exact;
}

/*
 * Is this the first code of the program, which was not called? It says so by what it is,
 * the code at the file's entry point, or by the convention that outermost code clears the frame
 * pointer; and it must have nothing but the program's arguments above it.
 */
static bool is_first_frame(const struct mt_unwinder *unwinder,
			   const struct mt_unwind_state *state, const struct mt_unwind_place *place)
{
	const struct mt_unwind_origin *origin = mt_unwind_origin_of(&unwinder->places, place);
	uint8_t fp = state->arch->fp;
	bool entry = origin->cfi && mt_cfi_is_entry(origin->cfi, place->addr - origin->bias);

	if (!entry && !((state->known >> fp & 1) && state->regs[fp] == 0))
		return false;
	return mt_unwind_at_arguments(state);
}

/* Find the caller of code that has no unwind information. */
static bool step_without_cfi(struct mt_unwinder *unwinder, struct mt_unwind_state *state,
			     const struct mt_unwind_place *place, enum mt_frame_source *ret_source,
			     enum mt_unwind_end *ret_end)
{
	const struct mt_stack *stack = state->stack;
	bool mapped = place->mapped;	/* place does not outlive a look-up */
	enum mt_unwind_end end;
	uint64_t pc;

	if (mapped && is_first_frame(unwinder, state, place)) {
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
static uint32_t chain_position(const struct run *run, uint64_t mask)
{
	const struct mt_stack *stack = run->stack;
	uint32_t at = 0;
	bool met = false;
	uint32_t i;

	/* The first entry is the pc, perhaps of the probe's site rather than of the function. */
	if (stack->n_fp && (stack->fp[0] & mask) != run->frames[0].pc)
		at = 1;
	for (i = 0; i < run->n; i++) {
		met = at < stack->n_fp && (stack->fp[at] & mask) == run->frames[i].pc;
		at += met;
	}
	return met ? at : stack->n_fp;
}

/*
 * The kernel's frame-pointer chain reaches beyond the captured bytes. It is the call chain
 * only as long as every function on it keeps a frame pointer, as its unwind information
 * tells; where one does not, its callers up to the next that does would be missing.
 */
static void follow_chain(struct mt_unwinder *unwinder, struct run *run, enum mt_unwind_end *end)
{
	const struct mt_frame *last = &run->frames[run->n - 1];
	uint32_t at = chain_position(run, unwinder->code_mask);
	const struct mt_stack *stack = run->stack;
	const struct mt_unwind_place *place;
	uint64_t pc;

	place = mt_unwind_look_up(&unwinder->places, stack, last->pc - !last->exact);
	for (; at < stack->n_fp && run->n < MT_UNWIND_FRAMES_MAX; at++) {
		if (place->rules && !mt_unwind_keeps_fp(unwinder->arch, place->rules))
			return;
		pc = stack->fp[at] & unwinder->code_mask;
		place = mt_unwind_look_up(&unwinder->places, stack, pc - 1);
		if (!pc || !place->mapped)
			return;
		put_frame(&run->frames[run->n++], pc, false, MT_FRAME_FP, place);
		if (place->rules && (place->rules->flags & MT_CFI_END)) {
			*end = MT_UNWIND_COMPLETE;
			return;
		}
	}
}

/* To the caller, whose slots should be here by now. false: there is none. */
static inline bool arrive(struct mt_unwinder *unwinder, struct run *run)
{
	uint64_t same = (uint64_t)(int64_t)run->slots.same_fp, pc, fp;

	memcpy(&pc, run->read + run->slots.ra, sizeof(pc));
	memcpy(&fp, run->read + run->slots.fp, sizeof(fp));
	pc &= unwinder->code_mask;
	if (!pc)
		return false;
	/* Without a branch, which would wait for the memory. */
	run->from[1] = fp ^ ((fp ^ run->from[1]) & same);
	run->from[0] = run->cfa;
	run->pc = pc;
	run->n++;
	run->set = mt_unwind_set_of(&unwinder->places, run->stack, pc - 1);
	__builtin_prefetch(run->set);
	return true;
}

/*
 * On the way to the caller, if sp, fp and pc are enough for that: as mt_unwind_step_cfi() would do
 * it. Whatever is odd is left to that. false: no more can be done.
 */
static inline __attribute__((always_inline)) bool
leave(struct mt_unwinder *unwinder, struct run *run, bool exact)
{
	const struct mt_stack *stack = run->stack;
	const struct mt_unwind_place *place;
	uint64_t cfa, at;

	place = mt_unwind_look_into(&unwinder->places, run->set, stack, run->pc - !exact);
	if (place->how == MT_HOW_SEE_RULES || run->n == MT_UNWIND_FRAMES_MAX)
		return false;
	put_frame(&run->frames[run->n], run->pc, exact, exact ? MT_FRAME_REGISTERS : MT_FRAME_CFI,
		  place);
	if (place->how == MT_HOW_END) {
		run->n++;
		run->ended = true;
		return false;
	}
	cfa = run->from[place->how] + (uint64_t)(int64_t)place->cfa_value;
	at = cfa + (uint64_t)(int64_t)place->low - run->base;
	if (at > stack->n_bytes || stack->n_bytes - at < place->slots.span ||
	    cfa < run->from[MT_HOW_FROM_SP] || (!exact && cfa == run->from[MT_HOW_FROM_SP]))
		return false;
	run->cfas[run->n] = run->cfa = cfa;
	run->read = stack->bytes + at;
	run->slots = place->slots;
	__builtin_prefetch(run->read + place->slots.ra);
	__builtin_prefetch(run->read + place->slots.fp);
	return true;
}

/* false: nothing can be done without the rules. */
static bool begin(struct mt_unwinder *unwinder, struct run *run, const struct mt_stack *stack)
{
	const struct mt_unwind_arch *arch = unwinder->arch;

	run->stack = stack;
	run->n = 0;
	run->ended = false;
	run->base = run->from[MT_HOW_FROM_SP] = stack->regs[arch->sp];
	run->from[MT_HOW_FROM_FP] = stack->regs[arch->fp];
	run->pc = stack->regs[arch->pc];
	run->set = mt_unwind_set_of(&unwinder->places, stack, run->pc);
	return stack->n_regs >= arch->n_regs && stack->n_regs <= MT_REGS_MAX &&
	       leave(unwinder, run, true);
}

/* The state after the steps so far. */
static void catch_up(struct mt_unwinder *unwinder, const struct run *run,
		     struct mt_unwind_state *state)
{
	const struct mt_unwind_place *place;
	uint32_t i;

	for (i = 0; i < run->n; i++) {
		place = mt_unwind_look_up(&unwinder->places, run->stack,
					  run->frames[i].pc - !run->frames[i].exact);
		mt_unwind_step_plain(state, place->rules, run->cfas[i]);
	}
}

/* The rest of it. */
static enum mt_unwind_end finish(struct mt_unwinder *unwinder, struct run *run)
{
	enum mt_frame_source source = run->n ? MT_FRAME_CFI : MT_FRAME_REGISTERS;
	enum mt_unwind_end end = MT_UNWIND_EMPTY;
	const struct mt_unwind_origin *origin;
	struct mt_unwind_state state;
	const struct mt_unwind_place *place;
	bool more;

	if (run->ended)
		return MT_UNWIND_COMPLETE;
	more = mt_unwind_state_init(&state, unwinder->arch, unwinder->code_mask, run->stack);
	if (more)
		catch_up(unwinder, run, &state);
	while (more) {
		if (run->n == MT_UNWIND_FRAMES_MAX) {
			end = MT_UNWIND_TOO_DEEP;
			break;
		}
		place = mt_unwind_look_up(&unwinder->places, run->stack, state.pc - !state.exact);
		put_frame(&run->frames[run->n++], state.pc, state.exact, source, place);
		if (place->rules) {
			source = MT_FRAME_CFI;
			origin = mt_unwind_origin_of(&unwinder->places, place);
			more = mt_unwind_step_cfi(&state, origin->cfi, place->rules, origin->bias,
						  &end);
		} else {
			more = step_without_cfi(unwinder, &state, place, &source, &end);
		}
	}
	if (end == MT_UNWIND_TRUNCATED || end == MT_UNWIND_UNREADABLE)
		follow_chain(unwinder, run, &end);
	return end;
}

/*
 * Each of these goes to its caller: what the others do meanwhile is the time in which the slots
 * come; what is known of the caller's pc is nearer. Returns how many are still going, now the
 * first ones.
 */
static size_t step_all(struct mt_unwinder *unwinder, struct run **going, size_t n)
{
	struct run *arrived[MT_UNWIND_AT_ONCE];
	size_t i, n_arrived = 0, n_left = 0, kept = 0;

	for (i = 0; i < n || n_left < n_arrived; i++) {
		if (i < n) {
			arrived[n_arrived] = going[i];
			n_arrived += arrive(unwinder, going[i]);
		}
		if (n_left < n_arrived && (i >= n || n_left + AHEAD < n_arrived)) {
			going[kept] = arrived[n_left++];
			kept += leave(unwinder, going[kept], false);
		}
	}
	return kept;
}

void mt_unwind_some(struct mt_unwinder *unwinder, const struct mt_stack *const *stacks, size_t n,
		    struct mt_unwound *ret_unwound)
{
	struct run *going[MT_UNWIND_AT_ONCE], *run;
	size_t i, n_going = 0;

	for (i = 0; i < n; i++) {
		going[n_going] = &unwinder->runs[i];
		n_going += begin(unwinder, going[n_going], stacks[i]);
	}
	while (n_going)
		n_going = step_all(unwinder, going, n_going);
	for (i = 0; i < n; i++) {
		run = &unwinder->runs[i];
		ret_unwound[i].end = finish(unwinder, run);
		ret_unwound[i].frames = run->frames;
		ret_unwound[i].n = run->n;
	}
}

size_t mt_unwind(struct mt_unwinder *unwinder, const struct mt_stack *stack,
		 const struct mt_frame **ret_frames, enum mt_unwind_end *ret_end)
{
	struct mt_unwound unwound;

	mt_unwind_some(unwinder, &stack, 1, &unwound);
	*ret_frames = unwound.frames;
	*ret_end = unwound.end;
	return unwound.n;
}
