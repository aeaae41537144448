/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* bpf/call.bpf.h - one allocator call: what it asks for, and its record. */
#ifndef MT_CALL_BPF_H
#define MT_CALL_BPF_H

#include "bpf/pressure.bpf.h"

#ifndef PT_REGS_PARM6	/* libbpf before 1.2 */
#if defined(__TARGET_ARCH_x86)
#define PT_REGS_PARM6(x) ((x)->r9)
#elif defined(__TARGET_ARCH_arm64)
#define PT_REGS_PARM6(x) (((const struct user_pt_regs *)(x))->regs[5])
#endif
#endif

/* The first arguments of the call; the verifier wants each read at a constant offset. */
struct arguments {
	__u64 a1;
	__u64 a2;
	__u64 a3;
	__u64 a4;
	__u64 a5;
	__u64 a6;
};

static __always_inline void read_arguments(struct arguments *args, struct pt_regs *ctx)
{
	args->a1 = PT_REGS_PARM1(ctx);
	args->a2 = PT_REGS_PARM2(ctx);
	args->a3 = PT_REGS_PARM3(ctx);
	args->a4 = PT_REGS_PARM4(ctx);
	args->a5 = PT_REGS_PARM5(ctx);
	args->a6 = PT_REGS_PARM6(ctx);
	barrier_var(args->a1);
	barrier_var(args->a2);
	barrier_var(args->a3);
	barrier_var(args->a4);
	barrier_var(args->a5);
	barrier_var(args->a6);
}

static __always_inline __u64 argument(const struct arguments *args, __u32 n)
{
	switch (n) {
	case 1: return args->a1;
	case 2: return args->a2;
	case 3: return args->a3;
	case 4: return args->a4;
	case 5: return args->a5;
	case 6: return args->a6;
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

/* What the call asks for. */
static __always_inline void fill_call(struct mt_call *call, struct pt_regs *ctx, __u64 cookie)
{
	struct arguments args;
	__u64 size, count, align, ptr;

	read_arguments(&args, ctx);
	size = argument(&args, MT_COOKIE_SIZE(cookie));
	if (MT_COOKIE_COUNT(cookie)) {
		count = argument(&args, MT_COOKIE_COUNT(cookie));
		size = product(size, count);
	}
	align = argument(&args, MT_COOKIE_ALIGN(cookie));
	if (cookie & MT_CALL_LG_ALIGN)
		align = align & 63 ? 1ULL << (align & 63) : 0;
	ptr = argument(&args, MT_COOKIE_PTR(cookie));
	if (cookie & MT_CALL_INDIRECT && bpf_probe_read_user(&ptr, sizeof(ptr), (void *)ptr))
		ptr = 0;
	call->size = size;
	call->align = align;
	call->old_addr = ptr;
	call->out = argument(&args, MT_COOKIE_OUT(cookie));
}

static __always_inline void submit_free(__u64 addr, __u64 time, __u64 cookie)
{
	struct mt_ring_free *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_hdr(&rec->hdr, MT_RING_FREE, 0, time);
	rec->hdr.group = MT_COOKIE_GROUP(cookie);
	rec->addr = addr;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void fill_alloc(struct mt_ring_alloc *rec, const struct mt_call *call,
				       __u32 kind, __u64 addr)
{
	fill_hdr(&rec->hdr, kind, call->stack, bpf_ktime_get_ns());
	rec->hdr.group = MT_COOKIE_GROUP(call->cookie);
	rec->addr = addr;
	rec->size = call->size;
}

static __always_inline void submit_alloc(const struct mt_call *call, __u32 kind, __u64 addr)
{
	struct mt_ring_alloc *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_alloc(rec, call, kind, addr);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void submit_aligned(const struct mt_call *call, __u64 addr)
{
	struct mt_ring_aligned *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_alloc(&rec->alloc, call, MT_RING_ALIGNED, addr);
	rec->align = call->align;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void submit_realloc(const struct mt_call *call, __u64 addr)
{
	struct mt_ring_realloc *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_EVENT_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_alloc(&rec->alloc, call, MT_RING_REALLOC, addr);
	rec->old_addr = call->old_addr;
	rec->begin = call->begin;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

#endif
