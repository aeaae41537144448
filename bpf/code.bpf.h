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
	if (__sync_val_compare_and_swap(&chunk->tag, 0, tag) != 0 && chunk->tag != tag)
		chunk->tag = MT_CODE_ANY;
	__sync_fetch_and_or(&chunk->pages, pages);
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
	__sync_fetch_and_and(&chunk->pages, ~pages);
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

	if (place->start || __sync_val_compare_and_swap(&place->start, 0, range->start) != 0)
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
	return __sync_fetch_and_add(&next_generation, 1) + 1;
}

static __always_inline struct mt_process_code *process_code(__u32 pid)
{
	return bpf_map_lookup_elem(&codes, &pid);
}

/* [start, end) has become executable. */
static __always_inline void code_add(struct mt_process_code *code, __u64 start, __u64 end)
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
	bpf_loop(code->n_ranges, find_range, &range, 0);
	if (!range.hit)
		bpf_loop(MT_CODE_RANGES, take_range, &range, 0);
	if (!range.hit)
		code->more_ranges = 1;
	if (end - start > (__u64)MT_CODE_CHUNKS << MT_CODE_CHUNK_SHIFT)
		code->unknown = 1;
	else
		bpf_loop(MT_CODE_CHUNKS + 1, add_chunk, &range, 0);
}

/* [start, end) is unmapped or replaced. Was any of it executable? */
static __always_inline bool code_clear(struct mt_process_code *code, __u64 start, __u64 end)
{
	struct code_change range = { .code = code, .start = start, .end = end };

	if (end <= start || end <= code->lowest || start >= code->highest)
		return false;
	bpf_loop(code->n_ranges, clear_range, &range, 0);
	if (!range.hit && !code->more_ranges)
		return false;
	bpf_loop(MT_CODE_CHUNKS, clear_chunk, &range, 0);
	if (!range.hit)
		return false;
	code->generation = new_generation();
	code->shared = 0;
	return true;
}

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
	area->start = vma->vm_start;
	area->end = vma->vm_end;
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
	bpf_find_vma(bpf_get_current_task_btf(), code->pending, code_of_area, &area, 0);
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
