/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/regions.bpf.h - mmap, munmap, mremap and brk as events of their own: --mmap.
 *
 * What takes memory counts from the end of the call, what gives it back from its begin, since
 * another thread can be given the same memory before the call returns. So there are programs at
 * both ends, of which mt-record loads those at the begin only if they are wanted.
 */
#ifndef MT_REGIONS_BPF_H
#define MT_REGIONS_BPF_H

#include "bpf/stack.bpf.h"
#include "bpf/watch.bpf.h"

#define MREMAP_DONTUNMAP 4

#if defined(__TARGET_ARCH_x86)
#define NR_MMAP 9
#define NR_MPROTECT 10
#define NR_MUNMAP 11
#define NR_MREMAP 25
#define NR_BRK 12
#define NR_PKEY_MPROTECT 329
#define CALL_PREFIX "__x64_sys_"
#elif defined(__TARGET_ARCH_arm64)
#define NR_MMAP 222
#define NR_MPROTECT 226
#define NR_MUNMAP 215
#define NR_MREMAP 216
#define NR_BRK 214
#define NR_PKEY_MPROTECT 288
#define CALL_PREFIX "__arm64_sys_"
#endif

struct syscall {
	__u64 nr;
	__u64 arg1;
	__u64 arg2;
	__u64 arg3;
	__u64 arg4;
	__u64 arg5;
};

static __always_inline void begin_region(void)
{
	struct mt_task_state *state = current_state();
	struct task_struct *task = current_task();

	if (!state)
		return;
	state->region_begin = bpf_ktime_get_ns();
	state->region_break = BPF_CORE_READ(task, mm, brk);
}

static __always_inline bool is_region_call(__u64 nr)
{
	return nr == NR_MMAP || nr == NR_MUNMAP || nr == NR_MREMAP || nr == NR_BRK;
}

/* What the call did; false: nothing. */
static __always_inline bool fill_region(struct mt_ring_region *region,
					const struct mt_task_state *state,
					const struct syscall *call, __u64 nr, __u64 ret)
{
	struct task_struct *task = current_task();

	region->alloc.hdr.kind = MT_RING_MMAP;
	region->alloc.addr = ret;
	region->alloc.size = call->arg2;
	switch (nr) {
	case NR_MMAP:
		region->prot = call->arg3;
		region->flags = call->arg4;
		return true;
	case NR_MUNMAP:
		region->alloc.hdr.kind = MT_RING_MUNMAP;
		region->alloc.addr = call->arg1;
		return true;
	case NR_MREMAP:
		region->alloc.hdr.kind = MT_RING_MREMAP;
		region->alloc.size = call->arg3;
		region->old_addr = call->arg1;
		region->old_size = call->arg2;
		region->flags = call->arg4;
		return true;
	}
	/* It gives the old break if it failed, or was only asked for it. */
	if (!state->region_break || ret == state->region_break)
		return false;
	region->alloc.hdr.kind = MT_RING_BRK;
	region->alloc.addr = BPF_CORE_READ(task, mm, start_brk);
	region->alloc.size = ret - region->alloc.addr;
	region->old_size = state->region_break - region->alloc.addr;
	return true;
}

/*
 * While recording is paused only what is given back counts, as with free: what was there before,
 * where a call has mapped something else, is an munmap. False: nothing.
 */
static __always_inline bool gives_back(struct mt_ring_region *region)
{
	switch (region->alloc.hdr.kind) {
	case MT_RING_MMAP:
		if (!(region->flags & MAP_FIXED))
			return false;
		break;
	case MT_RING_MREMAP:
		if (region->flags & MREMAP_DONTUNMAP || !region->old_size)
			return false;
		region->alloc.addr = region->old_addr;
		region->alloc.size = region->old_size;
		break;
	case MT_RING_BRK:
		return region->alloc.size < region->old_size;
	}
	region->alloc.hdr.kind = MT_RING_MUNMAP;
	return true;
}

/* As a thread of musl's does that nobody waits for: nothing can be read there any more. */
static __always_inline bool took_own_stack(const struct mt_ring_region *region)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs___mt_x86 *regs = (void *)task_regs(current_task());
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs___mt_arm64 *regs = (void *)task_regs(current_task());
#endif

	return region->alloc.hdr.kind == MT_RING_MUNMAP &&
	       KERNEL_FIELD(regs, sp) - region->alloc.addr < region->alloc.size;
}

/* A call has come to its end. */
static __always_inline void finish_region(void *ctx, struct mt_task_state *state,
					  const struct syscall *call, __u64 nr, __u64 ret)
{
	struct mt_ring_region region = {};
	__u64 now = bpf_ktime_get_ns();
	__u32 stack = 0, kind;

	/* Of this call alone, also if it failed. */
	region.begin = state->region_begin;
	state->region_begin = 0;
	if (ret >= -4095ULL)
		return;
	if (!region.begin) {
		/* What was given back may be another's by now; what is new has no begin. */
		if (nr != NR_MMAP) {
			count_loss(MT_LOSS_REGION_BEGIN);
			return;
		}
		region.begin = now;
	}
	if (!fill_region(&region, state, call, nr, ret) || (paused && !gives_back(&region)))
		return;
	kind = region.alloc.hdr.kind;
	if (stack_size && !took_own_stack(&region))
		stack = capture_call_stack(ctx, state);
	fill_hdr(&region.alloc.hdr, kind, stack, now);
	if (bpf_ringbuf_output(&events, &region, sizeof(region), BPF_RB_NO_WAKEUP))
		count_loss(MT_LOSS_EVENT_RING);
	check_pressure(&events, ring_limit);
}

#endif
