/*
 * record/guardian.h - a process that outlives mt-record's violent end and resumes what it stopped.
 *
 * Knows the stopped processes from shared memory, those whose request nobody has read yet from the
 * request ring itself, and whom the programs stopped without one from the map of processes.
 * Holds nothing else open: no program, no link, no file.
 */
#ifndef MT_GUARDIAN_H
#define MT_GUARDIAN_H

#include <stdint.h>

struct mt_guardian;

/* Processes that stand still for us: slots of pids, 0 = free. Shared with the guardian. */
#define MT_STOP_SLOTS 8192
struct mt_stop_table {
	int32_t pids[MT_STOP_SLOTS];
};

/* Fork it; call before there are threads. The maps' descriptors are borrowed. -errno. */
int mt_guardian_start(int requests_fd, int processes_fd, struct mt_guardian **ret_guardian);
struct mt_stop_table *mt_guardian_table(struct mt_guardian *guardian);

/* All is well: it ends without doing anything. */
void mt_guardian_free(struct mt_guardian *guardian);

#endif
