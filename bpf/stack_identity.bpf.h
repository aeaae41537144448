/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* bpf/stack_identity.bpf.h - what makes two stacks one: a digest of their code words. */
#ifndef MT_STACK_IDENTITY_BPF_H
#define MT_STACK_IDENTITY_BPF_H

#include "bpf/stack_copy.bpf.h"

#define SCAN_WORDS 32

struct scan {
	struct capture *capture;
	struct mt_process_code *code;	/* NULL: any user address may be code */
	__u64 hash;
	__u32 words;
};

/* hash with n words at most, of those left from number at on; n is a constant. */
static __always_inline __u64 fold_words(__u64 hash, const __u64 *words, __u32 left, __u32 n)
{
	__u32 k;

	for (k = 0; k < n && k < left; k++)
		hash = mt_fold(hash, words[k]);
	return hash;
}

/* The same with those alone that can be code addresses, and where they are. */
static __always_inline __u64 fold_code_words(__u64 hash, const __u64 *words, __u32 at, __u32 left,
					     __u32 n, const struct mt_process_code *code)
{
	__u64 v, lowest, span;
	__u32 k;

	if (!code) {
		for (k = 0; k < n && k < left; k++) {
			v = strip_code(words[k]);
			if (v >= USER_CODE_MIN && v < USER_CODE_MAX)
				hash = mt_fold(mt_fold(hash, at + k), v);
		}
		return hash;
	}
	/* Small numbers would be in the first chunks, should two share a place there. */
	lowest = code->lowest;
	span = code->highest - lowest;
	for (k = 0; k < n && k < left; k++) {
		v = strip_code(words[k]);
		if (v - lowest < span && is_code(code, v))
			hash = mt_fold(mt_fold(hash, at + k), v);
	}
	return hash;
}

#ifdef MT_OLD_KERNEL

#define PIECE_WORDS 128

/* The words from number at on, of the capture that this CPU has, a piece at most. */
__noinline __u64 scan_piece(__u64 hash, __u32 at, __u32 words, __u32 pid)
{
	__u32 index = bpf_get_smp_processor_id(), left;
	struct capture *capture = bpf_map_lookup_elem(&captures, &index);
	__u64 *piece;

	if (!capture || at >= words)
		return hash;
	left = words - at;
	at &= 8191 & ~(PIECE_WORDS - 1);
	piece = (__u64 *)(capture->bytes + at * 8);
	if (identity_mode == MT_IDENTITY_BYTES)
		return fold_words(hash, piece, left, PIECE_WORDS);
	return fold_code_words(hash, piece, at, left, PIECE_WORDS, pid ? process_code(pid) : NULL);
}

static __always_inline __u64 scan_stack(struct capture *capture, struct mt_process_code *code,
					__u64 hash, __u32 words)
{
	__u32 pid = code ? current_id() >> 32 : 0, at;

	for (at = 0; at < 8192; at += PIECE_WORDS) {
		if (at >= words)
			break;
		hash = scan_piece(hash, at, words, pid);
	}
	return hash;
}

#else

static long scan_words(__u32 i, struct scan *scan)
{
	__u32 at = (i * SCAN_WORDS) & 8191, left = scan->words - at;
	__u64 *words = (__u64 *)(scan->capture->bytes + at * 8);

	if (at >= scan->words)
		return 1;
	scan->hash = fold_code_words(scan->hash, words, at, left, SCAN_WORDS, scan->code);
	return 0;
}

static long digest_words(__u32 i, struct scan *scan)
{
	__u32 at = (i * SCAN_WORDS) & 8191, left = scan->words - at;
	__u64 *words = (__u64 *)(scan->capture->bytes + at * 8);

	if (at >= scan->words)
		return 1;
	scan->hash = fold_words(scan->hash, words, left, SCAN_WORDS);
	return 0;
}

/*
 * hash with the words of the capture that count. Global, so that the verifier walks the scan once
 * and not for every path that leads to it: a third of a second at each start.
 */
__noinline __u64 scan_stack(struct capture *capture, struct mt_process_code *code, __u64 hash,
			    __u32 words)
{
	struct scan scan = { .capture = capture, .code = code, .hash = hash, .words = words };

	if (!capture)
		return hash;
	if (identity_mode == MT_IDENTITY_BYTES)
		repeat(MT_RING_STACK_MAX / 8 / SCAN_WORDS + 1, digest_words, &scan);
	else
		repeat(MT_RING_STACK_MAX / 8 / SCAN_WORDS + 1, scan_words, &scan);
	return scan.hash;
}

#endif

/*
 * Where a capture begins. A uprobe's context has the registers; of a system call they are the
 * task's, whose fields have other names.
 */
struct origin {
	void *ctx;		/* the program's */
	bool call;		/* a system call's; else ctx are the registers */
	struct pt_regs *task;
	__u64 ip;
	__u64 fp;
	__u64 sp;
#if defined(__TARGET_ARCH_arm64)
	__u64 link;
#endif
};

static __always_inline __u64 stack_identity(const struct origin *from, struct capture *capture,
					    struct mt_process_code *code, __u64 link, __u32 len)
{
	__u64 fp = from->fp - from->sp, hash;

	if (code)
		code_resolve(code);
	capture->def.generation = code ? code->generation : 0;
	hash = mt_fold(MT_FNV_BASIS, capture->def.generation);
	hash = mt_fold(hash, from->ip);
	if (link)
		hash = mt_fold(hash, link);
	/* A caller that keeps its frame base in a register unwinds by it. */
	if (fp < len)
		hash = mt_fold(hash, fp);
	hash = scan_stack(capture, code && !code->unknown && !code->pending ? code : NULL, hash,
			  len / 8);
	if (capture->def.flags)
		hash = mt_fold(hash, capture->def.above);
	return hash;
}

#endif
