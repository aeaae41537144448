/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/signals.bpf.h - who is stopped by whom.
 *
 * Whom somebody else has stopped must not be resumed by us. But a parent that waits for stopped
 * children (script, su, sudo) takes one that stands still for us for suspended, stops itself, and
 * would wait for ever: such a stop is ours too.
 */
#ifndef MT_SIGNALS_BPF_H
#define MT_SIGNALS_BPF_H

#include "bpf/pressure.bpf.h"

#define SIGCONT 18
#define SIGTSTP 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SEND_SIG_PRIV 1

/* A parent may learn of a stop when it is over, and be slow to answer: a machine can be busy. */
#define ANSWER_NS 10000000000LL
#define ANCESTORS_MAX 32

/*
 * By thread group id: when we have last stopped or resumed somebody below this process; 0 if
 * somebody else has sent such a one a stop signal since. Eviction costs that an answer is not seen.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} stops_below SEC(".maps");

static __always_inline struct task_struct *parent_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_parent);
}

/* As pid_of(), of a task that comes from bpf_core_read(). */
static __always_inline __u32 pid_of_read(struct task_struct *task)
{
	return numbers_differ ? number_of(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID])) :
				(__u32)BPF_CORE_READ(task, tgid);
}

/* The latest stop below them is ours, or (time 0) somebody else's. */
static __always_inline void tell_ancestors(struct task_struct *task, __u64 time)
{
	__u32 i, pid;

	_Pragma("clang loop unroll(disable)")
	for (i = 0; i < ANCESTORS_MAX; i++) {
		task = parent_of(task);
		pid = pid_of_read(task);
		if (!bpf_map_lookup_elem(&processes, &pid))
			break;
		bpf_map_update_elem(&stops_below, &pid, &time, BPF_ANY);
	}
}

/*
 * Does the current process stop itself, or one above it with its group, while one below stands
 * still for us, or just did?
 */
static __always_inline bool answers_stop(__u32 stopped)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 pid = current_id() >> 32, i;
	__u64 *time = bpf_map_lookup_elem(&stops_below, &pid);

	if (!time || !*time || (__s64)(bpf_ktime_get_ns() - *time) > ANSWER_NS)
		return false;
	_Pragma("clang loop unroll(disable)")
	for (i = 0; i < ANCESTORS_MAX; i++) {
		if (pid_of_read(task) == stopped)
			return true;
		task = parent_of(task);
	}
	return false;
}

/*
 * Who was stopped in answer goes on with those who stand still for us. The signal has been sent, so
 * that a SIGCONT undoes it from now on.
 */
static __always_inline void take_for_ours(__u32 pid, __u64 *flags)
{
	struct mt_ring_request *rec = bpf_ringbuf_reserve(&requests, sizeof(*rec), 0);

	SET_FLAG(flags, MT_PROCESS_STOPPED);
	if (!rec) {
		if (pressure_on)
			SET_FLAG(&unasked, MT_UNASKED_MAPPING);
		else
			count_loss(MT_LOSS_REQUEST_RING);
		return;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->pid = pid;
	rec->kind = MT_REQUEST_RESUME;
	rec->time = bpf_ktime_get_ns();
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

/* So that mt-record can tell a signal to all of us from one to itself alone, to be passed on. */
static __always_inline void note_signal(int sig, __u32 pid)
{
	if (sig < 0 || sig >= MT_SIGNALS_MAX)
		return;
	if (pid == root_pid)
		root_signals[sig] = bpf_ktime_get_ns();
	else if (pid == recorder_pid)
		recorder_signals[sig] = bpf_ktime_get_ns();
}

/*
 * Another mt-record resumes whom it stops, as we do. Were both taken for somebody who holds the
 * process, each would leave it to the other.
 */
static __always_inline bool by_other_recorder(int sig, struct kernel_siginfo *info)
{
	return sig == SIGSTOP && (unsigned long)info > SEND_SIG_PRIV &&
	       BPF_CORE_READ(info, si_errno) == MT_STOP_ERRNO;
}

/* Our own stops come from the kernel (SEND_SIG_PRIV) or from mt-record. */
SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	bool by_recorder = current_id() >> 32 == recorder_pid;
	bool by_kernel = (unsigned long)info == SEND_SIG_PRIV, ours;
	__u32 pid = pid_of(task);
	__u64 *flags;

	if (!by_recorder)
		note_signal(sig, pid);
	if (sig < SIGCONT || sig > SIGTTOU || (!by_recorder && by_other_recorder(sig, info)))
		return 0;
	flags = bpf_map_lookup_elem(&processes, &pid);
	if (!flags)
		return 0;
	ours = by_recorder ? sig <= SIGSTOP && !(*flags & MT_PROCESS_HELD) :
			     sig == SIGSTOP && by_kernel;
	if (!ours && !by_recorder && sig == SIGSTOP && !(*flags & MT_PROCESS_HELD) &&
	    answers_stop(pid)) {
		take_for_ours(pid, flags);
		ours = true;
	}
	if (sig != SIGCONT || ours)
		tell_ancestors(task, ours ? bpf_ktime_get_ns() : 0);
	if (ours || by_recorder || by_kernel)
		return 0;
	if (sig == SIGSTOP)
		SET_FLAG(flags, MT_PROCESS_HELD);
	else if (sig == SIGCONT)
		CLEAR_FLAG(flags, MT_PROCESS_HELD);
	return 0;
}

#endif
