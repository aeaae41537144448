/*
 * record/old_kernel.h - what the programs for Linux 5.10 to 5.19 need done for them.
 *
 * bpf/old_kernel.bpf.h is the other half. Maps and programs are found by name, so this needs no
 * skeleton.
 */
#ifndef MT_OLD_KERNEL_H
#define MT_OLD_KERNEL_H

#include <stdint.h>

struct bpf_object;

/* Before loading: a size for each CPU, and no program that such a kernel cannot take. -errno. */
int mt_old_kernel_prepare(struct bpf_object *object);

/*
 * After loading. Numbers that the programs give to things are from now on never multiples of
 * *ret_step. -errno.
 */
int mt_old_kernel_start(struct bpf_object *object, uint64_t *ret_step);

/*
 * A program for a probe with this cookie, which jumps to the one of that place (enum mt_old_probe);
 * cookies_fd and probes_fd are of the maps of these names. A descriptor, or -errno.
 */
int mt_old_kernel_jump(int cookies_fd, int probes_fd, uint32_t place, uint64_t cookie);

#endif
