/*
 * record/kernel_features.h - what the running kernel has, found out by trying.
 */
#ifndef MT_KERNEL_FEATURES_H
#define MT_KERNEL_FEATURES_H

#include <stdbool.h>

/*
 * Does it lack what bpf/mt_record.bpf.c needs? Then the programs for older kernels must do:
 * bpf/old_kernel.bpf.h.
 */
bool mt_kernel_is_old(void);

/* Is this process in a pid namespace that is not the machine's own, or cannot that be told? */
bool mt_kernel_in_pid_namespace(void);

/*
 * What a recording under this kernel has to do without: a line for each, in the order of the table;
 * valid during the call. Nothing under Linux 6.0 and later.
 */
typedef void (*mt_kernel_line_fn)(void *arg, const char *line);
void mt_kernel_each_lack(mt_kernel_line_fn fn, void *arg);

#endif
