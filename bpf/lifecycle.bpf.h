/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* bpf/lifecycle.bpf.h - fork, exec, exit and names of the tracked tree. */
#ifndef MT_LIFECYCLE_BPF_H
#define MT_LIFECYCLE_BPF_H

#include "bpf/code.bpf.h"
#include "bpf/pressure.bpf.h"

/*
 * Where programs on tracepoints and functions can be preempted (Linux 7 and later; CONFIG_PREEMPT),
 * the kernel leaves one out, and counts that, if it is to run for a second task while the first
 * is inside it on the same CPU. So what must not be missed has two programs. For each event
 * the one that runs first has the turn, and leaves a mark that makes the other do nothing. An event
 * is missed only if both are left out: at most the lower of their two counts.
 */
enum turn {
	TURN_FORK,
	TURN_EXEC,
	TURN_EXIT,
	TURN_CALL,
};

static __always_inline bool my_turn(struct mt_task_state *state, enum turn what, __u32 which)
{
	__u32 mine = 1U << (2 * what + which), other = 1U << (2 * what + !which);

	if (state->turns & other) {
		state->turns &= ~other;
		return false;
	}
	state->turns |= mine;
	return true;
}

/* What the process itself takes for its number: it names files by it. */
static __always_inline __u32 own_pid_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	struct upid *upid = number_at(pid, BPF_CORE_READ(pid, level));

	return BPF_CORE_READ(upid, nr);
}

static __always_inline void submit_fork(struct task_struct *parent, struct task_struct *child,
					__u32 kind)
{
	struct mt_ring_fork *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_LIFECYCLE_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_hdr(&rec->hdr, kind, 0, bpf_ktime_get_ns());
	rec->child_pid = pid_of(child);
	rec->child_tid = tid_of(child);
	rec->shares_memory = child->mm == parent->mm;
	rec->own_pid = own_pid_of(child);
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), child->comm);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline __u64 new_space(void)
{
	return (__u32)next_number(&next_space);
}

/* Runs in the creator, before the child does. */
static __always_inline void forked(struct task_struct *parent, struct task_struct *child,
				   __u32 which)
{
	struct mt_task_state *state = current_state(), *fresh;
	__u64 space, flags;
	__u32 pid;

	if (!state || !my_turn(state, TURN_FORK, which))
		return;
	space = child->mm == parent->mm ? state->space : new_space();
	/* If it cannot be had now, then when the child is first met. */
	fresh = new_state(child);
	if (fresh)
		fresh->space = space;
	if (child->tgid == parent->tgid) {
		submit_fork(parent, child, MT_RING_THREAD);
		return;
	}
	pid = pid_of(child);
	flags = space << MT_PROCESS_SPACE_SHIFT;
	/* Without a place it is seen while it lasts, but nobody waits for its end, or stops it. */
	if (bpf_map_update_elem(&processes, &pid, &flags, BPF_ANY)) {
		count_loss(MT_LOSS_THREAD_STATE);
	} else {
		__sync_fetch_and_add(&tracked_processes, 1);
		code_inherit(pid_of(parent), pid);
	}
	submit_fork(parent, child, MT_RING_FORK);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	forked(parent, child, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork_2, struct task_struct *parent, struct task_struct *child)
{
	forked(parent, child, 1);
	return 0;
}

static __always_inline void submit_exec(struct task_struct *task, int old_pid,
					struct linux_binprm *bprm)
{
	struct mt_ring_exec *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_LIFECYCLE_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_hdr(&rec->hdr, MT_RING_EXEC, 0, bpf_ktime_get_ns());
	rec->old_tid = old_pid == task->pid ? rec->hdr.tid : (__u32)old_pid;
	rec->own_pid = own_pid_of(task);
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), task->comm);
	rec->path[0] = 0;
	bpf_probe_read_kernel_str(rec->path, sizeof(rec->path), bprm->filename);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void submit_exit(__u32 kind, __u32 status)
{
	struct mt_ring_exit *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_LIFECYCLE_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_hdr(&rec->hdr, kind, 0, bpf_ktime_get_ns());
	rec->status = status;
	rec->pad = 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

static __always_inline void exited(struct task_struct *task, __u32 which)
{
	struct mt_task_state *state = current_state();
	__u32 pid = pid_of(task), status;

	if (!state || !my_turn(state, TURN_EXIT, which))
		return;
	submit_exit(MT_RING_THREAD_EXIT, task->exit_code);
	/* Of two threads that exit at once both can find themselves the last. */
	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return;
	bpf_map_delete_elem(&codes, &pid);
	if (bpf_map_delete_elem(&processes, &pid))
		return;
	status = BPF_CORE_READ(task, signal, group_exit_code);
	submit_exit(MT_RING_EXIT, status ? status : task->exit_code);
	__sync_fetch_and_add(&tracked_processes, -1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	exited(task, 0);
	drop_state(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_2, struct task_struct *task)
{
	exited(task, 1);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct mt_ring_name *rec;

	if (!find_state(task))
		return 0;
	/* The kernel tells of it there too. */
	check_mappings(1);
	rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);
	if (!rec) {
		count_loss(MT_LOSS_LIFECYCLE_RING);
		check_pressure(&events, ring_limit);
		return 0;
	}
	fill_hdr(&rec->hdr, MT_RING_NAME, 0, bpf_ktime_get_ns());
	rec->hdr.pid = pid_of(task);
	rec->hdr.tid = tid_of(task);
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), comm);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
	return 0;
}

#endif
