/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/stack_copy.bpf.h - one user stack in a buffer, as it would be without our probes.
 *
 * A capture borrows one of a few large buffers for as long as the program runs. A buffer per CPU
 * would not do (a uprobe program can be preempted by another one); one per thread
 * would cost 64 KiB for each.
 */
#ifndef MT_STACK_COPY_BPF_H
#define MT_STACK_COPY_BPF_H

#include "bpf/code.bpf.h"
#include "bpf/pressure.bpf.h"

#define CAPTURES 64
#define CAPTURE_TRIES 16
#define RETURN_INSTANCES_MAX 64

/* enum mt_stack_flags */
#define CUT_BUDGET 1
#define CUT_FAULT 2
#define HOLES 4

struct capture {
	__u32 busy;
	__u32 pad;
	struct mt_ring_stack def;
	__u8 bytes[65536];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURES);
	__type(key, __u32);
	__type(value, struct capture);
} captures SEC(".maps");

struct stack_area {
	__u64 start;
	__u64 end;
};

#ifdef MT_OLD_KERNEL

/* One for each CPU: mt-record sees to that. */
static __always_inline struct capture *capture_get(void)
{
	__u32 index = bpf_get_smp_processor_id();
	struct capture *capture = bpf_map_lookup_elem(&captures, &index);

	if (!capture)
		count_loss(MT_LOSS_STACK_SCRATCH);
	return capture;
}

static __always_inline void capture_put(struct capture *capture)
{
}

#else

struct capture_search {
	__u32 start;
	__u32 found;	/* index + 1 */
};

/* Loops are callbacks where what follows is large: the verifier walks that once, not per turn. */
static long try_capture(__u32 i, struct capture_search *search)
{
	__u32 index = (search->start + i) % CAPTURES;
	struct capture *capture = bpf_map_lookup_elem(&captures, &index);

	if (!capture || __sync_val_compare_and_swap(&capture->busy, 0, 1) != 0)
		return 0;
	search->found = index + 1;
	return 1;
}

static __always_inline struct capture *capture_get(void)
{
	struct capture_search search = { .start = bpf_get_smp_processor_id() };
	__u32 index;

	repeat(CAPTURE_TRIES, try_capture, &search);
	if (!search.found) {
		count_loss(MT_LOSS_STACK_SCRATCH);
		return NULL;
	}
	index = search.found - 1;
	return bpf_map_lookup_elem(&captures, &index);
}

static __always_inline void capture_put(struct capture *capture)
{
	__sync_lock_test_and_set(&capture->busy, 0);
}

#endif

static long area_of_vma(struct task_struct *task, struct vm_area_struct *vma,
			struct stack_area *area)
{
	area->start = KERNEL_FIELD(vma, vm_start);
	area->end = KERNEL_FIELD(vma, vm_end);
	return 0;
}

/* Where the stack that holds sp ends; 0 if that cannot be told now. */
static __always_inline __u64 stack_end(struct mt_task_state *state, struct task_struct *task,
				       __u64 sp)
{
	struct stack_area area = {};
	__u64 start_stack;

	if (sp >= state->stack_lo && sp < state->stack_end)
		return state->stack_end;

	/* Fails while another thread changes mappings: then the copy just runs to the budget. */
	find_vma(task, sp, area_of_vma, &area);
	if (!area.end)
		return 0;
	start_stack = BPF_CORE_READ(task, mm, start_stack);
	state->stack_lo = area.start;
	state->stack_end = sp <= start_stack && start_stack < area.end ? start_stack + 8 : area.end;
	return state->stack_end;
}

struct copy {
	struct capture *capture;
	__u64 sp;
	__u32 len;
	__u32 done;
	__u32 end_known;
	__u32 holes;
};

static long copy_page(__u32 i, struct copy *copy)
{
	__u32 done = copy->done, piece = 4096 - ((copy->sp + done) & 4095);

	if (done >= copy->len || done > sizeof(copy->capture->bytes) - 4096)
		return 1;
	if (piece > copy->len - done)
		piece = copy->len - done;
	/* So that the bound is seen on the value used; Linux 6.1 needs it. */
	barrier_var(piece);
	if (piece > 4096)
		return 1;
	if (bpf_probe_read_user(copy->capture->bytes + done, piece, (void *)(copy->sp + done))) {
		/* Below a stack's known end: a page never touched, or swapped out. */
		if (!copy->end_known)
			return 1;
		copy->holes = 1;
	}
	copy->done = done + piece;
	return 0;
}

/*
 * Copy [sp, sp + len) of user memory: bytes copied, a multiple of 8. Piecewise only if it does not
 * go at once. Sets HOLES or CUT_FAULT in the capture's flags.
 */
static __always_inline __u32 copy_stack(struct capture *capture, __u64 sp, __u32 len,
					bool end_known)
{
	struct copy copy = { .capture = capture, .sp = sp, .end_known = end_known };

	if (len > MT_RING_STACK_MAX)
		len = MT_RING_STACK_MAX;
	copy.len = len;
	if (bpf_probe_read_user(capture->bytes, len, (void *)sp) == 0)
		return len;
	repeat(17, copy_page, &copy);
	if (copy.holes)
		capture->def.flags |= HOLES;
	if (copy.done < len) {
		/* With the end unknown, running into unmapped memory is how a short stack ends. */
		capture->def.flags = CUT_FAULT;
		capture->def.above = 0;
	}
	return copy.done & ~7U;
}

static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

struct repair {
	struct capture *capture;
	struct return_instance *instance;
	__u64 sp;
	__u64 trampoline;
	__u32 len;
};

#if defined(__TARGET_ARCH_x86)

/* A call leaves its return address at the stack pointer that the callee begins with. */
static long repair_return(__u32 i, struct repair *repair)
{
	struct return_instance *instance = repair->instance;
	__u64 off, *word;

	if (!instance)
		return 1;
	off = BPF_CORE_READ(instance, stack) - repair->sp;
	if (off < repair->len && off < sizeof(repair->capture->bytes) - 8 && !(off & 7)) {
		word = (__u64 *)(repair->capture->bytes + off);
		if (*word == repair->trampoline)
			*word = BPF_CORE_READ(instance, orig_ret_vaddr);
	}
	repair->instance = BPF_CORE_READ(instance, next);
	return 0;
}

static __always_inline void repair_stack(struct repair *repair)
{
	repeat(RETURN_INSTANCES_MAX, repair_return, repair);
}

#else

/* A callee saves its return address, signed or not, anywhere below where its stack began. */
static long repair_word(__u32 i, struct repair *repair)
{
	__u64 *word = (__u64 *)(repair->capture->bytes + (i & 8191) * 8);
	struct return_instance *instance = repair->instance;
	__u64 addr = repair->sp + i * 8;
	__u32 k;

	if (i >= repair->len / 8)
		return 1;
	if (strip_code(*word) != repair->trampoline)
		return 0;
	for (k = 0; k < 4 && instance && addr >= BPF_CORE_READ(instance, stack); k++)
		instance = BPF_CORE_READ(instance, next);
	if (instance && addr < BPF_CORE_READ(instance, stack))
		*word = BPF_CORE_READ(instance, orig_ret_vaddr);
	repair->instance = instance;
	return 0;
}

static __always_inline void repair_stack(struct repair *repair)
{
	repeat(MT_RING_STACK_MAX / 8, repair_word, repair);
}

#endif

/* Put back return addresses that pending return probes have replaced. */
static __always_inline void repair_returns(struct capture *capture, struct task_struct *task,
					   __u64 sp, __u32 len)
{
	struct repair repair = { .capture = capture, .sp = sp, .len = len };

	repair.instance = BPF_CORE_READ(task, utask, return_instances);
	if (!repair.instance)
		return;
	repair.trampoline = trampoline_of(task);
	repair_stack(&repair);
}

#endif
