// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* bpf/mt_record_old.bpf.c - the programs of mt_record.bpf.c for Linux 5.10 to 5.19. */
#define MT_OLD_KERNEL
#include "bpf/mt_record.bpf.c"
