/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/stack.bpf.h - capture of one user stack: copy, repair, identity, definition.
 *
 * A capture borrows one of a few large buffers for as long as the program runs. A buffer per CPU
 * would not do (a uprobe program can be preempted by another one); one per thread
 * would cost 64 KiB for each.
 */
#ifndef MT_STACK_BPF_H
#define MT_STACK_BPF_H

#include "bpf/code.bpf.h"
#include "bpf/pressure.bpf.h"

#define CAPTURES 64
#define CAPTURE_TRIES 16
#define RETURN_INSTANCES_MAX 64
#define SCAN_WORDS 32

#define FNV_BASIS 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

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

struct scan {
	struct capture *capture;
	struct mt_process_code *code;	/* NULL: any user address may be code */
	__u64 hash;
	__u32 words;
};

static __always_inline __u64 fold(__u64 hash, __u64 word)
{
	return (hash ^ word) * FNV_PRIME;
}

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

	bpf_loop(CAPTURE_TRIES, try_capture, &search, 0);
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

static long area_of_vma(struct task_struct *task, struct vm_area_struct *vma,
			struct stack_area *area)
{
	area->start = vma->vm_start;
	area->end = vma->vm_end;
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
	bpf_find_vma(task, sp, area_of_vma, &area, 0);
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
	bpf_loop(17, copy_page, &copy, 0);
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
	bpf_loop(RETURN_INSTANCES_MAX, repair_return, repair, 0);
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
	bpf_loop(MT_RING_STACK_MAX / 8, repair_word, repair, 0);
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

static long scan_words(__u32 i, struct scan *scan)
{
	struct mt_process_code *code = scan->code;
	__u32 at = (i * SCAN_WORDS) & 8191, k;
	__u64 *words = (__u64 *)(scan->capture->bytes + at * 8), hash = scan->hash, v;
	__u64 lowest, span;
	__u32 left = scan->words - at;

	if (at >= scan->words)
		return 1;
	if (!code) {
		for (k = 0; k < SCAN_WORDS && k < left; k++) {
			v = strip_code(words[k]);
			if (v >= USER_CODE_MIN && v < USER_CODE_MAX)
				hash = fold(fold(hash, at + k), v);
		}
	} else {
		/* Small numbers would be in the first chunks, should two share a place there. */
		lowest = code->lowest;
		span = code->highest - lowest;
		for (k = 0; k < SCAN_WORDS && k < left; k++) {
			v = strip_code(words[k]);
			if (v - lowest < span && is_code(code, v))
				hash = fold(fold(hash, at + k), v);
		}
	}
	scan->hash = hash;
	return 0;
}

static long digest_words(__u32 i, struct scan *scan)
{
	__u32 at = (i * SCAN_WORDS) & 8191, k;
	__u64 *words = (__u64 *)(scan->capture->bytes + at * 8), hash = scan->hash;
	__u32 left = scan->words - at;

	if (at >= scan->words)
		return 1;
	for (k = 0; k < SCAN_WORDS && k < left; k++)
		hash = fold(hash, words[k]);
	scan->hash = hash;
	return 0;
}

/*
 * hash with the words of the capture that count. Global, so that the verifier walks the scan once
 * and not for every path that leads to it: a third of a second at each start.
 */
__noinline __u64 scan_stack(struct capture *capture, struct mt_process_code *code, __u64 hash,
			    __u32 words)
{
	struct scan scan = { .capture = capture, .code = code, .hash = hash, .words = words };

	if (!capture)
		return hash;
	if (identity_mode == MT_IDENTITY_BYTES)
		bpf_loop(MT_RING_STACK_MAX / 8 / SCAN_WORDS + 1, digest_words, &scan, 0);
	else
		bpf_loop(MT_RING_STACK_MAX / 8 / SCAN_WORDS + 1, scan_words, &scan, 0);
	return scan.hash;
}

/*
 * Where a capture begins. A uprobe's context has the registers; of a system call they are the
 * task's, whose fields have other names.
 */
struct origin {
	void *ctx;		/* the program's */
	bool call;		/* a system call's; else ctx are the registers */
	struct pt_regs *task;
	__u64 ip;
	__u64 fp;
	__u64 sp;
#if defined(__TARGET_ARCH_arm64)
	__u64 link;
#endif
};

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

	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	to[16] = regs->ip;
#elif defined(__TARGET_ARCH_arm64)
	bpf_probe_read_kernel(to, 33 * sizeof(*to), task);
#endif
}

static __always_inline __u32 define_stack(const struct origin *from, struct capture *capture,
					  __u64 hash, __u64 link, __u32 len, bool shared)
{
	__u64 id = current_id();
	__u32 stack = __sync_fetch_and_add(&next_stack, 1) + 1, *seen;
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
	capture->def.identity = hash;
	capture->def.n_bytes = len;
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
	}
	check_pressure(&stacks, stack_ring_limit);
	return stack;
}

static __always_inline __u64 stack_identity(const struct origin *from, struct capture *capture,
					    struct mt_process_code *code, __u64 link, __u32 len)
{
	__u64 fp = from->fp - from->sp, hash;

	if (code)
		code_resolve(code);
	hash = fold(FNV_BASIS, code ? code->generation : 0);
	hash = fold(hash, from->ip);
	if (link)
		hash = fold(hash, link);
	/* A caller that keeps its frame base in a register unwinds by it. */
	if (fp < len)
		hash = fold(hash, fp);
	hash = scan_stack(capture, code && !code->unknown && !code->pending ? code : NULL, hash,
			  len / 8);
	if (capture->def.flags)
		hash = fold(hash, capture->def.above);
	return hash;
}

/* Stack id of the calling thread's stack, defined on first sight; 0 if that was not possible. */
static __always_inline __u32 capture_from(const struct origin *from, struct mt_task_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mt_process_code *code = process_code(current_id() >> 32);
	struct capture *capture = capture_get();
	/* Without a table nothing tells when other code has come to the same addresses. */
	bool shared = identity_mode != MT_IDENTITY_EVERY && code;
	__u32 want = stack_size, len, stack = 0, *seen;
	__u64 end, hash, link, sp = from->sp;

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
	link = link_register(from, task);
	hash = stack_identity(from, capture, code, link, len);
	seen = shared ? bpf_map_lookup_elem(&seen_stacks, &hash) : NULL;
	stack = seen ? *seen : define_stack(from, capture, hash, link, len, shared);
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
	struct pt_regs *task = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct origin from = { .ctx = ctx, .call = true, .task = task };
#if defined(__TARGET_ARCH_x86)
	struct pt_regs___mt_x86 *regs = (void *)task;

	from.ip = regs->ip;
	from.fp = regs->bp;
	from.sp = regs->sp;
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs___mt_arm64 *regs = (void *)task;

	from.ip = regs->pc;
	from.fp = regs->regs[29];
	from.link = regs->regs[30];
	from.sp = regs->sp;
#endif
	return capture_from(&from, state);
}

#endif
