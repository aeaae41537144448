/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/probes.bpf.h - the programs on allocator functions.
 *
 * Only the outermost allocator call of a thread is an event: calloc, realloc and the aligned
 * family call malloc or each other. What a call is (kind, which argument is what)
 * comes in the attach cookie.
 */
#ifndef MT_PROBES_BPF_H
#define MT_PROBES_BPF_H

#include "bpf/call.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/stack.bpf.h"

/* Where a call that has just begun will return to. */
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 ret = 0;

	bpf_probe_read_user(&ret, sizeof(ret), (void *)PT_REGS_SP(ctx));
	return ret;
#else
	return PT_REGS_RET(ctx);
#endif
}

/*
 * Is the thread still in the allocator call its state names? A call abandoned by longjmp, an
 * exception or siglongjmp out of a signal handler is recognised by its return slot: sp has moved
 * above it, or it no longer holds what it did: the trampoline of the pending return probe, or, of a
 * call that is probed at its return instructions, the caller's address. A tail call (reallocarray
 * jumps to realloc) has the same sp and the slot as it was. Of two functions that
 * both have probed return instructions the later takes over: it ends the call for both.
 */
static __always_inline bool inside_allocator(struct mt_task_state *state, __u64 sp, __u64 cookie)
{
	struct mt_call *call = &state->call;
#if defined(__TARGET_ARCH_x86)
	__u64 slot = 0, expected;
#endif

	if (!call->cookie)
		return false;
	if (sp > call->sp)
		return false;
#if defined(__TARGET_ARCH_x86)
	if (call->cookie & MT_CALL_RET_SITES) {
		if (sp == call->sp && cookie & MT_CALL_RET_SITES)
			return false;
		expected = call->ret;
		/* Lest clang make both loads one, of a pointer that the verifier cannot tell. */
		barrier_var(expected);
	} else {
		expected = trampoline_of(current_task());
	}
	if (!expected || bpf_probe_read_user(&slot, sizeof(slot), (void *)call->sp))
		return sp < call->sp;
	return slot == expected;
#else
	return sp < call->sp;
#endif
}

/*
 * A free that leads to another one of the same block: "operator delete" jumps to free, with the
 * same stack pointer and the same caller, or calls it, and then waits for it to return. A second
 * call from the same place would begin with the first function again.
 */
static __always_inline bool forwarded(struct mt_task_state *state, struct pt_regs *ctx, __u64 addr)
{
	__u64 ip = PT_REGS_IP(ctx), sp = PT_REGS_SP(ctx);
#if defined(__TARGET_ARCH_x86)
	__u64 slot = 0;
#endif

	if (!addr || state->forward_addr != addr)
		return false;
#if defined(__TARGET_ARCH_x86)
	if (sp < state->forward_sp)
		return !bpf_probe_read_user(&slot, sizeof(slot), (void *)state->forward_sp) &&
		       slot == state->forward_ret;
#endif
	if (state->forward_sp != sp || state->forward_first == ip || state->forward_last == ip ||
	    state->forward_ret != return_address(ctx))
		return false;
	state->forward_last = ip;
	return true;
}

/* Is it a call whose end is to be seen? */
static __always_inline bool begin_call(struct pt_regs *ctx, struct mt_task_state *state)
{
	__u64 cookie = attach_cookie(ctx), sp = PT_REGS_SP(ctx);
	struct mt_call *call;
	bool unrecorded;
	__u32 kind;

	if (inside_allocator(state, sp, cookie))
		return false;
	if (state->waiting.cookie && sp >= state->waiting.sp)
		state->waiting.cookie = 0;

	call = &state->call;
	kind = MT_COOKIE_KIND(cookie);
	unrecorded = paused && kind != MT_RING_FREE;
	if (unrecorded && kind != MT_RING_REALLOC) {
		/* One that was abandoned must not be taken for this one when it returns. */
		call->cookie = 0;
		return false;
	}
	fill_call(call, ctx, cookie);
	call->unrecorded = unrecorded;
	call->sp = sp;
	call->ret = cookie & MT_CALL_RET_SITES ? return_address(ctx) : 0;
	call->begin = kind == MT_RING_REALLOC || kind == MT_RING_FREE ? bpf_ktime_get_ns() : 0;
	call->cookie = cookie;
	call->untaken = kind == MT_RING_FREE || unrecorded || !is_taken(state, call);
	call->stack = stack_size && !call->untaken ? capture_stack(ctx, state, sp) : 0;
	/* Behind the stack, which the verifier would walk once more for each outcome. */
	call->old_taken = call->old_addr && forget_block(state, call->old_addr);
	if (kind == MT_RING_FREE && call->old_taken && !forwarded(state, ctx, call->old_addr))
		submit_free(call->old_addr, call->begin, cookie);
	return true;
}

SEC("uprobe")
int probe_alloc(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();

	use_kernel_stack(ctx);
	if (state)
		begin_call(ctx, state);
	return 0;
}

/* The block a call gave, 0 if it failed. */
static __always_inline __u64 block_of(struct pt_regs *ctx, const struct mt_call *call)
{
	__u64 result = PT_REGS_RC(ctx), addr = 0;

	if (call->cookie & MT_CALL_IN_PLACE)
		return result >= call->size ? call->old_addr : 0;
	if (!MT_COOKIE_OUT(call->cookie))
		return result;
	if ((__u32)result != 0)
		return 0;
	if (bpf_probe_read_user(&addr, sizeof(addr), (void *)call->out)) {
		count_loss(MT_LOSS_OUT_POINTER);
		return 0;
	}
	return addr;
}

struct string {
	struct capture *capture;
	__u64 addr;
	__u64 size;
};

static long measure_piece(__u32 i, struct string *string)
{
	const __u32 max = sizeof(string->capture->bytes);
	long n = bpf_probe_read_user_str(string->capture->bytes, max,
					 (void *)(string->addr + string->size));

	if (n <= 0)
		return 1;
	/* A piece that was cut has been given an end of its own. */
	string->size += n == max ? max - 1 : n;
	return n != max;
}

/* Bytes of a string with its end, at most STRING_PIECES times 64 KiB; 0 if no buffer is free. */
static __always_inline __u64 string_size(__u64 addr)
{
	struct string string = { .addr = addr };

	string.capture = capture_get();
	if (!string.capture)
		return 0;
	repeat(STRING_PIECES, measure_piece, &string);
	capture_put(string.capture);
	return string.size;
}

/* The old block is freed, as far as the recording knows it. */
static __always_inline void give_up(const struct mt_call *call)
{
	if (call->old_taken)
		submit_free(call->old_addr, call->begin, call->cookie);
}

static __always_inline void submit_call(struct mt_task_state *state, struct mt_call *call,
					__u64 addr)
{
	__u32 kind = MT_COOKIE_KIND(call->cookie);

	state->last_addr = addr;
	state->forward_addr = 0;
	if (call->cookie & MT_CALL_STRING) {
		call->size = string_size(addr);
		/* From memory: a number the verifier knows of it would walk the loop for. */
		barrier();
		call->untaken = sample_bytes && !take_bytes(state, call->size);
	}
	if (call->untaken || !remember_block(state, addr)) {
		give_up(call);
		return;
	}
	if (!call->old_taken)
		call->old_addr = 0;
	if (kind == MT_RING_REALLOC)
		submit_realloc(call, addr);
	else if (kind == MT_RING_ALIGNED)
		submit_aligned(call, addr);
	else if (kind == MT_RING_MALLOC && call->align)
		submit_aligned(call, addr);
	else
		submit_alloc(call, kind, addr);
}

/* cookie: of the probe on the function's return, or on one of its return instructions. */
static __always_inline bool ends_here(const struct mt_call *call, __u64 sp, __u64 cookie)
{
	if (!call->cookie || call->sp != sp)
		return false;
	return cookie & MT_CALL_RET_SITES ? call->cookie & MT_CALL_RET_SITES :
					    cookie == call->cookie;
}

/* sp: as it was at entry. */
static __always_inline void end_call(struct pt_regs *ctx, struct mt_task_state *state, __u64 sp)
{
	__u64 cookie = attach_cookie(ctx), addr;
	struct mt_call *call = &state->call;
	bool waited = false;

	if (!call->cookie && ends_here(&state->waiting, sp, cookie)) {
		*call = state->waiting;
		state->waiting.cookie = 0;
		waited = true;
	}
	if (!ends_here(call, sp, cookie))
		return;
	addr = block_of(ctx, call);
	if (MT_COOKIE_KIND(call->cookie) == MT_RING_FREE) {
		/* Done at entry. */
	} else if (addr && call->unrecorded) {
		/* The block that is given up may be known; the new one is not. */
		give_up(call);
	} else if (addr) {
		/* Having called the program, it may have got the block by a call that counted. */
		if (!waited || addr != state->last_addr)
			submit_call(state, call, addr);
	} else if (MT_COOKIE_KIND(call->cookie) == MT_RING_REALLOC && call->old_addr &&
		   (!call->size || call->cookie & MT_CALL_FREES_ALWAYS)) {
		/* realloc(p, 0) frees p and returns NULL; any other NULL leaves all as it was. */
		give_up(call);
	} else if (call->old_taken) {
		remember_block(state, call->old_addr);
	}
	call->cookie = 0;
}

/* The return has popped the slot that the entry saw at sp. */
static __always_inline __u64 sp_at_entry(struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return PT_REGS_SP(ctx) - 8;
#else
	return PT_REGS_SP(ctx);
#endif
}

SEC("uprobe")
int probe_return(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();

	use_kernel_stack(ctx);
	if (state)
		end_call(ctx, state, sp_at_entry(ctx));
	return 0;
}

/*
 * Both ends of a call, as a session (Linux 6.13 and later): the entry answers 1 if the return need
 * not be probed, so that nested calls and other people's processes go without. A call's own
 * cookie is not needed, its thread's state says all; and the kernel function that tells the ends
 * apart has not had the same arguments in all versions, while the address does as well: only at
 * entry is the instruction that of the probe.
 */
SEC("uprobe")
int probe_call(struct pt_regs *ctx)
{
	bool entry = PT_REGS_IP(ctx) == bpf_get_func_ip(ctx);
	struct mt_task_state *state = current_state();

	use_kernel_stack_in_session(ctx);
	if (!state)
		return entry;
	if (entry)
		return !begin_call(ctx, state);
	end_call(ctx, state, sp_at_entry(ctx));
	return 0;
}

SEC("uprobe")
int probe_ret_site(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();

	use_kernel_stack(ctx);
	if (state)
		end_call(ctx, state, PT_REGS_SP(ctx));
	return 0;
}

SEC("uprobe")
int probe_free(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();
	__u64 cookie = attach_cookie(ctx), addr;
	struct arguments args;

	use_kernel_stack(ctx);
	if (!state || inside_allocator(state, PT_REGS_SP(ctx), cookie))
		return 0;
	read_arguments(&args, ctx);
	addr = argument(&args, MT_COOKIE_PTR(cookie));
	if (!addr || forwarded(state, ctx, addr))
		return 0;
	state->forward_addr = 0;
	if (cookie & MT_CALL_FORWARDS) {
		state->forward_sp = PT_REGS_SP(ctx);
		state->forward_addr = addr;
		state->forward_ret = return_address(ctx);
		state->forward_first = state->forward_last = PT_REGS_IP(ctx);
	}
	if (addr == state->last_addr)
		state->last_addr = 0;
	if (forget_block(state, addr))
		submit_free(addr, bpf_ktime_get_ns(), cookie);
	return 0;
}

/*
 * The program is about to run code of its own inside an allocator call that fails: its new_handler,
 * or what catches the exception. What that calls counts for itself. The call goes on
 * counting if it comes to its end after all.
 */
SEC("uprobe")
int probe_leave(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();

	use_kernel_stack(ctx);
	if (!state || !state->call.cookie)
		return 0;
	if (PT_REGS_SP(ctx) < state->call.sp)
		state->waiting = state->call;
	state->call.cookie = 0;
	return 0;
}

#endif
