/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/code.bpf.h - which pages of a process are executable.
 *
 * A bit per page, in chunks of 64 pages found by address modulo 128 MiB. Two chunks that meet in
 * one place make it answer for any address (MT_CODE_ANY): a superset, which only costs
 * duplicate stack definitions, never a wrong identity.
 */
#ifndef MT_CODE_BPF_H
#define MT_CODE_BPF_H

#include "bpf/maps.bpf.h"

#define USER_CODE_MIN 0x10000ULL
#define USER_CODE_MAX (1ULL << 56)

/* Chunks [first, first + n) restricted to bytes [start, end). */
struct code_range {
	struct mt_process_code *code;
	__u64 start;
	__u64 end;
	__u64 cleared;
};

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

static long add_chunk(__u32 i, struct code_range *range)
{
	__u64 n = (range->start >> MT_CODE_CHUNK_SHIFT) + i;
	__u64 tag = (n >> 9) + 1, pages;
	struct mt_code_chunk *chunk;

	if (n > (range->end - 1) >> MT_CODE_CHUNK_SHIFT)
		return 1;
	chunk = &range->code->chunks[n & (MT_CODE_CHUNKS - 1)];
	pages = pages_in_chunk(n, range->start, range->end);
	if (chunk->tag == 0)
		chunk->tag = tag;
	else if (chunk->tag != tag)
		chunk->tag = MT_CODE_ANY;
	chunk->pages |= pages;
	return 0;
}

/* Chunks are visited by place in the table, so that the cost is bounded for any range. */
static long clear_chunk(__u32 i, struct code_range *range)
{
	struct mt_code_chunk *chunk = &range->code->chunks[i & (MT_CODE_CHUNKS - 1)];
	__u64 n, pages;

	if (chunk->tag == 0)
		return 0;
	if (chunk->tag == MT_CODE_ANY) {
		range->cleared |= chunk->pages;
		return 0;
	}
	n = (chunk->tag - 1) << 9 | (i & (MT_CODE_CHUNKS - 1));
	if (n < range->start >> MT_CODE_CHUNK_SHIFT || n > (range->end - 1) >> MT_CODE_CHUNK_SHIFT)
		return 0;
	pages = pages_in_chunk(n, range->start, range->end) & chunk->pages;
	range->cleared |= pages;
	chunk->pages &= ~pages;
	if (!chunk->pages)
		chunk->tag = 0;
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
	struct code_range range = { .code = code, .start = start, .end = end };

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
	if (end - start > (__u64)MT_CODE_CHUNKS << MT_CODE_CHUNK_SHIFT)
		code->unknown = 1;
	else
		bpf_loop(MT_CODE_CHUNKS + 1, add_chunk, &range, 0);
}

/* [start, end) is unmapped or replaced. Was any of it executable? */
static __always_inline bool code_clear(struct mt_process_code *code, __u64 start, __u64 end)
{
	struct code_range range = { .code = code, .start = start, .end = end };

	if (end <= start || end <= code->lowest || start >= code->highest)
		return false;
	bpf_loop(MT_CODE_CHUNKS, clear_chunk, &range, 0);
	if (!range.cleared)
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

static __always_inline void code_inherit(__u32 pid, __u32 child)
{
	struct mt_process_code *code = process_code(pid);

	if (!code)
		return;
	code->shared = 1;
	bpf_map_update_elem(&codes, &child, code, BPF_ANY);
}

#endif
