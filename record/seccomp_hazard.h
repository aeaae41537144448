/*
 * record/seccomp_hazard.h - kernels whose return probes kill processes with a seccomp filter.
 *
 * On x86-64 Linux 6.11 ends a return probe by a system call of the probed process, which filters
 * that do not know it refuse, mostly by a signal. Linux 6.14, and updates of 6.12 and 6.13, keep
 * filters out of that.
 */
#ifndef MT_SECCOMP_HAZARD_H
#define MT_SECCOMP_HAZARD_H

#include <stdbool.h>
#include <stdint.h>

#define MT_SECCOMP_COMM_MAX 16

/* Is this such a kernel? Found out by trying, in a child, where the version makes it possible. */
bool mt_seccomp_hazard(void);

/* For mt_seccomp_hazard() and tests: could a kernel with this uname(2) release be one? */
bool mt_seccomp_hazard_possible(const char *release);

/*
 * How many processes have a filter now, and one of them. Probes act on those that are not recorded
 * too.
 */
uint32_t mt_seccomp_filtered(int *ret_pid, char ret_comm[MT_SECCOMP_COMM_MAX]);

#endif
