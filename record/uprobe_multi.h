/*
 * record/uprobe_multi.h - BPF_LINK_CREATE for uprobe_multi, which libbpf before 1.3 cannot do.
 *
 * Constants and layout: include/uapi/linux/bpf.h of Linux 6.6.
 */
#ifndef MT_UPROBE_MULTI_H
#define MT_UPROBE_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* enum bpf_attach_type; sessions are of Linux 6.13 */
#define MT_BPF_TRACE_UPROBE_MULTI 48
#define MT_BPF_TRACE_UPROBE_SESSION 57

/* New link fd, or -errno. Works on path's inode; every process that maps it is probed. */
int mt_uprobe_multi_link(int prog_fd, uint32_t attach_type, const char *path,
			 const uint64_t *offsets, const uint64_t *cookies, size_t n,
			 bool is_return);

#endif
