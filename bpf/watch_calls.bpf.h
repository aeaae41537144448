/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/watch_calls.bpf.h - the system calls that change executable memory, watched in one of three
 * ways. mt-record loads the programs of one of them:
 *
 *   fentry      trampolines on the calls, and on the security hooks that are shown the file.
 *               Costs other system calls nothing. Not every kernel allows it.
 *   tracepoint  the exit tracepoints of these calls. Every system call of the machine
 *               becomes a little slower. The programs are never left out.
 *   raw         the exit tracepoint of all calls, where the others' numbers cannot be had.
 *
 * All three do the same at the end of a call, so recordings do not depend on which it was.
 */
#ifndef MT_WATCH_CALLS_BPF_H
#define MT_WATCH_CALLS_BPF_H

#include "bpf/regions.bpf.h"
#include "bpf/watch.bpf.h"

static __always_inline void read_syscall(struct pt_regs *regs, struct syscall *call)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs___mt_x86 *r = (void *)regs;

	call->nr = KERNEL_FIELD(r, orig_ax);
	call->arg1 = KERNEL_FIELD(r, di);
	call->arg2 = KERNEL_FIELD(r, si);
	call->arg3 = KERNEL_FIELD(r, dx);
	call->arg4 = KERNEL_FIELD(r, r10);
	call->arg5 = KERNEL_FIELD(r, r8);
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs___mt_arm64 *r = (void *)regs;

	call->nr = KERNEL_FIELD(r, syscallno);
	call->arg1 = KERNEL_FIELD(r, orig_x0);	/* x0 may hold the result by now */
	call->arg2 = KERNEL_FIELD(r, regs[1]);
	call->arg3 = KERNEL_FIELD(r, regs[2]);
	call->arg4 = KERNEL_FIELD(r, regs[3]);
	call->arg5 = KERNEL_FIELD(r, regs[4]);
#endif
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

static __always_inline __u64 page_align(__u64 len)
{
	return (len + 4095) & ~4095ULL;
}

/* The inode of descriptor fd, if it still is the one that was mapped: nobody holds it. */
static __always_inline void read_descriptor(struct mt_inode_key *key, __u64 fd)
{
	struct task_struct *task = current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;
	struct inode *inode;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	inode = BPF_CORE_READ(file, f_inode);
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
}

/*
 * Can the call have changed executable memory? Asked before anything else: most of these calls are
 * over here, so that a program is rarely busy when another thread needs it.
 */
static __always_inline bool matters(const struct syscall *call, __u64 nr)
{
	switch (nr) {
	case NR_MMAP:
		return call->arg3 & PROT_EXEC || call->arg4 & MAP_FIXED;
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		return call->arg3 & PROT_EXEC;
	case NR_MUNMAP:
	case NR_MREMAP:
		return true;
	}
	return false;
}

/* Does the dynamic linker make the call? Looked up for code of files only, which is rare. */
static __always_inline bool called_by_linker(const struct mt_task_state *state)
{
	struct task_struct *task = current_task();
	struct mapped area = {};

	find_vma(task, entry_point(task), mapped_at, &area);
	return area.file.ino && waits_in(state, &area.file);
}

/*
 * [addr, addr + len) has become executable. Without a hook that saw the file, the descriptor says
 * which it was, should the area itself be out of reach.
 */
static __always_inline void watch_call(struct mt_task_state *state, __u64 addr, __u64 len,
				       const __u64 *fd)
{
	struct watch watch = { .addr = addr, .end = addr + len };

	if (state->hooked) {
		state->hooked = 0;
		if (!state->opened.ino)
			return;
		watch.opened = state->opened;
	} else if (fd) {
		read_descriptor(&watch.opened, *fd);
	}
	watch.waits = called_by_linker(state);
	watch_areas(&watch);
	if (watch.stop)
		await(state, watch.ticket);
}

static __always_inline void mapped_new(struct mt_task_state *state, struct mt_process_code *code,
				       const struct syscall *call, __u64 addr)
{
	__u64 len = page_align(call->arg2);

	/* What was here before is gone, should we have missed that. */
	if (code && code_clear(code, addr, addr + len) && !(call->arg3 & PROT_EXEC))
		submit_unmap(addr, addr + len);
	if (!(call->arg3 & PROT_EXEC))
		return;
	if (code)
		code_add(code, addr, addr + len);
	if (!(call->arg4 & MAP_ANONYMOUS))
		watch_call(state, addr, 1, &call->arg5);
	check_mappings(1);
}

static __always_inline void protected(struct mt_task_state *state, struct mt_process_code *code,
				      const struct syscall *call)
{
	__u64 len = page_align(call->arg2);

	if (!len)
		return;
	if (code)
		code_add(code, call->arg1, call->arg1 + len);
	watch_call(state, call->arg1, len, NULL);
	check_mappings(1);
}

/* A call has come to its end; ret is its result. */
static __always_inline void finish_call(struct mt_task_state *state, const struct syscall *call,
					__u64 nr, __u64 ret)
{
	struct mt_process_code *code;
	__u64 len;

	if (ret >= -4095ULL) {
		state->hooked = 0;
		return;
	}
	code = process_code(current_id() >> 32);
	if (code)
		code_resolve(code);
	switch (nr) {
	case NR_MMAP:
		mapped_new(state, code, call, ret);
		break;
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		protected(state, code, call);
		break;
	case NR_MUNMAP:
		len = page_align(call->arg2);
		if (code && code_clear(code, call->arg1, call->arg1 + len))
			submit_unmap(call->arg1, call->arg1 + len);
		break;
	case NR_MREMAP:
		/* An old length of 0 maps shared memory a second time. */
		len = page_align(call->arg2);
		if (code && (len ? code_clear(code, call->arg1, call->arg1 + len) :
				   is_code(code, call->arg1)))
			code_add(code, ret, ret + page_align(call->arg3));
		break;
	}
}

/* [args[1], args[2]) is executable in process args[0]: mt-record runs this if calls were missed. */
SEC("raw_tp")
int add_code(struct bpf_raw_tracepoint_args *ctx)
{
	struct mt_process_code *code = process_code((__u32)ctx->args[0]);

	if (code)
		code_add_for((__u32)ctx->args[0], code, ctx->args[1], ctx->args[2]);
	return 0;
}

/* --- fentry ------------------------------------------------------------------ */

/* Shown to a security hook: ino 0 if there is no file, or nothing to do about it. */
static __always_inline void hooked(struct mt_task_state *state, struct file *file)
{
	struct mt_inode_key key = {};
	__u8 *known;

	if (file) {
		read_inode(&key, file->f_inode);
		/* What an overlay's inode stands for must be looked at each time. */
		known = bpf_map_lookup_elem(&known_inodes, &key);
		if (known && *known == MT_INODE_MAPPED)
			key.ino = 0;
	}
	state->opened = key;
	state->hooked = 1;
}

SEC("fentry/security_mmap_file")
int BPF_PROG(before_mmap, struct file *file, unsigned long prot)
{
	struct mt_task_state *state;

	if (!(prot & PROT_EXEC))
		return 0;
	state = current_state();
	if (state)
		hooked(state, file);
	return 0;
}

/* Once for each area of the range: the first that is not known says it for all. */
SEC("fentry/security_file_mprotect")
int BPF_PROG(before_mprotect, struct vm_area_struct *vma, unsigned long prot)
{
	struct mt_task_state *state;

	if (!(prot & PROT_EXEC))
		return 0;
	state = current_state();
	if (state && !(state->hooked && state->opened.ino))
		hooked(state, vma->vm_file);
	return 0;
}

static __always_inline bool is_watched(const struct syscall *call, __u64 nr)
{
	return matters(call, nr) || (regions_on && is_region_call(nr));
}

static __always_inline void end_of_call(void *ctx, struct mt_task_state *state,
					const struct syscall *call, __u64 nr, __u64 ret)
{
	if (matters(call, nr))
		finish_call(state, call, nr, ret);
	if (regions_on && is_region_call(nr))
		finish_region(ctx, state, call, nr, ret);
}

static __always_inline void call_returned(void *ctx, struct pt_regs *regs, __u64 nr, __u64 ret,
					  __u32 which)
{
	struct mt_task_state *state;
	struct syscall call = {};

	read_syscall(regs, &call);
	if (!is_watched(&call, nr))
		return;
	state = current_state();
	if (state && my_turn(state, TURN_CALL, which))
		end_of_call(ctx, state, &call, nr, ret);
}

/* --- the tracepoints of single calls -------------------------------------------- */

/* What events/syscalls/sys_exit_NAME/format describes. */
struct call_exit {
	__u64 common;
	__s32 nr;
	__u64 ret;
};

static __always_inline void call_traced(void *ctx, __u64 nr, __u64 ret)
{
	struct mt_task_state *state;
	struct syscall call = {};

	read_syscall((struct pt_regs *)task_regs(current_task()), &call);
	if (!is_watched(&call, nr))
		return;
	state = current_state();
	if (state)
		end_of_call(ctx, state, &call, nr, ret);
}

#define WATCH_CALL(name, nr)							\
SEC("fexit/" CALL_PREFIX #name)							\
int BPF_PROG(after_##name, struct pt_regs *regs, long ret)			\
{										\
	call_returned(ctx, regs, nr, ret, 0);					\
	return 0;								\
}										\
SEC("fexit/" CALL_PREFIX #name)							\
int BPF_PROG(after_##name##_2, struct pt_regs *regs, long ret)			\
{										\
	call_returned(ctx, regs, nr, ret, 1);					\
	return 0;								\
}										\
SEC("tp/syscalls/sys_exit_" #name)						\
int exit_##name(struct call_exit *ctx)						\
{										\
	call_traced(ctx, nr, ctx->ret);						\
	return 0;								\
}

WATCH_CALL(mmap, NR_MMAP)
WATCH_CALL(mprotect, NR_MPROTECT)
WATCH_CALL(pkey_mprotect, NR_PKEY_MPROTECT)
WATCH_CALL(munmap, NR_MUNMAP)
WATCH_CALL(mremap, NR_MREMAP)
WATCH_CALL(brk, NR_BRK)

/* For --mmap. */
#define WATCH_BEGIN(name)							\
SEC("fentry/" CALL_PREFIX #name)						\
int BPF_PROG(region_##name, struct pt_regs *regs)				\
{										\
	begin_region();								\
	return 0;								\
}										\
SEC("tp/syscalls/sys_enter_" #name)						\
int region_enter_##name(void *ctx)						\
{										\
	begin_region();								\
	return 0;								\
}

WATCH_BEGIN(mmap)
WATCH_BEGIN(munmap)
WATCH_BEGIN(mremap)
WATCH_BEGIN(brk)

/* --- the tracepoint of all calls ---------------------------------------------------- */

static __always_inline void any_call(void *ctx, struct pt_regs *regs, __u64 ret, __u32 which)
{
	struct mt_task_state *state;
	struct syscall call = {};

	read_syscall(regs, &call);
	if (!is_watched(&call, call.nr))
		return;
	state = current_state();
	if (state && my_turn(state, TURN_CALL, which))
		end_of_call(ctx, state, &call, call.nr, ret);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(region_any, struct pt_regs *regs, long nr)
{
	if (is_region_call(nr))
		begin_region();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(any_exit, struct pt_regs *regs, long ret)
{
	any_call(ctx, regs, ret, 0);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(any_exit_2, struct pt_regs *regs, long ret)
{
	any_call(ctx, regs, ret, 1);
	return 0;
}

#endif
