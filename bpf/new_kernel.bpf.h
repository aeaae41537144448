/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/new_kernel.bpf.h - what old_kernel.bpf.h has for kernels before Linux 6.0: both define the
 * same.
 */
#ifndef MT_NEW_KERNEL_BPF_H
#define MT_NEW_KERNEL_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/mt_ring.h"

#define MT_NO_PREALLOC BPF_F_NO_PREALLOC

/* A field of a kernel object that a helper or a callback was given. */
#define KERNEL_FIELD(object, field) ((object)->field)

#define STRING_PIECES 1024

#define current_task() bpf_get_current_task_btf()
#define task_regs(task) bpf_task_pt_regs(task)
#define attach_cookie(ctx) bpf_get_attach_cookie(ctx)

/* fn(i, arg) for i from 0, n times, or until it is not 0; n is a constant. */
#define repeat(n, fn, arg) bpf_loop(n, fn, arg, 0)

/* fn(task, area, arg) of the area at addr. Not if there is none, or it cannot be told. */
#define find_vma(task, addr, fn, arg) bpf_find_vma(task, addr, fn, arg, 0)

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mt_task_state);
} tasks SEC(".maps");

/* Linux 6.10 and later. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/* State of a thread, NULL if there is none. */
#define find_state(task) ((struct mt_task_state *)bpf_task_storage_get(&tasks, task, 0, 0))

/*
 * Make the state of a thread. The kernel gives none while somebody else on this CPU is in the midst
 * of the same: nobody can be, if nobody can be preempted there.
 */
static __always_inline struct mt_task_state *new_state(struct task_struct *task)
{
	struct mt_task_state *state;

	if (bpf_preempt_disable)
		bpf_preempt_disable();
	state = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (bpf_preempt_enable)
		bpf_preempt_enable();
	return state;
}

/* A thread has ended. */
static __always_inline void drop_state(struct task_struct *task)
{
}

/* A number that the counter has not given before; never 0 before they are used up. */
#define next_number(counter) (__sync_fetch_and_add(counter, 1) + 1)

/* Was it the first? */
static __always_inline bool count_one(__u64 *counter)
{
	return __sync_fetch_and_add(counter, 1) == 0;
}

/* Was the place 0, and is now ours? */
static __always_inline bool take_place(__u64 *place, __u64 value)
{
	return __sync_val_compare_and_swap(place, 0, value) == 0;
}

static __always_inline void set_bits(__u64 *word, __u64 bits)
{
	__sync_fetch_and_or(word, bits);
}

static __always_inline void clear_bits(__u64 *word, __u64 bits)
{
	__sync_fetch_and_and(word, ~bits);
}

/* A constant of enum mt_process_flags or enum mt_unasked. */
#define SET_FLAG(flags, flag) __sync_fetch_and_or(flags, flag)
#define CLEAR_FLAG(flags, flag) __sync_fetch_and_and(flags, ~(__u64)(flag))

#endif
