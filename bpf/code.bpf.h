/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/code.bpf.h - which pages of a process are executable.
 *
 * A bit per page, in chunks of 64 pages found by address modulo 512 MiB. Two chunks that meet in
 * one place make it answer for any address (MT_CODE_ANY): a superset, which only costs
 * duplicate stack definitions, never a wrong identity. The ranges beside them say exactly whether
 * memory that goes was executable: a program that uses much memory unmaps some all the time.
 */
#ifndef MT_CODE_BPF_H
#define MT_CODE_BPF_H

#include "bpf/maps.bpf.h"

#define USER_CODE_MIN 0x10000ULL
#define USER_CODE_MAX (1ULL << 56)
#define CHUNK_TAG_SHIFT (MT_CODE_TAG_SHIFT - MT_CODE_CHUNK_SHIFT)
_Static_assert(MT_CODE_CHUNKS == 1 << CHUNK_TAG_SHIFT, "a tag and a place name a chunk");

/* A change of bytes [start, end). */
struct code_change {
	struct mt_process_code *code;
	__u64 start;
	__u64 end;
	__u64 hit;	/* the range had a place already; pages or ranges that went */
};

/* A return address without its signature. */
static __always_inline __u64 strip_code(__u64 addr)
{
#if defined(__TARGET_ARCH_arm64)
	return addr & code_mask;
#else
	return addr;
#endif
}

static __always_inline bool is_code(const struct mt_process_code *code, __u64 addr)
{
	const struct mt_code_chunk *chunk;

	chunk = &code->chunks[(addr >> MT_CODE_CHUNK_SHIFT) & (MT_CODE_CHUNKS - 1)];
	return (chunk->tag == (addr >> MT_CODE_TAG_SHIFT) + 1 || chunk->tag == MT_CODE_ANY) &&
	       (chunk->pages >> ((addr >> 12) & 63) & 1);
}

/* Bits of the pages of [start, end) that lie in chunk number n. */
static __always_inline __u64 pages_in_chunk(__u64 n, __u64 start, __u64 end)
{
	__u64 first = 0, last = 63;

	if (start >> MT_CODE_CHUNK_SHIFT == n)
		first = (start >> 12) & 63;
	if ((end - 1) >> MT_CODE_CHUNK_SHIFT == n)
		last = ((end - 1) >> 12) & 63;
	return (~0ULL << first) & (~0ULL >> (63 - last));
}

static long add_chunk(__u32 i, struct code_change *range)
{
	__u64 n = (range->start >> MT_CODE_CHUNK_SHIFT) + i;
	__u64 tag = (n >> CHUNK_TAG_SHIFT) + 1, pages;
	struct mt_code_chunk *chunk;

	if (n > (range->end - 1) >> MT_CODE_CHUNK_SHIFT)
		return 1;
	chunk = &range->code->chunks[n & (MT_CODE_CHUNKS - 1)];
	pages = pages_in_chunk(n, range->start, range->end);
	/* Other threads of the process may be here too. */
	if (!take_place(&chunk->tag, tag) && chunk->tag != tag)
		chunk->tag = MT_CODE_ANY;
	set_bits(&chunk->pages, pages);
	return 0;
}

/* Chunks are visited by place in the table, so that the cost is bounded for any range. */
static long clear_chunk(__u32 i, struct code_change *range)
{
	struct mt_code_chunk *chunk = &range->code->chunks[i & (MT_CODE_CHUNKS - 1)];
	__u64 first = range->start >> MT_CODE_CHUNK_SHIFT, n, pages;

	if (chunk->tag == 0)
		return 0;
	/* The first chunk of the range that belongs here, if there is one. */
	n = first + ((i - first) & (MT_CODE_CHUNKS - 1));
	if (chunk->tag != MT_CODE_ANY)
		n = (chunk->tag - 1) << CHUNK_TAG_SHIFT |
		    (i & (MT_CODE_CHUNKS - 1));
	if (n < first || n > (range->end - 1) >> MT_CODE_CHUNK_SHIFT)
		return 0;
	pages = pages_in_chunk(n, range->start, range->end) & chunk->pages;
	range->hit |= pages;
	/* Pages of another chunk in this place may be the ones that stay. */
	if (chunk->tag == MT_CODE_ANY)
		return 0;
	clear_bits(&chunk->pages, pages);
	if (!chunk->pages)
		chunk->tag = 0;
	return 0;
}

static long find_range(__u32 i, struct code_change *range)
{
	const struct mt_code_span *place = &range->code->ranges[i & (MT_CODE_RANGES - 1)];

	if (place->start && place->start <= range->start && range->end <= place->end)
		range->hit = 1;
	return range->hit != 0;
}

static long take_range(__u32 i, struct code_change *range)
{
	struct mt_code_span *place = &range->code->ranges[i & (MT_CODE_RANGES - 1)];

	if (place->start || !take_place(&place->start, range->start))
		return 0;
	place->end = range->end;
	if (range->code->n_ranges <= i)
		range->code->n_ranges = i + 1;
	range->hit = 1;
	return 1;
}

/* One that is cut in two stays as it is: a superset. An end of 0 is about to be set. */
static long clear_range(__u32 i, struct code_change *range)
{
	struct mt_code_span *place = &range->code->ranges[i & (MT_CODE_RANGES - 1)];

	if (!place->start || place->start >= range->end ||
	    (place->end && place->end <= range->start))
		return 0;
	range->hit = 1;
	if (place->start < range->start) {
		if (place->end <= range->end)
			place->end = range->start;
	} else if (place->end > range->end) {
		place->start = range->end;
	} else {
		place->end = 0;
		place->start = 0;
	}
	return 0;
}

static __always_inline __u64 new_generation(void)
{
	return next_number(&next_generation);
}

static __always_inline struct mt_process_code *process_code(__u32 pid)
{
	return bpf_map_lookup_elem(&codes, &pid);
}

#ifdef MT_OLD_KERNEL

/*
 * Of all that can be had there only a map tells who of two was first: its entries are locks. And
 * the ranges and chunks of a process are too many to be one loop for the verifier.
 */
#define LOCK_TRIES 256
#define PIECE 16

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} code_locks SEC(".maps");

static __always_inline bool lock_code(__u32 pid)
{
	__u8 value = 0;
	__u32 i;

	for (i = 0; i < LOCK_TRIES; i++)
		if (!bpf_map_update_elem(&code_locks, &pid, &value, BPF_NOEXIST))
			return true;
	return false;
}

static __always_inline void unlock_code(__u32 pid)
{
	bpf_map_delete_elem(&code_locks, &pid);
}

#define EACH(fn)							\
	for (i = 0; i < PIECE; i++)					\
		if (fn(first + i, &range))				\
			break

enum change {
	FIND_RANGE,
	TAKE_RANGE,
	CLEAR_RANGE,
	ADD_CHUNK,
	CLEAR_CHUNK,
};

/* One step of a change for some of the ranges or chunks, from number first on: its hits. */
__noinline __u64 change_some(__u32 pid, __u64 start, __u64 end, __u32 first, __u32 what)
{
	struct code_change range = { .start = start, .end = end };
	__u32 i;

	range.code = process_code(pid);
	if (!range.code || first > MT_CODE_CHUNKS)
		return 0;
	switch (what) {
	case FIND_RANGE:
		EACH(find_range);
		break;
	case TAKE_RANGE:
		EACH(take_range);
		break;
	case CLEAR_RANGE:
		EACH(clear_range);
		break;
	case ADD_CHUNK:
		EACH(add_chunk);
		break;
	case CLEAR_CHUNK:
		EACH(clear_chunk);
		break;
	}
	return range.hit;
}

/* The steps that look for one range are over when it has been found. */
static __always_inline void change_all(struct code_change *range, __u32 pid, enum change what)
{
	__u32 i, n = what < ADD_CHUNK ? MT_CODE_RANGES : MT_CODE_CHUNKS + (what == ADD_CHUNK);

	for (i = 0; i < n; i += PIECE) {
		range->hit |= change_some(pid, range->start, range->end, i, what);
		if (what < CLEAR_RANGE && range->hit)
			break;
	}
}

#define find_ranges(range) change_all(range, pid, FIND_RANGE)
#define take_ranges(range) change_all(range, pid, TAKE_RANGE)
#define clear_ranges(range) change_all(range, pid, CLEAR_RANGE)
#define add_chunks(range) change_all(range, pid, ADD_CHUNK)
#define clear_chunks(range) change_all(range, pid, CLEAR_CHUNK)

#else
#define find_ranges(range) repeat(code->n_ranges, find_range, range)
#define take_ranges(range) repeat(MT_CODE_RANGES, take_range, range)
#define clear_ranges(range) repeat(code->n_ranges, clear_range, range)
#define add_chunks(range) repeat(MT_CODE_CHUNKS + 1, add_chunk, range)
#define clear_chunks(range) repeat(MT_CODE_CHUNKS, clear_chunk, range)
#endif

/* [start, end) has become executable. */
static __always_inline void add_range(__u32 pid, struct mt_process_code *code, __u64 start,
				      __u64 end)
{
	struct code_change range = { .code = code, .start = start, .end = end };

	if (end <= start)
		return;
	/* The two sides of a fork may map different files at one address. */
	if (code->shared) {
		code->generation = new_generation();
		code->shared = 0;
	}
	if (start < code->lowest || !code->highest)
		code->lowest = start;
	if (end > code->highest)
		code->highest = end;
	find_ranges(&range);
	if (!range.hit)
		take_ranges(&range);
	if (!range.hit)
		code->more_ranges = 1;
	if (end - start > (__u64)MT_CODE_CHUNKS << MT_CODE_CHUNK_SHIFT)
		code->unknown = 1;
	else
		add_chunks(&range);
}

/* [start, end) is unmapped or replaced. Was any of it executable? */
static __always_inline bool drop_range(__u32 pid, struct mt_process_code *code, __u64 start,
				       __u64 end)
{
	struct code_change range = { .code = code, .start = start, .end = end };

	if (end <= start || end <= code->lowest || start >= code->highest)
		return false;
	clear_ranges(&range);
	if (!range.hit && !code->more_ranges)
		return false;
	clear_chunks(&range);
	if (!range.hit)
		return false;
	code->generation = new_generation();
	code->shared = 0;
	return true;
}

#ifdef MT_OLD_KERNEL

/* Both of the current process, or of this one; one at a time. */
__noinline int change_code(__u32 pid, __u64 start, __u64 end, __u32 goes)
{
	struct mt_process_code *code = process_code(pid);
	bool hit = false;

	if (!code)
		return 0;
	if (!lock_code(pid)) {
		/* From now on any word may be a code address: more stacks, but none is wrong. */
		code->unknown = 1;
		code->generation = new_generation();
		return 1;
	}
	if (goes)
		hit = drop_range(pid, code, start, end);
	else
		add_range(pid, code, start, end);
	unlock_code(pid);
	return hit;
}

static __always_inline void code_add_for(__u32 pid, struct mt_process_code *code, __u64 start,
					 __u64 end)
{
	change_code(pid, start, end, 0);
}

static __always_inline void code_add(struct mt_process_code *code, __u64 start, __u64 end)
{
	change_code(current_id() >> 32, start, end, 0);
}

static __always_inline bool code_clear(struct mt_process_code *code, __u64 start, __u64 end)
{
	if (end <= start || end <= code->lowest || start >= code->highest)
		return false;
	return change_code(current_id() >> 32, start, end, 1);
}

#else
#define code_add(code, start, end) add_range(0, code, start, end)
#define code_add_for(pid, code, start, end) add_range(0, code, start, end)
#define code_clear(code, start, end) drop_range(0, code, start, end)
#endif

/* A new program: nothing is executable yet. */
static __always_inline struct mt_process_code *code_reset(__u32 pid)
{
	__u32 zero = 0;
	struct mt_process_code *empty = bpf_map_lookup_elem(&empty_code, &zero), *code;

	if (!empty)
		return NULL;
	bpf_map_update_elem(&codes, &pid, empty, BPF_ANY);
	code = process_code(pid);
	if (code)
		code->generation = new_generation();
	return code;
}

static long code_of_area(struct task_struct *task, struct vm_area_struct *vma,
			 struct code_change *area)
{
	area->start = KERNEL_FIELD(vma, vm_start);
	area->end = KERNEL_FIELD(vma, vm_end);
	return 0;
}

/*
 * The range of a program's first code could not be had at exec: whoever puts probes into the
 * process keeps its mappings locked. Until it can, any word may be a code address.
 */
static __always_inline void code_resolve(struct mt_process_code *code)
{
	struct code_change area = {};

	if (!code->pending)
		return;
	find_vma(current_task(), code->pending, code_of_area, &area);
	if (!area.end)
		return;
	code_add(code, area.start, area.end);
	code->pending = 0;
}

static __always_inline void code_inherit(__u32 pid, __u32 child)
{
	struct mt_process_code *code = process_code(pid);

	if (!code)
		return;
	code->shared = 1;
	bpf_map_update_elem(&codes, &child, code, BPF_ANY);
}

#endif
