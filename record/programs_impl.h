/*
 * record/programs_impl.h - what record/programs*.c share: the skeleton, which nobody else sees.
 */
#ifndef MT_PROGRAMS_IMPL_H
#define MT_PROGRAMS_IMPL_H

#include <bpf/libbpf.h>

#include "record/programs.h"
/* Has no includes of its own for what its programs share. */
#include "mt_record.skel.h"

struct mt_programs {
	struct mt_record *skel;
	uint64_t sweep_time;		/* of the latest mt_programs_forget_blocks() */
	enum mt_watch watch;
	bool old;			/* the kernel is: bpf/old_kernel.bpf.h */
	uint64_t step;			/* between numbers that are ours to give */
	struct mt_watch_links links;
};

#endif
