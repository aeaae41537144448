/*
 * record/allocators.h - the allocator functions of a file and how to probe them.
 */
#ifndef MT_ALLOCATORS_H
#define MT_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_allocator_table;

enum mt_allocator_kind {
	MT_ALLOCATOR_OTHER,	/* defines malloc and so on; we do not know whose they are */
	MT_ALLOCATOR_GLIBC,
	MT_ALLOCATOR_MUSL,
	MT_ALLOCATOR_JEMALLOC,
	MT_ALLOCATOR_MIMALLOC,
	MT_ALLOCATOR_TCMALLOC,
	MT_ALLOCATOR_USER,	/* named by --allocator */
	MT_ALLOCATOR_KINDS
};

const char *mt_allocator_kind_name(enum mt_allocator_kind kind);

enum mt_probe_role {
	MT_PROBE_CALL,		/* entry and return of a call that allocates, or may nest */
	MT_PROBE_FREE,		/* entry of a free that calls nothing we probe */
	MT_PROBE_ENTRY,		/* entry of a function whose return instructions have probes */
	MT_PROBE_RET_SITE,	/* such an instruction */
	MT_PROBE_LEAVE,		/* where an allocator may call the program */
	MT_PROBE_WAIT,		/* where a dynamic linker waits, record/wait_places.h */
	MT_PROBE_EXEC,		/* entry of a function that executes files, there too */
};

/* How the kernel goes on over the instruction under a probe. */
enum mt_probe_step {
	MT_STEP_UNKNOWN,
	MT_STEP_EMULATED,
	MT_STEP_SINGLE,		/* out of line: some fifteen times as expensive */
};

struct mt_probe {
	const char *function;	/* borrowed from the table */
	uint64_t offset;	/* in the file */
	uint32_t forward;	/* of which the site lies so much behind the function's entry */
	uint64_t cookie;	/* MT_COOKIE and MT_CALL_* of bpf/mt_ring.h, without a group */
	uint64_t fixed_size;	/* of every block, 0 if the call says */
	uint8_t kind;		/* enum mt_allocator_kind */
	uint8_t role;		/* enum mt_probe_role */
	uint8_t step;		/* enum mt_probe_step, once the site has been chosen */
};

#define MT_SCAN_GAPS_MAX 16

struct mt_allocator_gap {
	const char *function;	/* borrowed from the table; "": the whole file */
	const char *reason;	/* static */
};

struct mt_allocator_scan {
	struct mt_probe *probes;
	size_t n;
	size_t n_functions;	/* probed; the others are LEAVE and RET_SITE */
	struct mt_allocator_gap gaps[MT_SCAN_GAPS_MAX];
	size_t n_gaps;
};

/*
 * Which probes the file at fd needs: one per place, however many names lead there, and none for a
 * function that only jumps to one that has a probe. found, if not NULL, has an element for each
 * function of the table; those that the file defines are set. A file of which a part cannot
 * be read has a gap. -MT_E_NOT_ELF, -ENOMEM, -errno.
 */
int mt_allocators_scan(const struct mt_allocator_table *table, int fd, bool *found,
		       struct mt_allocator_scan *ret_scan);
void mt_allocator_scan_release(struct mt_allocator_scan *scan);

#endif
