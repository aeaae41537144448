/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/wait.bpf.h - waiting for probes without being stopped.
 *
 * A stop is seen by parents that wait for stopped children: a shell with job control, script and
 * sudo take their child for suspended. Whoever maps a file through a dynamic linker need not be
 * stopped: it asks, goes on, and waits in the linker, before any code of the file runs.
 */
#ifndef MT_WAIT_BPF_H
#define MT_WAIT_BPF_H

#include "bpf/watch.bpf.h"

/*
 * Then it is stopped after all. An answer takes some milliseconds, but on a machine that is busy
 * or emulated it has taken more than a second; if mt-record is gone, no_stops says so.
 */
#define WAIT_NS 10000000000ULL
#define JOBCTL_STOP_PENDING (1UL << 17)	/* include/linux/sched/jobctl.h: another thread took it */
#define LOOKS_MAX (1 << 23)	/* as many as a loop may have: seconds, too */

struct wait {
	__u64 deadline;
	__u64 sp;
	__u32 ticket;
	__u32 answered;
};

/* Will the thread stop once it is back in its program? */
static __noinline bool is_told_to_stop(void)
{
	struct task_struct *task = current_task();
	unsigned long signals = BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]) |
				BPF_CORE_READ(task, pending.signal.sig[0]);

	return signals & 1UL << (SIGSTOP - 1) || BPF_CORE_READ(task, jobctl) & JOBCTL_STOP_PENDING;
}

static long look_for_answer(__u32 i, struct wait *wait)
{
	__u8 byte;

	wait->answered = is_answered(wait->ticket);
	if (wait->answered || bpf_ktime_get_ns() > wait->deadline)
		return 1;
	/* Everybody is to stand still, which mt-record waits for before it answers anybody. */
	if (*(volatile __u64 *)&pressure_latch && is_told_to_stop())
		return 1;
	/* May sleep, and so lets others have the CPU, mt-record among them. */
	if (!bpf_copy_from_user_task(&byte, sizeof(byte), (void *)wait->sp,
				     current_task(), 0))
		return 0;
	/* It is being killed, and shall not wait for us. */
	return 1;
}

/* Has it been answered? */
static __always_inline bool wait_for(__u32 ticket, __u64 sp)
{
	struct wait wait = {
		.ticket = ticket, .sp = sp, .deadline = bpf_ktime_get_ns() + WAIT_NS,
	};

	repeat(LOOKS_MAX, look_for_answer, &wait);
	return wait.answered;
}

#define R_STATE 24	/* <link.h>: in struct r_debug */
#define RT_ADD 1

/*
 * Of a linker that is the C library too: does it begin to map files? to_debug leads from the place
 * that is probed to its pointer to what it tells debuggers.
 */
static __noinline bool begins_linking(__u64 place, __u64 to_debug)
{
	__u64 debug = 0;
	__u32 state = 0;

	if (!to_debug || bpf_copy_from_user(&debug, sizeof(debug), (void *)(place + to_debug)) ||
	    bpf_copy_from_user(&state, sizeof(state), (void *)(debug + R_STATE)))
		return false;
	return state == RT_ADD;
}

/*
 * A program that may sleep may not make tail calls, as use_kernel_stack() wants it. Its stack
 * frames are below the 64 bytes from which on the kernel puts them elsewhere, and must stay so.
 */
SEC("uprobe.s")
int wait_in_linker(struct pt_regs *ctx)
{
	struct mt_task_state *state;
	__u32 ticket;

	state = find_state(current_task());
	if (!state)
		return 0;
	state->linking = begins_linking(PT_REGS_IP(ctx), attach_cookie(ctx));
	if (!state->asked)
		return 0;
	ticket = state->asked;
	state->asked = 0;
	if (!wait_for(ticket, PT_REGS_SP(ctx)) && request_any())
		stop_process(MT_PROCESS_STOPPED, true);
	return 0;
}

#endif
