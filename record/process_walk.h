/*
 * record/process_walk.h - each tracked process that has not exited, from the programs' map of them.
 */
#ifndef MT_PROCESS_WALK_H
#define MT_PROCESS_WALK_H

#include <stdint.h>

/* flags are of enum mt_process_flags, above them the number of the address space. */
typedef void (*mt_process_fn)(void *arg, int pid, uint64_t flags);

/*
 * A key that goes meanwhile makes the walk start again: fn sees some processes twice. 0, or
 * -EAGAIN: it never came to an end, and fn may not have seen all.
 */
int mt_process_walk(int processes_fd, mt_process_fn fn, void *arg);

#endif
