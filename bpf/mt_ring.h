/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/mt_ring.h - what the BPF programs and mt-record exchange: ring records,
 * map values, limits. Not the file format. Fixed-width types only; times are
 * CLOCK_MONOTONIC nanoseconds; pid is the thread group id.
 */
#ifndef MT_RING_H
#define MT_RING_H

#include <linux/types.h>

#define MT_RING_REGS_MAX 33
#define MT_RING_FP_MAX 127
#define MT_RING_STACK_MAX 65528
#define MT_RING_COMM 16
#define MT_RING_PATH 256

/*
 * Executable memory of a process: this many chunks of 64 pages, hashed by address. 512 MiB:
 * compilers and browsers have more than a fourth of that.
 */
#define MT_CODE_CHUNKS 2048
#define MT_CODE_CHUNK_SHIFT 18
#define MT_CODE_TAG_SHIFT 29
/* And as ranges, to tell whether what is unmapped was any of it. */
#define MT_CODE_RANGES 128

enum mt_ring_kind {
	MT_RING_MALLOC = 1,	/* allocator kinds have the numbers of enum mt_event_type */
	MT_RING_CALLOC = 2,
	MT_RING_REALLOC = 3,
	MT_RING_ALIGNED = 4,
	MT_RING_FREE = 5,
	MT_RING_MMAP = 6,
	MT_RING_MUNMAP = 7,
	MT_RING_MREMAP = 8,
	MT_RING_BRK = 9,
	MT_RING_FORK = 16,
	MT_RING_THREAD = 17,
	MT_RING_EXEC = 18,
	MT_RING_THREAD_EXIT = 19,
	MT_RING_EXIT = 20,
	MT_RING_NAME = 21,
	MT_RING_UNMAP = 22,
};

struct mt_ring_hdr {
	__u16 kind;
	__u16 group;		/* allocator calls: MT_COOKIE_GROUP of the function's probe */
	__u32 pid;
	__u32 tid;
	__u32 stack;		/* stack id, 0 = none */
	__u64 time;
};

struct mt_ring_free {
	struct mt_ring_hdr hdr;
	__u64 addr;
};

struct mt_ring_alloc {
	struct mt_ring_hdr hdr;
	__u64 addr;
	__u64 size;
};

struct mt_ring_aligned {
	struct mt_ring_alloc alloc;
	__u64 align;
};

struct mt_ring_realloc {
	struct mt_ring_alloc alloc;
	__u64 old_addr;
	__u64 begin;
};

/* A system call that changes the address space; hdr.time is that of its end. */
struct mt_ring_region {
	struct mt_ring_alloc alloc;	/* brk: the heap, as it is now */
	__u64 old_addr;		/* mremap */
	__u64 old_size;		/* mremap, brk */
	__u64 begin;
	__u32 prot;		/* mmap */
	__u32 flags;		/* mmap, mremap */
};

/* A process or thread; hdr.pid and hdr.tid are its creator's. */
struct mt_ring_fork {
	struct mt_ring_hdr hdr;
	__u32 child_pid;
	__u32 child_tid;
	__u32 shares_memory;
	__u32 own_pid;		/* child_pid in the child's own pid namespace */
	char comm[MT_RING_COMM];
};

struct mt_ring_exec {
	struct mt_ring_hdr hdr;
	__u32 old_tid;		/* not hdr.tid if a thread other than the leader called exec */
	__u32 own_pid;		/* hdr.pid in the process's own pid namespace */
	char comm[MT_RING_COMM];
	char path[MT_RING_PATH];
};

/* A thread (kind THREAD_EXIT) or, with its last thread, a process (kind EXIT). */
struct mt_ring_exit {
	struct mt_ring_hdr hdr;
	__u32 status;		/* as wait(2) reports it */
	__u32 pad;
};

struct mt_ring_name {
	struct mt_ring_hdr hdr;
	char comm[MT_RING_COMM];
};

struct mt_ring_unmap {
	struct mt_ring_hdr hdr;
	__u64 start;
	__u64 end;
};

/* Stack ring: a definition, followed by n_bytes of stack. */
struct mt_ring_stack {
	__u32 id;
	__u32 pid;
	__u32 tid;
	__u32 flags;		/* enum mt_stack_flags */
	__u64 time;
	__u64 identity;
	__u64 generation;	/* of its process's executable memory; 0: not known */
	__u64 above;
	__u32 n_bytes;
	__u32 n_fp;
	__u64 regs[MT_RING_REGS_MAX];
	__u64 fp[MT_RING_FP_MAX];
};

enum mt_request_kind {
	MT_REQUEST_MAPPING = 1,	/* executable memory of a file nobody has attached to */
	MT_REQUEST_PRESSURE = 2,	/* a ring is filling up: stop the tree; pid alone is set */
	MT_REQUEST_FOLLOW = 3,	/* perf has let go of it; pid, tid and time are set */
	MT_REQUEST_EXEC = 4,	/* it is about to execute a file: struct mt_ring_exec_request */
	MT_REQUEST_RESUME = 5,	/* it was stopped in answer to a stop of ours; pid, time are set */
};

/* An inode; its number alone may be another file's once this one is deleted. */
struct mt_inode_key {
	__u64 ino;		/* 0: none, or not known */
	__u32 dev;		/* as the kernel encodes it: major << 20 | minor */
	__u32 generation;
};

/* Value of a known inode. */
#define MT_INODE_MAPPED 1	/* what is mapped and probed */
#define MT_INODE_OPENED 2	/* an overlay's, whose mappings are of another inode */

/* Value of a linker: whoever maps from its code will wait in it; or only while it is linking. */
#define MT_LINKER_ALONE 1
#define MT_LINKER_IN_LIBC 2

/*
 * Request ring. The process that asks is being stopped, unless it has a ticket: then it runs on
 * until it comes to where it waits for the answer.
 */
struct mt_ring_request {
	__u32 pid;
	__u32 tid;
	__u32 kind;		/* enum mt_request_kind */
	__u32 ticket;		/* 0: none */
	struct mt_inode_key mapped;	/* ino 0: mappings were changing, any may be new */
	struct mt_inode_key opened;	/* the one that was opened for it, if known */
	__u64 addr;		/* an address inside the mapping */
	__u64 time;
};

/*
 * Whoever asks waits at the entry of a function that executes files. Addresses are the process's,
 * and with what they lead to as hostile as it is.
 */
struct mt_ring_exec_request {
	struct mt_ring_request request;
	__u64 name;		/* address of the file's; 0: folder is the file */
	__u64 key;		/* of the name in exec_names; 0: none */
	__u64 folder;		/* descriptor that a name is relative to, or MT_EXEC_CWD */
};
#define MT_EXEC_CWD (~0ULL)

/* Attach cookie of such a function: what its arguments are. */
enum mt_exec_call {
	MT_EXEC_NAME,		/* (name, arguments, environment) */
	MT_EXEC_IN_FOLDER,	/* (folder, name, arguments, environment) */
	MT_EXEC_OPEN_FILE,	/* (file, arguments, environment) */
};

/*
 * What has found no room in the request ring while it must not be lost: whoever asked was stopped,
 * and mt-record looks at all who stand still.
 */
enum mt_unasked {
	MT_UNASKED_MAPPING = 1,		/* or pressure */
	MT_UNASKED_FOLLOW = 1 << 8,
};

/* By ticket: the latest one with its place that has been answered. */
#define MT_ANSWERS 1024

/*
 * Attach cookie: what a call of the function is (kind), which argument (1 to 6, 0 = none) is what,
 * how else it differs from the standard function of its kind, and whose event it is.
 */
#define MT_COOKIE(kind, size, count, ptr, align, out)                                      \
	((__u64)(kind) | (__u64)(size) << 8 | (__u64)(count) << 12 | (__u64)(ptr) << 16 |  \
	 (__u64)(align) << 20 | (__u64)(out) << 24)
#define MT_COOKIE_KIND(c) ((c) & 0xff)
#define MT_COOKIE_SIZE(c) ((c) >> 8 & 0xf)
#define MT_COOKIE_COUNT(c) ((c) >> 12 & 0xf)
#define MT_COOKIE_PTR(c) ((c) >> 16 & 0xf)
#define MT_COOKIE_ALIGN(c) ((c) >> 20 & 0xf)
#define MT_COOKIE_OUT(c) ((c) >> 24 & 0xf)
#define MT_COOKIE_GROUP_SHIFT 48
#define MT_COOKIE_GROUP(c) ((c) >> MT_COOKIE_GROUP_SHIFT)
#define MT_GROUPS_MAX 65536

#define MT_CALL_RET_SITES (1ULL << 28)	/* may throw: probed at its return instructions */
#define MT_CALL_NESTS (1ULL << 29)	/* free: may call other allocators; has a return probe */
#define MT_CALL_FORWARDS (1ULL << 30)	/* free: may jump on to another free, or call it */
#define MT_CALL_LG_ALIGN (1ULL << 31)	/* the low 6 bits of align are a power of two */
#define MT_CALL_INDIRECT (1ULL << 32)	/* ptr is where the block's address stands */
#define MT_CALL_IN_PLACE (1ULL << 33)	/* realloc: gives the size, succeeds if not below size */
#define MT_CALL_FREES_ALWAYS (1ULL << 34)	/* realloc: a call that fails frees as well */
#define MT_CALL_STRING (1ULL << 35)	/* the size is that of the string given back */

/* An allocator call that has begun. */
struct mt_call {
	__u64 sp;		/* at entry */
	__u64 cookie;		/* 0 = none */
	__u64 ret;		/* return address, where MT_CALL_RET_SITES says that it stays */
	__u64 size;
	__u64 old_addr;
	__u64 align;
	__u64 out;
	__u64 begin;
	__u64 stack;
	__u64 unrecorded;	/* realloc, begun while paused: only what it frees counts */
	__u64 untaken;		/* the same, as sampling has passed it over */
	__u64 old_taken;	/* the block that is given up was recorded */
};

/* A tracked thread; that it stands in task storage is what "tracked" means. */
struct mt_task_state {
	struct mt_call call;	/* the outermost allocator call */
	struct mt_call waiting;	/* one that has called the program, whose calls count */
	__u64 last_addr;	/* what the latest allocation gave */
	__u64 forward_sp;	/* the latest free that may lead to another: sp, ... */
	__u64 forward_addr;	/* ... block (0 = none), ... */
	__u64 forward_ret;	/* ... return address, ... */
	__u64 forward_first;	/* ... its function, and the one it last jumped to */
	__u64 forward_last;
	__u64 stack_lo;		/* the memory area the stack was last seen in ... */
	__u64 stack_end;	/* ... and where the stack in it ends */
	__u64 turns;		/* bpf/lifecycle.bpf.h: my_turn() */
	struct mt_inode_key opened;	/* bpf/watch.bpf.h: of the mapping being made */
	__u64 hooked;		/* 1: opened is valid */
	__u64 asked;		/* ticket of the latest request not waited for, 0 = none */
	__u64 linking;		/* 1: it is in a linker that will come to wait_in_linker */
	__u64 region_begin;	/* bpf/regions.bpf.h: of the call that is under way */
	__u64 region_break;	/* where the heap ended then */
	__u64 sample_gap;	/* bpf/sample.bpf.h: bytes to the next point; 0: not drawn yet */
	__u64 space;		/* number of the address space */
};

struct mt_code_chunk {
	__u64 tag;		/* (address >> MT_CODE_TAG_SHIFT) + 1, or MT_CODE_ANY; 0 = empty */
	__u64 pages;		/* a bit per 4 KiB page */
};
#define MT_CODE_ANY (~0ULL)

struct mt_code_span {
	__u64 start;		/* 0: a free place */
	__u64 end;
};

/* A tracked process's executable memory, to tell code addresses on its stacks. */
struct mt_process_code {
	__u64 generation;	/* new when executable memory goes or is replaced */
	__u32 shared;		/* another process has this generation too */
	__u32 unknown;		/* the memory is not known: any word may be a code address */
	__u64 lowest;		/* all of it lies in [lowest, highest) */
	__u64 highest;
	__u64 pending;		/* an address in the first code, while its range is not known */
	__u32 n_ranges;		/* places ever used */
	__u32 more_ranges;	/* 1: some found no place */
	struct mt_code_span ranges[MT_CODE_RANGES];
	struct mt_code_chunk chunks[MT_CODE_CHUNKS];
};

/* Where a frame's caller is, for the code at pc of one generation. */
struct mt_frame_key {
	__u64 generation;
	__u64 pc;		/* a return address, or MT_FRAME_EXACT | where to go on */
};
#define MT_FRAME_EXACT (1ULL << 63)

/*
 * CFA: rsp or rbp, and an offset. The return address is at CFA - 8; rbp is as it was, or saved at
 * CFA - 8 * n. Code that needs more to be said has no such row.
 */
#define MT_FRAME_END 1		/* the thread's first frame: no CFA */
#define MT_FRAME_RSP 2
#define MT_FRAME_RBP 3
#define MT_FRAME_ROW(base, offset, n) \
	((__u64)(__u32)(offset) << 32 | (__u64)(n) << 8 | (base))
#define MT_FRAME_BASE(row) ((__u32)(row) & 3)
#define MT_FRAME_OFFSET(row) ((__s64)(__s32)((row) >> 32))
#define MT_FRAME_SAVED(row) ((__u32)(row) >> 8)	/* n; 0: as it was */

/* Frames of a path; the digest of a longer one is not taken. */
#define MT_PATH_FRAMES_MAX 1024

/* A digest of words, for stacks and for paths. */
#define MT_FNV_BASIS 0xcbf29ce484222325ULL
#define MT_PATH_BASIS 0x84222325cbf29ce4ULL
static inline __u64 mt_fold(__u64 hash, __u64 word)
{
	return (hash ^ word) * 0x100000001b3ULL;
}

/*
 * Where a frame's CFA is in a capture that begins at low; 0: not above the frame before, or not
 * aligned, so the row is not about this stack.
 */
static inline __u64 mt_frame_cfa(__u64 row, __u64 low, __u64 sp, __u64 fp)
{
	__u64 at = (MT_FRAME_BASE(row) == MT_FRAME_RBP ? fp : sp) +
		   (__u64)MT_FRAME_OFFSET(row) - low;

	return at + low <= sp || at < 8 || at & 7 ? 0 : at;
}

/* The digest of a path: its innermost pc, each return address by mt_fold(), and if it is cut. */
static inline __u64 mt_path_begin(__u64 generation, __u64 pc)
{
	return mt_fold(mt_fold(MT_PATH_BASIS, generation), pc);
}

static inline __u64 mt_path_cut(__u64 path, __u64 above)
{
	return mt_fold(mt_fold(path, 1), above);
}

/* Signals below this are watched: those that end programs are. */
#define MT_SIGNALS_MAX 32
/* si_errno of the SIGSTOP by which mt-record stops a process. */
#define MT_STOP_ERRNO 0x6d74

/* A byte for each, which can be set alone where the kernel has no better atomic operations. */
enum mt_process_flags {
	MT_PROCESS_STOPPED = 1,		/* by the programs, or in answer: mt-record resumes it */
	MT_PROCESS_HELD = 1 << 8,	/* somebody else has sent SIGSTOP, and no SIGCONT since */
	MT_PROCESS_PAUSED = 1 << 16,	/* by the programs, as a ring fills up */
};
/* Above the flags: the number of its address space. */
#define MT_PROCESS_SPACE_SHIFT 32

/* A block that sampling has taken, until it is freed. */
struct mt_block_key {
	__u64 addr;
	__u64 space;
};
#define MT_SAMPLED_BLOCKS (1U << 20)

/* What makes two stacks one. */
enum mt_identity_mode {
	MT_IDENTITY_PATH,	/* their call path; where that is not known, their code words */
	MT_IDENTITY_CODE,	/* their code words */
	MT_IDENTITY_BYTES,	/* every byte */
	MT_IDENTITY_EVERY,	/* nothing: all captures are defined; identity as for PATH */
};

enum mt_loss_kind {
	MT_LOSS_EVENT_RING,	/* allocation and free records; ring full */
	MT_LOSS_LIFECYCLE_RING,	/* process and thread records; ring full */
	MT_LOSS_STACK_RING,	/* stack definitions; ring full: the event has no stack */
	MT_LOSS_STACK_SCRATCH,	/* no free capture buffer: the event has no stack */
	MT_LOSS_STACK_READ,	/* not a byte of the stack could be read */
	MT_LOSS_REQUEST_RING,	/* attach requests */
	MT_LOSS_THREAD_STATE,	/* a new thread or process could not be tracked */
	MT_LOSS_OUT_POINTER,	/* posix_memalign's result could not be read */
	MT_LOSS_REGION_BEGIN,	/* the begin of an munmap or its like was not seen */
	MT_LOSS_SAMPLED_BLOCKS,	/* no room to remember one: it was not recorded */
	MT_LOSS_KINDS
};

/* bpf/old_kernel.bpf.h: numbers that a CPU gives, and the threads it has room for. */
struct mt_numbers {
	__u64 next;
	__u64 step;
};
#define MT_OLD_THREADS 16384
enum mt_old_probe {
	MT_OLD_ALLOC,
	MT_OLD_RETURN,
	MT_OLD_FREE,
	MT_OLD_RET_SITE,
	MT_OLD_LEAVE,
	MT_OLD_PROBES
};

struct mt_loss_counter {
	__u64 count;
	__u64 first;
	__u64 last;
};

_Static_assert(sizeof(struct mt_ring_hdr) == 24, "ring ABI");
_Static_assert(sizeof(struct mt_ring_free) == 32, "ring ABI");
_Static_assert(sizeof(struct mt_ring_alloc) == 40, "ring ABI");
_Static_assert(sizeof(struct mt_ring_realloc) == 56, "ring ABI");
_Static_assert(sizeof(struct mt_ring_region) == 72, "ring ABI");
_Static_assert(sizeof(struct mt_ring_fork) == 56, "ring ABI");
_Static_assert(sizeof(struct mt_ring_stack) == 56 + 33 * 8 + 127 * 8, "ring ABI");
_Static_assert(sizeof(struct mt_ring_request) == 64, "ring ABI");
_Static_assert(sizeof(struct mt_ring_exec_request) == 88, "ring ABI");
_Static_assert(sizeof(struct mt_inode_key) == 16, "ring ABI");

#endif
