/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bpf/pressure.bpf.h - stop whoever writes into a ring that is filling up.
 *
 * One latch an episode: who sets it tells mt-record, which stops the whole tree, lets the rings
 * drain, clears the latch and resumes. Until then everyone who submits a record stops at once, so
 * that a record or two per running thread is all that can still come.
 *
 * The rings of mappings are perf's: the kernel writes into them outside of any program, and no
 * program can ask how full they are. So what goes into them is counted, and mt-record says how much
 * it has read. Records can be longer than is reckoned with, or more, from one mprotect() of many
 * areas: the kernel also tells mt-record when a ring is half full, which then begins an episode
 * itself.
 */
#ifndef MT_PRESSURE_BPF_H
#define MT_PRESSURE_BPF_H

#include "bpf/maps.bpf.h"

static __always_inline void begin_episode(void)
{
	struct mt_ring_request *rec;

	if (!take_place(&pressure_latch, 1))
		return;
	rec = bpf_ringbuf_reserve(&requests, sizeof(*rec), 0);
	if (!rec) {
		SET_FLAG(&unasked, MT_UNASKED_MAPPING);
		return;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->pid = current_id() >> 32;
	rec->kind = MT_REQUEST_PRESSURE;
	rec->time = bpf_ktime_get_ns();
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

/* full: a ring is filling up. In an episode, whoever began it, the process stops. */
static __always_inline void heed_pressure(bool full)
{
	if (!pressure_latch) {
		if (!full)
			return;
		begin_episode();
	}
	if (pressure_latch)
		stop_process(MT_PROCESS_PAUSED, false);
}

/* To be called after a submit or a failed reserve, with no reservation open. */
static __always_inline void check_pressure(void *ring, __u64 limit)
{
	if (pressure_on)
		heed_pressure(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= limit);
}

/* To be called when n records have gone into the rings of mappings, with no reservation open. */
static __always_inline void check_mappings(__u64 n)
{
	__u64 read;

	if (!pressure_on)
		return;
	__sync_fetch_and_add(&mappings_made, n);
	/* What has been read first: it is never more than what is looked at later. */
	read = *(volatile __u64 *)&mappings_read;
	heed_pressure(*(volatile __u64 *)&mappings_made - read >= mappings_limit);
}

/* mt-record is about to resume this process. Marks can be made meanwhile: they must not be lost. */
SEC("raw_tp")
int unstop(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 pid = ctx->args[0];
	__u64 *flags = bpf_map_lookup_elem(&processes, &pid);

	if (!flags)
		return 0;
	CLEAR_FLAG(flags, MT_PROCESS_STOPPED);
	CLEAR_FLAG(flags, MT_PROCESS_PAUSED);
	return 0;
}

#endif
