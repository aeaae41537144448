/*
 * report/unwind_state.h - registers of the frame being unwound, and one step to its caller;
 * private to the unwind*.c files.
 */
#ifndef MT_UNWIND_STATE_H
#define MT_UNWIND_STATE_H

#include "report/cfi.h"
#include "report/unwind.h"

/* DWARF register numbers. */
struct mt_unwind_arch {
	const char *name;	/* as in the artifact's header */
	uint8_t n_regs;		/* captured, and pc the last of them */
	uint8_t pc;
	uint8_t sp;
	uint8_t fp;
	uint8_t lr;		/* link register; MT_UNWIND_NO_LR: the return address is at [sp] */
};

#define MT_UNWIND_NO_LR 0xff

struct mt_unwind_state {
	const struct mt_unwind_arch *arch;
	const struct mt_stack *stack;
	uint64_t code_mask;
	uint64_t base;		/* address of stack->bytes */
	uint64_t pc;
	uint64_t low;		/* the frame's sp, or what it is above of: it only grows */
	bool exact;		/* see struct mt_frame */
	uint64_t known;		/* bit r: regs[r] has a value */
	uint64_t lost;		/* bit r: not known for want of captured bytes; */
	enum mt_unwind_end lost_end;	/* this is how they are wanting */
	uint64_t regs[MT_REGS_MAX];
};

/* false: the stack has no registers. */
bool mt_unwind_state_init(struct mt_unwind_state *state, const struct mt_unwind_arch *arch,
			  uint64_t code_mask, const struct mt_stack *stack);

/* 8 bytes of captured stack. false: *ret_end says why they are not there. */
bool mt_unwind_read(const struct mt_unwind_state *state, uint64_t addr, uint64_t *ret_value,
		    enum mt_unwind_end *ret_end);

/*
 * Move to the caller by unwind tables. false: *ret_end says why there is none; the state is
 * then of no use.
 */
bool mt_unwind_step_cfi(struct mt_unwind_state *state, const struct mt_cfi *cfi,
			const struct mt_cfi_rules *rules, uint64_t bias,
			enum mt_unwind_end *ret_end);

/* A step by plain rules, whose slots were all captured, to a return address that is not 0. */
void mt_unwind_step_plain(struct mt_unwind_state *state, const struct mt_cfi_rules *rules,
			  uint64_t cfa);

/*
 * The caller as the frame-pointer chain has it, without moving: true and its pc. And move
 * there. *ret_linked: what the record has for the caller's frame pointer can be one. false with
 * MT_UNWIND_TRUNCATED or MT_UNWIND_UNREADABLE: the frame record is above the captured
 * bytes; any other end: there is no frame record.
 */
bool mt_unwind_peek_fp(const struct mt_unwind_state *state, uint64_t *ret_pc, bool *ret_linked,
		       enum mt_unwind_end *ret_end);
void mt_unwind_step_fp(struct mt_unwind_state *state);

/* Likewise for a function that has just been entered: [sp] or the link register. */
bool mt_unwind_peek_leaf(const struct mt_unwind_state *state, uint64_t *ret_pc);
void mt_unwind_step_leaf(struct mt_unwind_state *state);

/*
 * Do these rules say that the function keeps a frame pointer, with the caller's and the
 * return address where the frame-pointer chain has them?
 */
bool mt_unwind_keeps_fp(const struct mt_unwind_arch *arch, const struct mt_cfi_rules *rules);

/* Does the frame's sp stand where the kernel puts it for a new program: at its arguments? */
bool mt_unwind_at_arguments(const struct mt_unwind_state *state);

#endif
