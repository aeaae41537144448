/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/sample.bpf.h - --sample-bytes: which allocations are taken, and which frees are of those.
 *
 * A Poisson process over the bytes that each thread asks for: gaps between points are exponential,
 * and an allocation is taken if a point lies in its bytes. The gap that is left is
 * counted down; as the exponential distribution has no memory, it makes no difference what the
 * bytes were of, nor that a call failed. Blocks taken are remembered by address space and
 * address, so that the free of any other costs a lookup.
 */
#ifndef MT_SAMPLE_BPF_H
#define MT_SAMPLE_BPF_H

#include "bpf/exponential.h"
#include "bpf/maps.bpf.h"

/* Blocks of processes that are gone stay until mt-record looks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MT_SAMPLED_BLOCKS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct mt_block_key);
	__type(value, __u64);
} sampled_blocks SEC(".maps");

/* By group: of functions whose blocks have a size that the call does not say. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MT_GROUPS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} fixed_sizes SEC(".maps");

__u64 n_sampled_blocks;

/* Global, so that the verifier walks it once. */
__noinline __u64 next_gap(__u64 mean)
{
	__u64 random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();

	return mt_exponential(random, mean);
}

static __always_inline bool take_bytes(struct mt_task_state *state, __u64 size)
{
	/* Blocks of no bytes count too, so they must have a chance. */
	if (!size)
		size = 1;
	if (!state->sample_gap)
		state->sample_gap = next_gap(sample_bytes);
	if (size < state->sample_gap) {
		state->sample_gap -= size;
		return false;
	}
	state->sample_gap = 0;
	return true;
}

static __always_inline __u64 bytes_asked(const struct mt_call *call)
{
	__u32 group = MT_COOKIE_GROUP(call->cookie);
	__u64 *fixed;

	if (MT_COOKIE_SIZE(call->cookie))
		return call->size;
	fixed = bpf_map_lookup_elem(&fixed_sizes, &group);
	return call->size + (fixed ? *fixed : 0);
}

/* Is the call that begins to be recorded? Of a string only its end tells: not yet decided. */
static __always_inline bool is_taken(struct mt_task_state *state, const struct mt_call *call)
{
	if (!sample_bytes || call->cookie & MT_CALL_STRING)
		return true;
	return take_bytes(state, bytes_asked(call));
}

/* false: there is no room, so its free would not be known. */
static __always_inline bool remember_block(struct mt_task_state *state, __u64 addr)
{
	struct mt_block_key key = { .addr = addr, .space = state->space };
	__u64 value = 0;
	long err;

	if (!sample_bytes)
		return true;
	err = bpf_map_update_elem(&sampled_blocks, &key, &value, BPF_NOEXIST);
	if (!err)
		__sync_fetch_and_add(&n_sampled_blocks, 1);
	if (!err || err == -EEXIST)
		return true;
	count_loss(MT_LOSS_SAMPLED_BLOCKS);
	return false;
}

/*
 * The block is being given up: was it taken? Before another thread can be given its address, which
 * is to say when the call begins.
 */
static __always_inline bool forget_block(struct mt_task_state *state, __u64 addr)
{
	struct mt_block_key key = { .addr = addr, .space = state->space };

	if (!sample_bytes)
		return true;
	if (!bpf_map_lookup_elem(&sampled_blocks, &key) ||
	    bpf_map_delete_elem(&sampled_blocks, &key))
		return false;
	__sync_fetch_and_add(&n_sampled_blocks, -1);
	return true;
}

#endif
