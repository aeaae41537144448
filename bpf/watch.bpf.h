/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/watch.bpf.h - executable memory as it comes and goes.
 *
 * The first executable mapping of an inode that mt-record has not seen stops its process before
 * it runs on, and asks for probes: a SIGSTOP raised at exec or at the end of a system call is taken
 * before the next user instruction. What calls this at the end of system calls is in
 * watch_calls.bpf.h.
 */
#ifndef MT_WATCH_BPF_H
#define MT_WATCH_BPF_H

#include "bpf/lifecycle.bpf.h"

#define PROT_EXEC 4
#define MAP_FIXED 16
#define MAP_ANONYMOUS 32

#define EXEC_MAPPINGS 4	/* that it happened, and code of the program, its linker, the vdso */
#define AREAS_MAX 64	/* memory areas one mprotect() is followed through */

/* A memory area; end 0: not found. */
struct mapped {
	struct mt_inode_key file;
	__u64 start;
	__u64 end;
};

/* Code in [addr, end) of the current process that is new. */
struct watch {
	__u64 addr;
	__u64 end;
	struct mt_inode_key opened;	/* its file, as opened; ino 0: not known */
	struct mapped area;		/* in the end: the last one looked at */
	bool waits;			/* the process will wait by itself */
	bool stop;			/* in the end: a request went out */
	__u32 ticket;			/* and this was its ticket */
};

static __always_inline void read_inode(struct mt_inode_key *key, struct inode *inode)
{
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
}

static long mapped_at(struct task_struct *task, struct vm_area_struct *vma, struct mapped *mapped)
{
	mapped->start = KERNEL_FIELD(vma, vm_start);
	mapped->end = KERNEL_FIELD(vma, vm_end);
	if (KERNEL_FIELD(vma, vm_file))
		read_inode(&mapped->file, BPF_CORE_READ(vma, vm_file, f_inode));
	return 0;
}

/* The inode behind a mapping of the caller; mt-record runs this to know files as we do. */
struct mt_inode_key identified;

SEC("raw_tp")
int identify(struct bpf_raw_tracepoint_args *ctx)
{
	struct mapped mapped = {};

	find_vma(current_task(), ctx->args[0], mapped_at, &mapped);
	identified = mapped.file;
	return mapped.end != 0;
}

static __always_inline bool is_answered(__u32 ticket)
{
	__u32 answer = *(volatile __u32 *)&answers[ticket % MT_ANSWERS];

	return (__s32)(answer - ticket) >= 0 || *(volatile __u32 *)&no_stops;
}

static __always_inline __u32 new_ticket(void)
{
	__u32 ticket = next_number(&next_ticket);

	return ticket ? ticket : next_number(&next_ticket);
}

/* No room for a request. It is an episode like any other: there is just no room to tell of it. */
static __always_inline void refuse(__u32 kind)
{
	if (!pressure_on) {
		count_loss(MT_LOSS_REQUEST_RING);
		return;
	}
	pressure_latch = 1;
	/* Stopped first: mt-record looks for it as soon as it is told. */
	stop_process(MT_PROCESS_STOPPED, false);
	if (kind == MT_REQUEST_FOLLOW)
		SET_FLAG(&unasked, MT_UNASKED_FOLLOW);
	else
		SET_FLAG(&unasked, MT_UNASKED_MAPPING);
}

/* true: a request went out, stop the process if it has no ticket. */
static __always_inline bool request(__u32 kind, __u32 ticket, const struct mt_inode_key *mapped,
				    const struct mt_inode_key *opened, __u64 addr)
{
	__u64 id = current_id();
	struct mt_ring_request *rec;

	if (no_stops)
		return false;
	rec = bpf_ringbuf_reserve(&requests, sizeof(*rec), 0);
	if (!rec) {
		refuse(kind);
		return false;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->pid = id >> 32;
	rec->tid = (__u32)id;
	rec->kind = kind;
	rec->ticket = ticket;
	if (mapped)
		rec->mapped = *mapped;
	if (opened)
		rec->opened = *opened;
	rec->addr = addr;
	rec->time = bpf_ktime_get_ns();
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	check_pressure(&requests, request_ring_limit);
	return true;
}

/* For whatever the process has mapped, since nobody has answered. */
static __always_inline bool request_any(void)
{
	return request(MT_REQUEST_MAPPING, 0, NULL, NULL, 0);
}

/* true: the file is known. */
static __always_inline bool request_probes(struct watch *watch, const struct mt_inode_key *mapped)
{
	__u32 ticket = 0;

	if (bpf_map_lookup_elem(&known_inodes, mapped))
		return true;
	if (watch->waits)
		ticket = new_ticket();
	if (!request(MT_REQUEST_MAPPING, ticket, mapped, &watch->opened, watch->addr))
		return false;
	watch->stop = true;
	watch->ticket = ticket;
	return false;
}

/* Requests went out: the process will wait for the last of them, or is stopped now. */
static __always_inline void await(struct mt_task_state *state, __u32 ticket)
{
	if (ticket)
		state->asked = ticket;
	else
		stop_process(MT_PROCESS_STOPPED, true);
}

/* Will the thread wait, as it runs this file's code? */
static __always_inline bool waits_in(const struct mt_task_state *state,
				     const struct mt_inode_key *file)
{
	__u8 *linker = bpf_map_lookup_elem(&linkers, file);

	return linker && (*linker == MT_LINKER_ALONE || state->linking);
}

/* The file is known. An overlay's inode is kept beside the one that is mapped: perf tells of it. */
static __always_inline void know_opened(const struct mt_inode_key *mapped,
					const struct mt_inode_key *opened)
{
	__u8 value = MT_INODE_OPENED;

	if (opened->ino && (opened->ino != mapped->ino || opened->dev != mapped->dev) &&
	    !bpf_map_lookup_elem(&known_inodes, opened))
		bpf_map_update_elem(&known_inodes, opened, &value, BPF_ANY);
}

static long watch_area(__u32 i, struct watch *watch)
{
	struct mapped area = {};

	if (watch->addr >= watch->end)
		return 1;
	/* Fails while another thread changes mappings; the file as opened is then all we know. */
	find_vma(current_task(), watch->addr, mapped_at, &area);
	watch->area = area;
	if (!area.end) {
		request_probes(watch, &watch->opened);
		return 1;
	}
	if (area.file.ino) {
		if (request_probes(watch, &area.file))
			know_opened(&area.file, &watch->opened);
	}
	watch->addr = area.end;
	return 0;
}

#ifdef MT_OLD_KERNEL

/* What the CPU is at: no loop can have a function of its own that is given a pointer. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch);
} watches SEC(".maps");

__noinline int watch_next(__u32 i)
{
	__u32 zero = 0;
	struct watch *watch = bpf_map_lookup_elem(&watches, &zero);

	return !watch || watch_area(i, watch);
}

static __always_inline void watch_areas(struct watch *watch)
{
	__u32 zero = 0, i;
	struct watch *current = bpf_map_lookup_elem(&watches, &zero);

	if (!current)
		return;
	*current = *watch;
	for (i = 0; i < AREAS_MAX; i++)
		if (watch_next(i))
			break;
	*watch = *current;
}

#else
#define watch_areas(watch) repeat(AREAS_MAX, watch_area, watch)
#endif

static __always_inline void fresh_program(struct mt_task_state *state)
{
	state->call.cookie = 0;
	state->waiting.cookie = 0;
	state->forward_addr = 0;
	state->stack_lo = 0;
	state->stack_end = 0;
	state->hooked = 0;
	state->asked = 0;
	/* If it has a linker that begins; whoever has none runs no code of a linker's file. */
	state->linking = 1;
}

/* As exec does: its own, with nothing in it. */
static __always_inline void enter_space(struct mt_task_state *state, __u32 pid)
{
	__u64 *flags = bpf_map_lookup_elem(&processes, &pid);

	state->space = new_space();
	if (flags)
		((__u32 *)flags)[1] = state->space;
}

static __always_inline __u64 entry_point(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)task_regs(task);

#if defined(__TARGET_ARCH_x86)
	return KERNEL_FIELD((struct pt_regs___mt_x86 *)regs, ip);
#elif defined(__TARGET_ARCH_arm64)
	return KERNEL_FIELD((struct pt_regs___mt_arm64 *)regs, pc);
#endif
}

/*
 * perf events end with an exec whose program the caller may not read: a set-user-ID one. Its
 * mappings, and those of all its descendants, would never be heard of.
 */
static __always_inline bool is_followed(struct task_struct *task)
{
	if (bpf_core_field_exists(struct task_struct___one_context, perf_event_ctxp))
		return ((struct task_struct___one_context *)task)->perf_event_ctxp;
	return ((struct task_struct___two_contexts *)task)->perf_event_ctxp[1];
}

static __always_inline void executed(struct task_struct *task, int old_pid,
				     struct linux_binprm *bprm, __u32 which)
{
	struct mt_task_state *state = current_state();
	struct watch program = {}, interpreter = {};
	struct mt_process_code *code;
	bool followed;
	__u32 ticket = 0;

	if (!state || !my_turn(state, TURN_EXEC, which))
		return;
	if (pid_of(task) == root_pid)
		root_runs = 1;
	fresh_program(state);
	enter_space(state, pid_of(task));
	submit_exec(task, old_pid, bprm);

	/* Its entry point runs first; of a static program it is the program itself. */
	interpreter.addr = entry_point(task);
	interpreter.end = interpreter.addr + 1;
	watch_area(0, &interpreter);
	program.waits = !interpreter.stop && waits_in(state, &interpreter.area.file);
	program.addr = BPF_CORE_READ(task, mm, start_code);
	program.end = program.addr + 1;
	read_inode(&program.opened, BPF_CORE_READ(bprm, file, f_inode));
	watch_area(0, &program);
	ticket = program.ticket;
	followed = is_followed(task);
	if (!followed) {
		if (program.waits)
			ticket = new_ticket();
		followed = !request(MT_REQUEST_FOLLOW, ticket, NULL, NULL, 0);
	}
	if (program.stop || interpreter.stop || !followed)
		await(state, ticket);
	check_mappings(EXEC_MAPPINGS);

	code = code_reset(pid_of(task));
	if (!code)
		return;
	code_add(code, BPF_CORE_READ(task, mm, start_code), BPF_CORE_READ(task, mm, end_code));
	if (interpreter.area.end)
		code_add(code, interpreter.area.start, interpreter.area.end);
	else
		code->pending = interpreter.addr;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	executed(task, old_pid, bprm, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_2, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	executed(task, old_pid, bprm, 1);
	return 0;
}

#endif
