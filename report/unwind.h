/*
 * report/unwind.h - call frames from the captured registers and stack bytes.
 *
 * Memory is read only from the captured bytes. Every stack ends with a reason.
 */
#ifndef MT_UNWIND_H
#define MT_UNWIND_H

#include "common/event.h"

struct mt_cfi;
struct mt_unwinder;

#define MT_UNWIND_FRAMES_MAX 4096

#define MT_UNWIND_ENDS(X) \
	X(COMPLETE, "complete", "reached the thread's first frame") \
	X(TRUNCATED, "truncated", "needs stack above the captured bytes, cut by --stack-size") \
	X(UNREADABLE, "unreadable", "needs stack above the captured bytes, not readable") \
	X(NO_MODULE, "no_module", "pc is in no known mapping") \
	X(NO_CFI, "no_cfi", "no unwind information for pc") \
	X(BAD_CFI, "bad_cfi", "unwind information that cannot be evaluated") \
	X(BAD_MEMORY, "bad_memory", "needs memory outside the captured bytes") \
	X(NOT_ADVANCING, "not_advancing", "the stack pointer did not move up") \
	X(TOO_DEEP, "too_deep", "more frames than the limit") \
	X(EMPTY, "empty", "no registers or bytes were captured")

enum mt_unwind_end {
#define X(name, id, text) MT_UNWIND_##name,
	MT_UNWIND_ENDS(X)
#undef X
	MT_UNWIND_END_KINDS
};

const char *mt_unwind_end_id(enum mt_unwind_end end);
const char *mt_unwind_end_text(enum mt_unwind_end end);

enum mt_frame_source {
	MT_FRAME_REGISTERS,	/* the innermost: pc register */
	MT_FRAME_CFI,
	MT_FRAME_FP,		/* frame-pointer chain, where no CFI helped */
	MT_FRAME_LEAF,		/* return address at [sp] or in lr, where no CFI helped */
};

struct mt_frame {
	uint64_t pc;		/* as found: a return address unless exact */
	uint32_t placement;	/* mt_session placement of pc, MT_NONE if unknown */
	uint32_t jit;		/* code compiled at run time, see mt_jit_find(); 0: none known */
	uint8_t source;		/* enum mt_frame_source */
	bool exact;		/* an instruction about to run (innermost, signal): look up pc */
};

/* What the unwinder must know of the code at an address. */
struct mt_unwind_code {
	const struct mt_cfi *cfi;	/* NULL: none; else it lives as long as the unwinder */
	uint64_t bias;			/* avma - svma, wrapping */
	uint32_t placement;
	uint32_t jit;
	/*
	 * The answer holds for every stack of this process with from <= time < until, and
	 * is kept for those. Zero when find is called; left equal, nothing is kept.
	 */
	uint64_t from;
	uint64_t until;
};

/*
 * Find the code at addr (already pc-1 for return addresses) for the stack being
 * unwound. false: nothing is mapped there.
 */
typedef bool (*mt_unwind_find_fn)(void *arg, const struct mt_stack *stack, uint64_t addr,
				  struct mt_unwind_code *ret_code);

/*
 * arch is the header's ("x86_64" or "aarch64"), code_mask strips pointer authentication
 * from return addresses. -EOPNOTSUPP for another arch.
 */
int mt_unwinder_new(const char *arch, uint64_t code_mask, mt_unwind_find_fn find, void *arg,
		    struct mt_unwinder **ret_unwinder);
void mt_unwinder_free(struct mt_unwinder *unwinder);

/*
 * Unwind one stack, innermost frame first. Returns the number of frames (0 only for
 * MT_UNWIND_EMPTY); *ret_frames is valid until the next call with this unwinder.
 */
size_t mt_unwind(struct mt_unwinder *unwinder, const struct mt_stack *stack,
		 const struct mt_frame **ret_frames, enum mt_unwind_end *ret_end);

struct mt_unwound {
	const struct mt_frame *frames;
	size_t n;
	enum mt_unwind_end end;
};

#define MT_UNWIND_AT_ONCE 16u

/*
 * The same for n <= MT_UNWIND_AT_ONCE stacks: while the memory of one is waited for, the others go
 * on.
 */
void mt_unwind_some(struct mt_unwinder *unwinder, const struct mt_stack *const *stacks, size_t n,
		    struct mt_unwound *ret_unwound);

#endif
