/*
 * record/guardian.h - a process that outlives mt-record's violent end and resumes what it stopped.
 *
 * Tells the programs that nobody answers any more, so that who waits goes on at once. Knows the
 * stopped processes from shared memory, those whose request nobody has read yet from the
 * request ring itself, and whom the programs stopped without one from the map of processes.
 * Holds nothing else open: no program, no link, no file.
 */
#ifndef MT_GUARDIAN_H
#define MT_GUARDIAN_H

#include <stdint.h>

struct mt_guardian;
struct mt_stop_table;

/*
 * Fork it; call before there are threads. The maps' descriptors are borrowed; no_stops is in memory
 * that the programs share with all processes, and is set to 1 when the calling thread ends
 * without mt_guardian_free(). -errno.
 */
int mt_guardian_start(int requests_fd, int processes_fd, uint32_t *no_stops,
		      struct mt_guardian **ret_guardian);
/* Who is in it stands still for us. Shared with the guardian. */
struct mt_stop_table *mt_guardian_table(struct mt_guardian *guardian);

/* All is well: it ends without doing anything. By the thread that started it. */
void mt_guardian_free(struct mt_guardian *guardian);

#endif
