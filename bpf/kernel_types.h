/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/kernel_types.h - the kernel types used, reduced to the fields used. CO-RE
 * relocates every access, so order and offsets here mean nothing.
 */
#ifndef MT_KERNEL_TYPES_H
#define MT_KERNEL_TYPES_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernel_siginfo {
	int si_errno;
};

typedef struct {
	int counter;
} atomic_t;

struct super_block {
	unsigned int s_dev;
};

struct inode {
	unsigned long i_ino;
	unsigned int i_generation;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct dentry;
struct vfsmount;

struct path___place {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path___place root;
	struct path___place pwd;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct file *vm_file;
};

/* kernel/events/uprobes.c */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long end_code;
	unsigned long start_brk;
	unsigned long brk;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

/* include/linux/uprobes.h */
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* The number in each namespace it is seen in, by level; the first is the machine's. */
struct pid {
	unsigned int level;
	struct upid numbers[1];
};

#define PIDTYPE_TGID 1

/* In the kernel the inner one is sigset_t. */
struct sigpending {
	struct {
		unsigned long sig[1];
	} signal;
};

struct signal_struct {
	struct sigpending shared_pending;
	atomic_t live;
	int group_exit_code;
	struct pid *pids[4];
};

struct task_struct {
	int pid;
	int tgid;
	int exit_code;
	unsigned long jobctl;
	struct sigpending pending;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_struct *real_parent;
	struct uprobe_task *utask;
	struct pid *thread_pid;
	char comm[16];
};

struct perf_event_context;

/* Since Linux 6.2, and before: of hardware and of software events. */
struct task_struct___one_context {
	struct perf_event_context *perf_event_ctxp;
};

struct task_struct___two_contexts {
	struct perf_event_context *perf_event_ctxp[2];
};

struct linux_binprm {
	struct file *file;
	const char *filename;
};

/* struct pt_regs as the kernel's BTF names its fields (user headers name them otherwise). */
struct pt_regs___mt_x86 {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long bx;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};

struct pt_regs___mt_arm64 {
	unsigned long regs[31];
	unsigned long sp;
	unsigned long pc;
	unsigned long orig_x0;
	int syscallno;
};

#pragma clang attribute pop

#endif
