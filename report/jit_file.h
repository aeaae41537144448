/*
 * report/jit_file.h - is a map in /tmp what a recorded process wrote there?
 *
 * Anybody may put files into /tmp, and pids are used again: what proves a map is when it was
 * written, and by whom.
 */
#ifndef MT_JIT_FILE_H
#define MT_JIT_FILE_H

#include "report/module.h"

/* jit-PID.dump, which perf's and our jitdump reader know by this name. */
bool mt_jit_is_dump(const char *path);

/*
 * Open path, below options' sysroot if there is one, as the map of a process that ran from start to
 * end (CLOCK_MONOTONIC; UINT64_MAX: it still did). MT_MODULE_VERIFIED: *ret_fd is the caller's.
 */
enum mt_module_status mt_jit_open_map(const struct mt_module_options *options, const char *path,
				      uint64_t start, uint64_t end, int *ret_fd,
				      char reason[MT_REASON_MAX]);

#endif
