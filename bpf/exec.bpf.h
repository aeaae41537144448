/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/exec.bpf.h - waiting for probes before a file is executed.
 *
 * A program that is static, or whose linker has no place to wait in, runs its own code at once when
 * it is executed: probes must be there before, or it is stopped. So whoever executes a file by a
 * function of the C library waits there until mt-record has looked at the file.
 */
#ifndef MT_EXEC_BPF_H
#define MT_EXEC_BPF_H

#include "bpf/wait.bpf.h"

#define NAME_PIECE 8		/* read at once: seven characters, and an end */
#define NAME_PIECES 64		/* longer names are asked about each time */

struct name {
	__u64 addr;
	__u64 hash;
	__u32 relative;
	__u32 ended;
};

static long fold_name(__u32 i, struct name *name)
{
	__u64 piece = 0;
	long n = bpf_probe_read_user_str(&piece, NAME_PIECE, (void *)name->addr);

	if (n <= 0)
		return 1;
	if (i == 0)
		name->relative = (piece & 0xff) != '/';
	name->hash = mt_fold(name->hash, piece);
	name->addr += NAME_PIECE - 1;
	name->ended = n < NAME_PIECE;
	return name->ended;
}

/* What a name leads to depends on where one is. 0: it cannot be read. */
static __noinline __u64 name_key(__u64 addr)
{
	struct name name = { .addr = addr, .hash = MT_FNV_BASIS };
	struct fs_struct *fs = BPF_CORE_READ(current_task(), fs);

	repeat(NAME_PIECES, fold_name, &name);
	if (!name.ended)
		return 0;
	name.hash = mt_fold(name.hash, (__u64)BPF_CORE_READ(fs, root.mnt));
	name.hash = mt_fold(name.hash, (__u64)BPF_CORE_READ(fs, root.dentry));
	if (name.relative) {
		name.hash = mt_fold(name.hash, (__u64)BPF_CORE_READ(fs, pwd.mnt));
		name.hash = mt_fold(name.hash, (__u64)BPF_CORE_READ(fs, pwd.dentry));
	}
	return name.hash;
}

static __always_inline bool is_believed(__u64 key)
{
	__u64 *until = bpf_map_lookup_elem(&exec_names, &key);

	return until && bpf_ktime_get_ns() < *until;
}

/* The functions that are not inlined each have a stack frame of their own. */
static __noinline void read_exec_call(struct mt_ring_exec_request *rec, struct pt_regs *ctx,
				      __u64 call)
{
	/* The verifier wants each read at a constant offset. */
	__u64 a1 = PT_REGS_PARM1(ctx), a2 = PT_REGS_PARM2(ctx);

	barrier_var(a1);
	barrier_var(a2);
	if (call == MT_EXEC_NAME) {
		rec->folder = MT_EXEC_CWD;
		rec->name = a1;
	} else if (call == MT_EXEC_IN_FOLDER) {
		rec->folder = (__u32)a1;
		rec->name = a2;
	} else {
		rec->folder = (__u32)a1;
	}
}

/* The ticket, 0: nobody was asked. Whoever cannot ask is stopped once the file is executed. */
static __noinline __u32 request_exec(struct pt_regs *ctx, __u64 call, __u64 key)
{
	struct mt_ring_exec_request *rec;
	__u64 id = current_id();
	__u32 ticket;

	rec = bpf_ringbuf_reserve(&requests, sizeof(*rec), 0);
	if (!rec)
		return 0;
	__builtin_memset(rec, 0, sizeof(*rec));
	ticket = new_ticket();
	rec->request.pid = id >> 32;
	rec->request.tid = (__u32)id;
	rec->request.kind = MT_REQUEST_EXEC;
	rec->request.ticket = ticket;
	rec->request.time = bpf_ktime_get_ns();
	rec->key = key;
	read_exec_call(rec, ctx, call);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	check_pressure(&requests, request_ring_limit);
	return ticket;
}

/* mt-record answers nobody before the command has been executed, which it waits for. */
static __noinline bool may_ask(void)
{
	return current_state() && !no_stops &&
	       (root_runs || (__u32)(current_id() >> 32) != root_pid);
}

/* As in wait_in_linker(), stack frames must stay below 64 bytes. */
SEC("uprobe.s")
int wait_before_exec(struct pt_regs *ctx)
{
	__u64 call = attach_cookie(ctx), key = 0;
	__u32 ticket;

	if (!may_ask())
		return 0;
	if (call == MT_EXEC_NAME) {
		key = name_key(PT_REGS_PARM1(ctx));
		if (key && is_believed(key))
			return 0;
	}
	ticket = request_exec(ctx, call, key);
	if (ticket)
		wait_for(ticket, PT_REGS_SP(ctx));
	return 0;
}

#endif
