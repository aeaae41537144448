/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/stack_path.bpf.h - the call path of a stack, where every frame on it is known.
 *
 * Words of calls that are over lie about in the stack, and make one path look like many. Only the
 * unwind tables tell which words count. mt-record looks that up for the return addresses of
 * the stacks it is given (record/frame_rows.h), and here stacks that look new are walked with it.
 */
#ifndef MT_STACK_PATH_BPF_H
#define MT_STACK_PATH_BPF_H

#include "bpf/stack_copy.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 17);
	__type(key, struct mt_frame_key);
	__type(value, __u64);
} frame_rows SEC(".maps");

#ifdef MT_OLD_KERNEL

/* Loops are too dear there. */
static __always_inline __u64 stack_path(struct capture *capture, __u64 pc, __u64 sp, __u64 fp)
{
	return 0;
}

#else

struct path {
	struct capture *capture;
	struct mt_frame_key key;
	__u64 low;		/* where the capture begins */
	__u64 len;
	__u64 sp;
	__u64 fp;
	__u64 hash;
	bool ended;
	bool cut;		/* by the end of the capture */
};

/* A word of the capture, at an offset below its length. */
static __always_inline __u64 word_at(const struct path *path, __u64 at)
{
	return ((const __u64 *)path->capture->bytes)[(at >> 3) & 8191];
}

static long walk_frame(__u32 i, struct path *path)
{
	__u64 *found = bpf_map_lookup_elem(&frame_rows, &path->key), row, at, saved;

	if (!found)
		return 1;
	row = *found;
	if (MT_FRAME_BASE(row) == MT_FRAME_END) {
		path->ended = true;
		return 1;
	}
	at = mt_frame_cfa(row, path->low, path->sp, path->fp);
	if (!at)
		return 1;
	if (at > path->len) {
		path->cut = path->ended = path->capture->def.flags != 0;
		return 1;
	}
	path->key.pc = strip_code(word_at(path, at - 8));
	saved = (__u64)MT_FRAME_SAVED(row) * 8;
	if (saved) {
		if (saved > at)
			return 1;
		path->fp = word_at(path, at - saved);
	}
	path->sp = at + path->low;
	path->hash = mt_fold(path->hash, path->key.pc);
	return 0;
}

/* Its digest, 0 if a frame is not known. A global function as scan_stack() is. */
__noinline __u64 stack_path(struct capture *capture, __u64 pc, __u64 sp, __u64 fp)
{
	struct path path = { .capture = capture, .low = sp, .sp = sp, .fp = fp };

	if (!capture || !capture->def.generation)
		return 0;
	path.len = capture->def.n_bytes;
	path.key.generation = capture->def.generation;
	path.key.pc = pc | MT_FRAME_EXACT;
	path.hash = mt_path_begin(path.key.generation, pc);
	repeat(MT_PATH_FRAMES_MAX, walk_frame, &path);
	if (!path.ended)
		return 0;
	return path.cut ? mt_path_cut(path.hash, capture->def.above) : path.hash;
}

#endif

#endif
