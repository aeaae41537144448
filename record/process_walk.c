#include "record/process_walk.h"

#include <bpf/bpf.h>
#include <errno.h>

#define STEPS_MAX (1u << 19)	/* four times what the map holds */

int mt_process_walk(int processes_fd, mt_process_fn fn, void *arg)
{
	__u32 key, *previous = NULL, steps;
	__u64 flags;

	for (steps = 0; steps < STEPS_MAX; steps++) {
		if (bpf_map_get_next_key(processes_fd, previous, &key))
			return 0;
		previous = &key;
		if (!bpf_map_lookup_elem(processes_fd, &key, &flags))
			fn(arg, (int)key, flags);
	}
	return -EAGAIN;
}
