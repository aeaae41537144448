/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/watch.bpf.h - executable memory as it comes and goes.
 *
 * The first executable mapping of an inode that mt-record has not seen stops its process before
 * it runs on, and asks for probes. Works from tracepoints alone: a SIGSTOP raised at
 * exec or at the exit of a system call is taken before the next user instruction.
 */
#ifndef MT_WATCH_BPF_H
#define MT_WATCH_BPF_H

#include "bpf/lifecycle.bpf.h"

#define PROT_EXEC 4
#define MAP_FIXED 16

#if defined(__TARGET_ARCH_x86)
#define NR_MMAP 9
#define NR_MPROTECT 10
#define NR_MUNMAP 11
#define NR_MREMAP 25
#define NR_PKEY_MPROTECT 329
#elif defined(__TARGET_ARCH_arm64)
#define NR_MMAP 222
#define NR_MPROTECT 226
#define NR_MUNMAP 215
#define NR_MREMAP 216
#define NR_PKEY_MPROTECT 288
#endif

struct syscall {
	__u64 nr;
	__u64 arg1;
	__u64 arg2;
	__u64 arg3;
	__u64 arg4;
};

struct mapped {
	__u64 start;
	__u64 end;
	__u64 ino;
	__u32 dev;
	bool found;
};

static __always_inline void read_syscall(struct pt_regs *regs, struct syscall *call)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs___x86 *r = (void *)regs;

	call->nr = r->orig_ax;
	call->arg1 = r->di;
	call->arg2 = r->si;
	call->arg3 = r->dx;
	call->arg4 = r->r10;
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs___arm64 *r = (void *)regs;

	call->nr = r->syscallno;
	call->arg1 = r->orig_x0;	/* x0 holds the result by now */
	call->arg2 = r->regs[1];
	call->arg3 = r->regs[2];
	call->arg4 = r->regs[3];
#endif
}

static long mapped_at(struct task_struct *task, struct vm_area_struct *vma, struct mapped *mapped)
{
	struct inode *inode;

	mapped->start = vma->vm_start;
	mapped->end = vma->vm_end;
	mapped->found = true;
	if (!vma->vm_file)
		return 0;
	inode = vma->vm_file->f_inode;
	mapped->ino = inode->i_ino;
	mapped->dev = inode->i_sb->s_dev;
	return 0;
}

/* true: a request went out, stop the process. */
static __always_inline bool request_probes(__u64 ino, __u32 dev, __u64 addr)
{
	struct mt_inode_key key = { .ino = ino, .dev = dev };
	__u64 id = bpf_get_current_pid_tgid();
	struct mt_ring_request *rec;

	if (bpf_map_lookup_elem(&known_inodes, &key))
		return false;
	rec = bpf_ringbuf_reserve(&requests, sizeof(*rec), 0);
	if (!rec) {
		count_loss(MT_LOSS_REQUEST_RING);
		return false;
	}
	rec->pid = id >> 32;
	rec->tid = (__u32)id;
	rec->dev = dev;
	rec->kind = MT_REQUEST_MAPPING;
	rec->ino = ino;
	rec->addr = addr;
	rec->time = bpf_ktime_get_ns();
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* [addr, ...) of the current process has become executable: the area that holds addr. */
static __always_inline bool watch_mapping(struct task_struct *task, struct mt_process_code *code,
					  __u64 addr)
{
	struct mapped mapped = {};

	bpf_find_vma(task, addr, mapped_at, &mapped, 0);
	if (!mapped.found) {
		/* Mappings are changing under us: mt-record looks at them all. */
		if (code)
			code->unknown = 1;
		return request_probes(0, 0, addr);
	}
	if (code)
		code_add(code, mapped.start, mapped.end);
	return mapped.ino && request_probes(mapped.ino, mapped.dev, addr);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct mt_task_state *state = current_state();
	struct mt_process_code *code;
	struct pt_regs *regs;
	struct inode *inode;
	__u64 ip;
	bool stop;

	if (!state)
		return 0;
	state->cookie = 0;
	state->stack_lo = 0;
	state->stack_end = 0;
	submit_exec(task, old_pid, bprm);

	code = code_reset(task->tgid);
	if (code)
		code_add(code, task->mm->start_code, task->mm->end_code);
	inode = bprm->file->f_inode;
	stop = request_probes(inode->i_ino, inode->i_sb->s_dev, task->mm->start_code);

	/* The interpreter, whose entry point runs first; of a static program this is itself. */
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	ip = ((struct pt_regs___x86 *)regs)->ip;
#elif defined(__TARGET_ARCH_arm64)
	ip = ((struct pt_regs___arm64 *)regs)->pc;
#endif
	stop |= watch_mapping(task, code, ip);
	if (stop)
		stop_process();
	return 0;
}

static __always_inline void submit_unmap(__u64 start, __u64 end)
{
	struct mt_ring_unmap *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0);

	if (!rec) {
		count_loss(MT_LOSS_LIFECYCLE_RING);
		check_pressure(&events, ring_limit);
		return;
	}
	fill_hdr(&rec->hdr, MT_RING_UNMAP, 0, bpf_ktime_get_ns());
	rec->start = start;
	rec->end = end;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	check_pressure(&events, ring_limit);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct syscall call = {};
	struct task_struct *task;
	struct mt_process_code *code;

	read_syscall(regs, &call);
	if (call.nr != NR_MMAP && call.nr != NR_MPROTECT && call.nr != NR_MUNMAP &&
	    call.nr != NR_MREMAP && call.nr != NR_PKEY_MPROTECT)
		return 0;
	if ((unsigned long)ret >= -4095UL || !current_state())
		return 0;
	task = bpf_get_current_task_btf();
	code = process_code(task->tgid);

	switch (call.nr) {
	case NR_MMAP:
		if (call.arg4 & MAP_FIXED && code && code_clear(code, ret, ret + call.arg2) &&
		    !(call.arg3 & PROT_EXEC))
			submit_unmap(ret, ret + call.arg2);
		if (call.arg3 & PROT_EXEC && watch_mapping(task, code, ret))
			stop_process();
		break;
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		if (call.arg3 & PROT_EXEC && watch_mapping(task, code, call.arg1))
			stop_process();
		break;
	case NR_MUNMAP:
		if (code && code_clear(code, call.arg1, call.arg1 + call.arg2))
			submit_unmap(call.arg1, call.arg1 + call.arg2);
		break;
	case NR_MREMAP:
		/* Moved or shrunk code is not what it was called for: any word may be code. */
		if (code && code_clear(code, call.arg1, call.arg1 + call.arg2))
			code->unknown = 1;
		break;
	}
	return 0;
}

#endif
