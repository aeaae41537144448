/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* bpf/stack.bpf.h - the stack of a call: its id, and its definition when it is seen first. */
#ifndef MT_STACK_BPF_H
#define MT_STACK_BPF_H

#include "bpf/stack_identity.bpf.h"
#include "bpf/stack_path.bpf.h"

/* Registers by DWARF number: x86-64 psABI figure 3.36, AAPCS64 table for aarch64. */
static __always_inline void copy_regs(__u64 *to, struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	to[0] = ctx->rax;
	to[1] = ctx->rdx;
	to[2] = ctx->rcx;
	to[3] = ctx->rbx;
	to[4] = ctx->rsi;
	to[5] = ctx->rdi;
	to[6] = ctx->rbp;
	to[7] = ctx->rsp;
	to[8] = ctx->r8;
	to[9] = ctx->r9;
	to[10] = ctx->r10;
	to[11] = ctx->r11;
	to[12] = ctx->r12;
	to[13] = ctx->r13;
	to[14] = ctx->r14;
	to[15] = ctx->r15;
	to[16] = ctx->rip;
#elif defined(__TARGET_ARCH_arm64)
	/* x0-x30, sp, pc. The verifier allows no other than constant offsets into a context. */
	bpf_probe_read_kernel(to, 33 * sizeof(*to), ctx);
#endif
}

/* The caller's address where the callee has not saved it yet; 0 where it is on the stack. */
static __always_inline __u64 link_register(const struct origin *from, struct task_struct *task)
{
#if defined(__TARGET_ARCH_arm64)
	struct return_instance *instance = BPF_CORE_READ(task, utask, return_instances);
	__u64 link = strip_code(from->link);

	/* A function that was jumped to by one whose return is probed. */
	if (instance && link == trampoline_of(task))
		link = BPF_CORE_READ(instance, orig_ret_vaddr);
	return link;
#else
	return 0;
#endif
}

static __always_inline void copy_task_regs(__u64 *to, struct pt_regs *task)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs___mt_x86 *regs = (void *)task;

	to[0] = KERNEL_FIELD(regs, ax);
	to[1] = KERNEL_FIELD(regs, dx);
	to[2] = KERNEL_FIELD(regs, cx);
	to[3] = KERNEL_FIELD(regs, bx);
	to[4] = KERNEL_FIELD(regs, si);
	to[5] = KERNEL_FIELD(regs, di);
	to[6] = KERNEL_FIELD(regs, bp);
	to[7] = KERNEL_FIELD(regs, sp);
	to[8] = KERNEL_FIELD(regs, r8);
	to[9] = KERNEL_FIELD(regs, r9);
	to[10] = KERNEL_FIELD(regs, r10);
	to[11] = KERNEL_FIELD(regs, r11);
	to[12] = KERNEL_FIELD(regs, r12);
	to[13] = KERNEL_FIELD(regs, r13);
	to[14] = KERNEL_FIELD(regs, r14);
	to[15] = KERNEL_FIELD(regs, r15);
	to[16] = KERNEL_FIELD(regs, ip);
#elif defined(__TARGET_ARCH_arm64)
	bpf_probe_read_kernel(to, 33 * sizeof(*to), task);
#endif
}

/* path: its call path's digest, 0 if that is not known. */
static __always_inline __u32 define_stack(const struct origin *from, struct capture *capture,
					  __u64 hash, __u64 path, __u64 link, bool shared)
{
	__u64 id = current_id();
	__u32 stack = next_number(&next_stack), len = capture->def.n_bytes, *seen;
	long n;

	if (shared &&
	    bpf_map_update_elem(&seen_stacks, &hash, &stack, BPF_NOEXIST) == -EEXIST) {
		seen = bpf_map_lookup_elem(&seen_stacks, &hash);
		if (seen)
			return *seen;
	}
	capture->def.id = stack;
	capture->def.pid = id >> 32;
	capture->def.tid = (__u32)id;
	capture->def.time = bpf_ktime_get_ns();
	capture->def.identity = path ? path : hash;
	if (from->call)
		copy_task_regs(capture->def.regs, from->task);
	else
		copy_regs(capture->def.regs, from->ctx);
#if defined(__TARGET_ARCH_arm64)
	capture->def.regs[30] = link;
#endif
	n = bpf_get_stack(from->ctx, capture->def.fp, sizeof(capture->def.fp), BPF_F_USER_STACK);
	capture->def.n_fp = n > 0 ? (__u32)n / 8 : 0;
	if (len > MT_RING_STACK_MAX)
		len = MT_RING_STACK_MAX;
	if (bpf_ringbuf_output(&stacks, &capture->def, sizeof(capture->def) + len,
			       BPF_RB_NO_WAKEUP)) {
		/* Let the next one try. */
		if (shared)
			bpf_map_delete_elem(&seen_stacks, &hash);
		count_loss(MT_LOSS_STACK_RING);
		stack = 0;
	} else if (shared && path) {
		bpf_map_update_elem(&seen_stacks, &path, &stack, BPF_ANY);
	}
	check_pressure(&stacks, stack_ring_limit);
	return stack;
}

/* Stack id of the calling thread's stack, defined on first sight; 0 if that was not possible. */
static __always_inline __u32 capture_from(const struct origin *from, struct mt_task_state *state)
{
	struct task_struct *task = current_task();
	struct mt_process_code *code = process_code(current_id() >> 32);
	struct capture *capture = capture_get();
	/* Without a table nothing tells when other code has come to the same addresses. */
	bool shared = identity_mode != MT_IDENTITY_EVERY && code;
	__u32 want = stack_size, len, stack = 0, *seen;
	__u64 end, hash, link, path = 0, sp = from->sp;

	if (!capture)
		return 0;
	end = stack_end(state, task, sp);
	capture->def.flags = 0;
	capture->def.above = 0;
	if (end && end - sp <= want) {
		want = end - sp;
	} else {
		capture->def.flags = CUT_BUDGET;
		capture->def.above = end ? end - sp - want : 0;
	}
	want &= ~7U;
	len = copy_stack(capture, sp, want, end != 0);
	if (!len) {
		count_loss(MT_LOSS_STACK_READ);
		goto out;
	}
	repair_returns(capture, task, sp, len);
	capture->def.n_bytes = len;
	link = link_register(from, task);
	hash = stack_identity(from, capture, code, link, len);
	seen = shared ? bpf_map_lookup_elem(&seen_stacks, &hash) : NULL;
	if (seen) {
		stack = *seen;
		goto out;
	}
#if defined(__TARGET_ARCH_x86)
	if (identity_mode == MT_IDENTITY_PATH || identity_mode == MT_IDENTITY_EVERY)
		path = stack_path(capture, from->ip, sp, from->fp);
#endif
	seen = shared && path ? bpf_map_lookup_elem(&seen_stacks, &path) : NULL;
	if (seen) {
		/* The next time it is known at once. */
		stack = *seen;
		bpf_map_update_elem(&seen_stacks, &hash, &stack, BPF_ANY);
	} else {
		stack = define_stack(from, capture, hash, path, link, shared);
	}
out:
	capture_put(capture);
	return stack;
}

static __always_inline __u32 capture_stack(struct pt_regs *ctx, struct mt_task_state *state,
					   __u64 sp)
{
	struct origin from = {
		.ctx = ctx, .ip = PT_REGS_IP(ctx), .fp = PT_REGS_FP(ctx), .sp = sp,
#if defined(__TARGET_ARCH_arm64)
		.link = PT_REGS_RET(ctx),
#endif
	};

	return capture_from(&from, state);
}

/* The stack of a system call, from a program of any type. */
static __always_inline __u32 capture_call_stack(void *ctx, struct mt_task_state *state)
{
	struct pt_regs *task = (struct pt_regs *)task_regs(current_task());
	struct origin from = { .ctx = ctx, .call = true, .task = task };
#if defined(__TARGET_ARCH_x86)
	struct pt_regs___mt_x86 *regs = (void *)task;

	from.ip = KERNEL_FIELD(regs, ip);
	from.fp = KERNEL_FIELD(regs, bp);
	from.sp = KERNEL_FIELD(regs, sp);
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs___mt_arm64 *regs = (void *)task;

	from.ip = KERNEL_FIELD(regs, pc);
	from.fp = KERNEL_FIELD(regs, regs[29]);
	from.link = KERNEL_FIELD(regs, regs[30]);
	from.sp = KERNEL_FIELD(regs, sp);
#endif
	return capture_from(&from, state);
}

#endif
