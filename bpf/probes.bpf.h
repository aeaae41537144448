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

#include "bpf/stack.bpf.h"

/* The first arguments of the call; the verifier wants each read at a constant offset. */
struct arguments {
	__u64 a1;
	__u64 a2;
	__u64 a3;
	__u64 a4;
};

static __always_inline void read_arguments(struct arguments *args, struct pt_regs *ctx)
{
	args->a1 = PT_REGS_PARM1(ctx);
	args->a2 = PT_REGS_PARM2(ctx);
	args->a3 = PT_REGS_PARM3(ctx);
	args->a4 = PT_REGS_PARM4(ctx);
	barrier_var(args->a1);
	barrier_var(args->a2);
	barrier_var(args->a3);
	barrier_var(args->a4);
}

static __always_inline __u64 argument(const struct arguments *args, __u32 n)
{
	switch (n) {
	case 1: return args->a1;
	case 2: return args->a2;
	case 3: return args->a3;
	case 4: return args->a4;
	}
	return 0;
}

/* Saturates: a call that asks for more fails, and a wrapped product could look like a size of 0. */
static __always_inline __u64 product(__u64 size, __u64 count)
{
	__u64 total = size * count;

	/* Without the barrier clang makes this a 128-bit multiplication, which BPF has not. */
	barrier_var(total);
	return count && total / count != size ? ~0ULL : total;
}

/*
 * Is the thread still in the allocator call its state names? A call abandoned by longjmp, an
 * exception or siglongjmp out of a signal handler is recognised by its return slot: sp has moved
 * above it, or it no longer holds the trampoline of the pending return probe. A tail
 * call (reallocarray jumps to realloc) has the same sp and the trampoline still in place.
 */
static __always_inline bool inside_allocator(struct mt_task_state *state, __u64 sp)
{
	__u64 slot = 0, trampoline;

	if (!state->cookie)
		return false;
	if (sp > state->sp)
		return false;
#if defined(__TARGET_ARCH_x86)
	trampoline = trampoline_of(bpf_get_current_task_btf());
	if (!trampoline || bpf_probe_read_user(&slot, sizeof(slot), (void *)state->sp))
		return sp < state->sp;
	return slot == trampoline;
#else
	return sp < state->sp;
#endif
}

static __always_inline void submit_free(__u64 addr, __u64 time)
{
	struct mt_ring_free *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_hdr(&rec->hdr, MT_RING_FREE, 0, time);
	rec->addr = addr;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void fill_alloc(struct mt_ring_alloc *rec, struct mt_task_state *state,
				       __u32 kind, __u64 addr)
{
	fill_hdr(&rec->hdr, kind, state->stack, bpf_ktime_get_ns());
	rec->addr = addr;
	rec->size = state->size;
}

static __always_inline void submit_alloc(struct mt_task_state *state, __u32 kind, __u64 addr)
{
	struct mt_ring_alloc *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_alloc(rec, state, kind, addr);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void submit_aligned(struct mt_task_state *state, __u64 addr)
{
	struct mt_ring_aligned *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_alloc(&rec->alloc, state, MT_RING_ALIGNED, addr);
	rec->align = state->align;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void submit_realloc(struct mt_task_state *state, __u64 addr)
{
	struct mt_ring_realloc *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_alloc(&rec->alloc, state, MT_RING_REALLOC, addr);
	rec->old_addr = state->old_addr;
	rec->begin = state->begin;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

SEC("uprobe")
int probe_alloc(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();
	__u64 cookie, sp = PT_REGS_SP(ctx), size, count;
	struct arguments args;

	use_kernel_stack(ctx);
	if (!state || inside_allocator(state, sp))
		return 0;

	cookie = bpf_get_attach_cookie(ctx);
	read_arguments(&args, ctx);
	size = argument(&args, MT_COOKIE_SIZE(cookie));
	if (MT_COOKIE_COUNT(cookie)) {
		count = argument(&args, MT_COOKIE_COUNT(cookie));
		size = product(size, count);
	}
	state->sp = sp;
	state->size = size;
	state->old_addr = argument(&args, MT_COOKIE_PTR(cookie));
	state->align = argument(&args, MT_COOKIE_ALIGN(cookie));
	state->out = argument(&args, MT_COOKIE_OUT(cookie));
	state->begin = MT_COOKIE_KIND(cookie) == MT_RING_REALLOC ? bpf_ktime_get_ns() : 0;
	state->stack = stack_size ? capture_stack(ctx, state, sp) : 0;
	state->cookie = cookie;
	return 0;
}

/* The block a call gave, 0 if it failed. */
static __always_inline __u64 block_of(struct pt_regs *ctx, struct mt_task_state *state)
{
	__u64 addr = PT_REGS_RC(ctx);

	if (!MT_COOKIE_OUT(state->cookie))
		return addr;
	if ((__u32)addr != 0)
		return 0;
	if (bpf_probe_read_user(&addr, sizeof(addr), (void *)state->out)) {
		count_loss(MT_LOSS_OUT_POINTER);
		return 0;
	}
	return addr;
}

SEC("uprobe")
int probe_return(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();
	__u64 cookie, addr;
	__u32 kind;

	use_kernel_stack(ctx);
	if (!state || !state->cookie)
		return 0;
#if defined(__TARGET_ARCH_x86)
	/* The return has popped the slot that the entry saw at sp. */
	if (PT_REGS_SP(ctx) != state->sp + 8)
		return 0;
#else
	if (PT_REGS_SP(ctx) != state->sp)
		return 0;
#endif
	cookie = state->cookie;
	if (bpf_get_attach_cookie(ctx) != cookie)
		return 0;
	addr = block_of(ctx, state);
	state->cookie = 0;
	kind = MT_COOKIE_KIND(cookie);

	if (!addr) {
		/* glibc's realloc(p, 0) frees p, gives NULL; any other NULL left all as it was. */
		if (kind == MT_RING_REALLOC && state->size == 0 && state->old_addr)
			submit_free(state->old_addr, state->begin);
		return 0;
	}
	if (kind == MT_RING_REALLOC)
		submit_realloc(state, addr);
	else if (kind == MT_RING_ALIGNED)
		submit_aligned(state, addr);
	else
		submit_alloc(state, kind, addr);
	return 0;
}

SEC("uprobe")
int probe_free(struct pt_regs *ctx)
{
	struct mt_task_state *state = current_state();
	__u64 addr, time = bpf_ktime_get_ns();
	struct arguments args;

	use_kernel_stack(ctx);
	if (!state || inside_allocator(state, PT_REGS_SP(ctx)))
		return 0;
	read_arguments(&args, ctx);
	addr = argument(&args, MT_COOKIE_PTR(bpf_get_attach_cookie(ctx)));
	if (addr)
		submit_free(addr, time);
	return 0;
}

#endif
