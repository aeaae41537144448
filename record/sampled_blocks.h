/*
 * record/sampled_blocks.h - forget sampled blocks whose address space is gone.
 *
 * The programs remember each block that was recorded until it is freed (bpf/sample.bpf.h). What a
 * process does not free before it ends or executes another program stays; nothing but
 * room is lost by that.
 */
#ifndef MT_SAMPLED_BLOCKS_H
#define MT_SAMPLED_BLOCKS_H

#include <stdint.h>

/*
 * Delete them from the map at blocks_fd; processes_fd is the map of the tracked ones, and no
 * address space above last_space is looked at: it may be of a process that is just being
 * made. *deleted counts them, those before a failure too. 0, -ENOMEM, -EAGAIN or -errno.
 */
int mt_sampled_blocks_sweep(int blocks_fd, int processes_fd, uint64_t last_space,
			    uint64_t *deleted);

#endif
