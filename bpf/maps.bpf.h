/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* bpf/maps.bpf.h - maps, knobs and counters all programs share. */
#ifndef MT_MAPS_BPF_H
#define MT_MAPS_BPF_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel_types.h"
#include "bpf/mt_ring.h"

#ifdef MT_OLD_KERNEL
#include "bpf/old_kernel.bpf.h"
#else
#include "bpf/new_kernel.bpf.h"
#endif

#define SIGSTOP 19

/* Set before load. */
const volatile __u32 stack_size;
const volatile __u32 identity_mode;	/* enum mt_identity_mode */
const volatile __u32 pressure_on;	/* stop the tree rather than lose records */
const volatile __u64 ring_limit;	/* bytes in the event ring from which pressure begins */
const volatile __u64 stack_ring_limit;
const volatile __u64 request_ring_limit;
const volatile __u64 mappings_limit;	/* so many mappings of code that have not been read */
const volatile __u32 recorder_pid;
const volatile bool numbers_differ = true;	/* the recorder is in a pid namespace of its own */
const volatile __u64 code_mask = ~0ULL;	/* and-mask: strips pointer authentication */
const volatile __u32 regions_on;	/* mmap and its like are events */
const volatile __u64 sample_bytes;	/* bpf/sample.bpf.h; 0: every allocation is recorded */

/* Read by mt-record while running. */
struct mt_loss_counter losses[MT_LOSS_KINDS];
__u64 next_generation;
__u32 next_stack;
__u32 next_space;	/* a number for each address space; mt-record takes some too */
__s32 tracked_processes;
__u32 paused;		/* by mt-record: what allocates is not recorded, what frees is */
__u32 root_pid;		/* the command; set by mt-record */
__u32 root_runs;	/* it has been executed: until then mt-record waits for that alone */
__u64 root_signals[MT_SIGNALS_MAX];	/* when it was last sent each by somebody else, ... */
__u64 recorder_signals[MT_SIGNALS_MAX];	/* ... and mt-record was */
__u32 no_stops;		/* 1: nobody is there any more to resume whom we stop, or to answer */
__u32 next_ticket;
__u32 answers[MT_ANSWERS];	/* written by mt-record */
__u64 pressure_latch;	/* 1 from the start of an episode until mt-record ends it */
__u64 mappings_made;	/* of code, and other records of their rings, with pressure_on */
__u64 mappings_read;	/* as many of these, at least, mt-record has read; set by it */
__u32 unasked;		/* enum mt_unasked; mt-record takes it */
__u32 paused_some;	/* 1: processes have been marked MT_PROCESS_PAUSED; mt-record takes it */

/* Ring sizes are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} requests SEC(".maps");

/* The tracked tree by thread group id; flags are of enum mt_process_flags, and an address space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 17);
	__uint(map_flags, MT_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} processes SEC(".maps");

/* By thread group id. A process that finds no place has every stack defined anew. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct mt_process_code);
} codes SEC(".maps");

/* One zeroed value to start a process from: too big for the BPF stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_process_code);
} empty_code SEC(".maps");

/* Inodes whose allocators, if any, are probed: MT_INODE_*. Eviction only costs a stop. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct mt_inode_key);
	__type(value, __u8);
} known_inodes SEC(".maps");

/* Dynamic linkers that wait_in_linker is attached to: MT_LINKER_*. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct mt_inode_key);
	__type(value, __u8);
} linkers SEC(".maps");

/* Names whose execution stops nobody: until when that is believed, ns. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} exec_names SEC(".maps");

/* Stack identity -> stack id. Eviction only costs a second definition. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 18);
	__type(key, __u64);
	__type(value, __u32);
} seen_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs SEC(".maps");

/* The same for programs of sessions: an array is for programs of one kind. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_sessions SEC(".maps");

const volatile bool never;

#ifdef MT_OLD_KERNEL

static __always_inline void use_kernel_stack(void *ctx)
{
}

static __always_inline void use_kernel_stack_in_session(void *ctx)
{
}

#else

/*
 * For every program on a uprobe. Since Linux 6.13 a program's stack frames lie in memory of its
 * own, one piece a CPU, unless it can make a tail call; and a uprobe's program can be preempted
 * by another thread that runs it on that CPU, which then overwrites the frames of the first:
 * a kernel crash. The call is never made and is not even in the code that runs.
 */
static __always_inline void use_kernel_stack(void *ctx)
{
	if (never)
		bpf_tail_call(ctx, &no_programs, 0);
}

static __always_inline void use_kernel_stack_in_session(void *ctx)
{
	if (never)
		bpf_tail_call(ctx, &no_sessions, 0);
}

#endif

/*
 * Where mt-record runs in a pid namespace, its numbers are what all ids are in: /proc, perf and
 * the calls it makes have no others. Set once, by meet_recorder.
 */
__u32 pid_level;	/* 0: the machine's own namespace */
__u64 pid_space;

/* pid comes from bpf_core_read(): to the verifier a number, which it lets one count with. */
static __always_inline struct upid *number_at(struct pid *pid, __u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       (__u64)level * bpf_core_type_size(struct upid);
}

/* The recorder's number for it; 0: none, it is in no namespace that the recorder sees. */
static __always_inline __u32 number_of(struct pid *pid)
{
	struct upid *upid = number_at(pid, pid_level);

	if (BPF_CORE_READ(pid, level) < pid_level || (__u64)BPF_CORE_READ(upid, ns) != pid_space)
		return 0;
	return BPF_CORE_READ(upid, nr);
}

static __always_inline __u32 pid_of(struct task_struct *task)
{
	return numbers_differ ? number_of(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID])) :
				KERNEL_FIELD(task, tgid);
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	return numbers_differ ? number_of(BPF_CORE_READ(task, thread_pid)) :
				KERNEL_FIELD(task, pid);
}

/* As bpf_get_current_pid_tgid() has it. */
static __always_inline __u64 current_id(void)
{
	struct task_struct *task;

	if (!numbers_differ)
		return bpf_get_current_pid_tgid();
	task = current_task();
	return (__u64)pid_of(task) << 32 | tid_of(task);
}

SEC("raw_tp")
int meet_recorder(void *ctx)
{
	struct task_struct *task = current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *upid;

	pid_level = BPF_CORE_READ(pid, level);
	upid = number_at(pid, pid_level);
	pid_space = (__u64)BPF_CORE_READ(upid, ns);
	return 0;
}

static __always_inline void count_loss(__u32 kind)
{
	struct mt_loss_counter *loss;
	__u64 now = bpf_ktime_get_ns();

	if (kind >= MT_LOSS_KINDS)
		return;
	loss = &losses[kind];
	if (count_one(&loss->count))
		loss->first = now;
	loss->last = now;
}

/* State of the current thread, NULL if it is not tracked. */
static __always_inline struct mt_task_state *current_state(void)
{
	struct task_struct *task = current_task();
	struct mt_task_state *state = find_state(task);
	__u64 *flags;
	__u32 pid;

	if (state)
		return state;
	/* Of an adopted process, or without a state from its start: it gets one when first met. */
	pid = current_id() >> 32;
	flags = bpf_map_lookup_elem(&processes, &pid);
	if (!flags)
		return NULL;
	state = new_state(task);
	if (!state)
		count_loss(MT_LOSS_THREAD_STATE);
	else
		state->space = *flags >> MT_PROCESS_SPACE_SHIFT;
	return state;
}

/*
 * SIGSTOP for the current process, marked as ours. Sent to the thread: sent to the process, the
 * kernel may choose another, sleeping thread to take it, and this one runs on until
 * that one is scheduled. Whoever takes it stops them all.
 * asked: a request tells mt-record whom to resume. Without one it looks through the processes, and
 * one that has found no place there is let run. The mark comes when the signal has been sent: who
 * is seen to have it can be resumed for good.
 */
static __always_inline void stop_process(__u32 mark, bool asked)
{
	__u32 pid = current_id() >> 32;
	__u64 *flags;

	if (no_stops)
		return;
	flags = bpf_map_lookup_elem(&processes, &pid);
	if (!flags && !asked)
		return;
	bpf_send_signal_thread(SIGSTOP);
	if (!flags)
		return;
	if (mark == MT_PROCESS_STOPPED) {
		SET_FLAG(flags, MT_PROCESS_STOPPED);
		return;
	}
	SET_FLAG(flags, MT_PROCESS_PAUSED);
	paused_some = 1;
}

static __always_inline void fill_hdr(struct mt_ring_hdr *hdr, __u32 kind, __u32 stack, __u64 time)
{
	__u64 id = current_id();

	hdr->kind = kind;
	hdr->group = 0;
	hdr->pid = id >> 32;
	hdr->tid = (__u32)id;
	hdr->stack = stack;
	hdr->time = time;
}

#endif
