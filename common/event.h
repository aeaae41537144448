/*
 * common/event.h - what both programs mean by an event, a stack, a mapping.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Addresses are those of the recorded
 * process. Indices (thread, process) count from 0 in order of first definition
 * in the artifact and are never reused, unlike pids.
 */
#ifndef MT_EVENT_H
#define MT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_REGS_MAX 33		/* aarch64: x0-x30, sp, pc; x86-64 uses the first 17 */
#define MT_FP_CHAIN_MAX 127	/* kernel.perf_event_max_stack's default */
#define MT_STACK_BYTES_MAX 65528
#define MT_BUILD_ID_MAX 64

enum mt_event_type {
	MT_EV_MALLOC = 1,
	MT_EV_CALLOC = 2,
	MT_EV_REALLOC = 3,
	MT_EV_ALIGNED = 4,
	MT_EV_FREE = 5,
	MT_EV_MMAP = 6,
	MT_EV_MUNMAP = 7,
	MT_EV_MREMAP = 8,
	MT_EV_BRK = 9,
	MT_EV_TYPES
};

/* One call of an allocator, or of mmap and its like, that took effect. */
struct mt_event {
	uint64_t time;		/* what gives memory back: at entry; all others: at return */
	uint64_t begin;		/* realloc, mremap: at entry, when old_addr was given up */
	uint64_t addr;		/* the block or region got, or freed; brk: the heap's start */
	uint64_t old_addr;	/* realloc, mremap: what was given up, 0 if nothing */
	uint64_t size;		/* bytes asked for (calloc: the product); brk: of the heap */
	union {
		uint64_t align;		/* aligned: the alignment asked for */
		uint64_t old_size;	/* mremap: of what was given up; brk: of the heap before */
		struct {
			uint32_t prot;	/* mmap: as mmap(2) was given them */
			uint32_t flags;
		};
	};			/* 0 for all others */
	uint32_t thread;	/* thread index */
	uint32_t stack;		/* stack id; 0 = none */
	uint8_t type;		/* enum mt_event_type */
};

/* Is it an allocator's call that gives the caller a block? */
static inline bool mt_event_allocates(unsigned int type)
{
	return type == MT_EV_MALLOC || type == MT_EV_CALLOC || type == MT_EV_REALLOC ||
	       type == MT_EV_ALIGNED;
}

/* Is it a system call that changes the address space? Those are no part of the heap's totals. */
static inline bool mt_event_maps(unsigned int type)
{
	return type == MT_EV_MMAP || type == MT_EV_MUNMAP || type == MT_EV_MREMAP ||
	       type == MT_EV_BRK;
}

enum mt_lifecycle_type {
	MT_LC_START = 1,	/* process known from the start: the command, or attached */
	MT_LC_FORK = 2,		/* a new process */
	MT_LC_EXEC = 3,
	MT_LC_EXIT = 4,		/* the last thread of a process is gone */
	MT_LC_THREAD = 5,	/* defines a thread index; also for each process's first thread */
	MT_LC_THREAD_EXIT = 6,
	MT_LC_NAME = 7,		/* a thread changed its name */
	MT_LC_OWN_PID = 8,	/* a process knows itself by another number than pid */
	MT_LC_TYPES
};

struct mt_lifecycle {
	uint64_t time;
	uint32_t type;		/* enum mt_lifecycle_type */
	uint32_t process;	/* process index; fork: the new process */
	uint32_t parent;	/* fork: the parent's process index */
	uint32_t pid;		/* start, fork: the process id */
	uint32_t own_pid;	/* own_pid: in the process's own pid namespace */
	uint32_t thread;	/* thread, thread_exit, name: thread index */
	uint32_t tid;		/* thread: the thread id */
	bool shares_memory;	/* fork: CLONE_VM, one address space with the parent until exec */
	int32_t status;		/* exit: as wait(2) reports it */
	const char *name;	/* start, exec, thread, name: comm; never NULL, "" if unknown */
	const char *path;	/* exec: the file executed; else "" */
};

enum mt_stack_flags {
	MT_STACK_CUT_BUDGET = 1,	/* more stack lies above; --stack-size ended the copy */
	MT_STACK_CUT_FAULT = 2,		/* memory above could not be read */
	MT_STACK_HOLES = 4,		/* pages within could not be read: zeros stand for them */
};

/* Raw material of one call stack, written once per stack id. */
struct mt_stack {
	uint32_t id;		/* > 0 */
	uint32_t process;	/* first seen in this process ... */
	uint32_t thread;	/* ... this thread ... */
	uint64_t time;		/* ... at this time */
	uint64_t identity;	/* digest; see mt-artifact(5) */
	uint32_t flags;		/* enum mt_stack_flags */
	uint64_t above;		/* bytes of stack above the copy, if cut by the budget and known */
	uint32_t n_regs;	/* <= MT_REGS_MAX */
	uint64_t regs[MT_REGS_MAX];	/* by DWARF number, at the allocator's entry */
	const uint8_t *bytes;	/* raw stack from sp upward */
	uint32_t n_bytes;	/* <= MT_STACK_BYTES_MAX */
	uint32_t n_fp;		/* <= MT_FP_CHAIN_MAX */
	uint64_t fp[MT_FP_CHAIN_MAX];	/* frame-pointer chain, innermost first */
};

enum mt_mapping_type {
	MT_MAP_EXEC_CLEAR = 1,	/* exec: everything mapped before is gone */
	MT_MAP_MAP = 2,		/* executable memory appears, replacing what it covers */
	MT_MAP_UNMAP = 3,	/* a range stops being mapped */
};

struct mt_mapping {
	uint64_t time;
	uint32_t type;		/* enum mt_mapping_type */
	uint32_t process;	/* process index */
	uint64_t start;
	uint64_t end;		/* exclusive */
	uint64_t offset;	/* in the file, bytes */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t ino;		/* 0: not a file ([vdso], anonymous) */
	uint64_t generation;	/* inode generation, 0 if unknown */
	const char *path;	/* as the kernel names it; never NULL */
	uint64_t since;		/* for readers, not written: that of the file_note it is of */
};

/* What a mapped file was when the recorder first looked at it: proof of it elsewhere. */
struct mt_file_note {
	uint32_t dev_major;	/* as its mappings have them; 0 for [vdso] */
	uint32_t dev_minor;
	uint64_t ino;
	uint64_t generation;
	uint64_t size;
	uint64_t mtime;		/* ns since 1970 */
	const uint8_t *build_id;	/* of the file's NT_GNU_BUILD_ID note */
	uint32_t n_build_id;	/* <= MT_BUILD_ID_MAX; 0: it has none */
	const char *path;	/* never NULL */
	uint64_t since;		/* of rewritten: the time it became so; else 0, not written */
};

#endif
