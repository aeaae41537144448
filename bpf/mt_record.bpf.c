// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * bpf/mt_record.bpf.c - the programs of mt-record, by concern: allocator probes (probes, call,
 * sample) with their stacks (stack, stack_copy, stack_identity), processes (lifecycle, signals),
 * executable memory (watch, wait, exec, code). mt_record_old.bpf.c is the same for older kernels.
 */
#include "bpf/exec.bpf.h"
#include "bpf/lifecycle.bpf.h"
#include "bpf/probes.bpf.h"
#include "bpf/signals.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/watch_calls.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
