/*
 * record/tracefs.h - the kernel's numbers of its tracepoints.
 */
#ifndef MT_TRACEFS_H
#define MT_TRACEFS_H

#include <stdint.h>

/*
 * The number that perf_event_open(2) wants for a tracepoint. tracefs need not be mounted: then
 * it is looked at without mounting it anywhere. -errno.
 */
int mt_tracefs_id(const char *category, const char *name, uint64_t *ret_id);

#endif
