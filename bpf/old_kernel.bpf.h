/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/old_kernel.bpf.h - what new_kernel.bpf.h has, for Linux 5.10 to 5.19.
 *
 * The first of them have no task storage for these programs, no callbacks, no look at memory areas,
 * no atomic operation that gives a result, no cookies. But on uprobes and tracepoints there is no
 * preemption either: whoever runs has the CPU to himself. Functions that are not static are given
 * numbers only; the verifier walks each once.
 */
#ifndef MT_OLD_KERNEL_BPF_H
#define MT_OLD_KERNEL_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/mt_ring.h"

/* With memory allocated at run time the kernel warns of programs of these kinds. */
#define MT_NO_PREALLOC 0

#define STRING_PIECES 64

#define KERNEL_FIELD(object, field) BPF_CORE_READ(object, field)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct vm_area_struct___tree {
	unsigned long vm_start;
	unsigned long vm_end;
	struct rb_node vm_rb;
};

typedef struct {
	long counter;
} atomic_long_t;

struct rw_semaphore {
	atomic_long_t count;
};

struct mm_struct___tree {
	struct rb_root mm_rb;
	__u64 vmacache_seqnum;
	struct rw_semaphore mmap_lock;
};

struct task_struct___stack {
	void *stack;
};

#pragma clang attribute pop

/* By address of the task. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MT_OLD_THREADS);
	__type(key, __u64);
	__type(value, struct mt_task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_task_state);
} empty_state SEC(".maps");

/* Each CPU has numbers of its own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_numbers);
} numbers SEC(".maps");

/* A small program for each cookie, made by mt-record, leaves it here and jumps to one of these. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cookies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, MT_OLD_PROBES);
	__type(key, __u32);
	__type(value, __u32);
} probes SEC(".maps");

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

/* At the end of the task's kernel stack. */
#define KERNEL_STACK 16384

static __always_inline void *task_regs(struct task_struct *task)
{
	struct task_struct___stack *has = (void *)task;
	void *stack = BPF_CORE_READ(has, stack);

#if defined(__TARGET_ARCH_x86)
	return stack + KERNEL_STACK - bpf_core_type_size(struct pt_regs___mt_x86);
#elif defined(__TARGET_ARCH_arm64)
	return stack + KERNEL_STACK - bpf_core_type_size(struct pt_regs___mt_arm64);
#endif
}

static __always_inline __u64 attach_cookie(void *ctx)
{
	__u32 zero = 0;
	__u64 *cookie = bpf_map_lookup_elem(&cookies, &zero);

	return cookie ? *cookie : 0;
}

#define repeat(n, fn, arg)						\
	do {								\
		__u32 i_;						\
									\
		_Pragma("clang loop unroll(disable)")			\
		for (i_ = 0; i_ < (n); i_++)				\
			if (fn(i_, arg))				\
				break;					\
	} while (0)

/* Another number when areas have gone since; 0 while somebody is at work on them. */
static __always_inline __u64 areas_version(void)
{
	struct task_struct *task = current_task();
	struct mm_struct___tree *mm = (void *)BPF_CORE_READ(task, mm);

	if (!mm || BPF_CORE_READ(mm, mmap_lock.count.counter) & 1)
		return 0;
	return BPF_CORE_READ(mm, vmacache_seqnum) + 1;
}

#define TREE_DEPTH 40	/* 2^16 areas make one of 32 */

/* The current process's area at addr, 0: none. */
__noinline __u64 area_at(__u64 addr)
{
	struct task_struct *task = current_task();
	struct mm_struct___tree *mm = (void *)BPF_CORE_READ(task, mm);
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);
	struct vm_area_struct___tree *area;
	__u32 i;

	for (i = 0; i < TREE_DEPTH && node; i++) {
		area = (void *)node -
		       bpf_core_field_offset(struct vm_area_struct___tree, vm_rb);
		if (addr >= BPF_CORE_READ(area, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else if (addr < BPF_CORE_READ(area, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else
			return (__u64)area;
	}
	return 0;
}

/* task is the current one. Without the lock: what changed meanwhile is not believed. */
#define find_vma(task, addr, fn, arg)					\
	do {								\
		__u64 version_ = areas_version(), area_ = 0;		\
									\
		if (version_)						\
			area_ = area_at(addr);				\
		if (area_) {						\
			fn(task, (struct vm_area_struct *)area_, arg);	\
			if (areas_version() != version_)		\
				__builtin_memset(arg, 0, sizeof(*(arg)));	\
		}							\
	} while (0)

static __always_inline struct mt_task_state *find_state(struct task_struct *task)
{
	__u64 key = (__u64)task;

	return bpf_map_lookup_elem(&tasks, &key);
}

static __always_inline struct mt_task_state *new_state(struct task_struct *task)
{
	__u64 key = (__u64)task;
	__u32 zero = 0;
	void *empty = bpf_map_lookup_elem(&empty_state, &zero);

	if (!empty || bpf_map_update_elem(&tasks, &key, empty, BPF_ANY))
		return NULL;
	return bpf_map_lookup_elem(&tasks, &key);
}

static __always_inline void drop_state(struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&tasks, &key);
}

static __always_inline __u64 take_number(void)
{
	__u32 zero = 0;
	struct mt_numbers *mine = bpf_map_lookup_elem(&numbers, &zero);
	__u64 number = 0;

	if (mine) {
		number = mine->next;
		mine->next += mine->step;
	}
	return number;
}

#define next_number(counter) take_number()

static __always_inline bool count_one(__u64 *counter)
{
	bool first = *(volatile __u64 *)counter == 0;

	__sync_fetch_and_add(counter, 1);
	return first;
}

/* Whoever does any of these has a lock, or it does not matter that two can at once. */
static __always_inline bool take_place(__u64 *place, __u64 value)
{
	if (*(volatile __u64 *)place)
		return false;
	*(volatile __u64 *)place = value;
	return true;
}

static __always_inline void set_bits(__u64 *word, __u64 bits)
{
	*word |= bits;
}

static __always_inline void clear_bits(__u64 *word, __u64 bits)
{
	*word &= ~bits;
}

#define FLAG_BYTE(flags, flag) \
	(((volatile __u8 *)(flags))[(flag) >> 16 ? 2 : (flag) >> 8 ? 1 : 0])
#define SET_FLAG(flags, flag) (FLAG_BYTE(flags, flag) = 1)
#define CLEAR_FLAG(flags, flag) (FLAG_BYTE(flags, flag) = 0)

#endif
