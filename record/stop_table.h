/*
 * record/stop_table.h - the processes that stand still for us, in memory that two processes share.
 *
 * A bit for each number that a process can have, so that there is always room. One process writes.
 */
#ifndef MT_STOP_TABLE_H
#define MT_STOP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define MT_STOP_PIDS (1 << 22)	/* Linux's PID_MAX_LIMIT */
#define MT_STOP_WORDS (MT_STOP_PIDS / 64)

struct mt_stop_table {
	uint64_t words[MT_STOP_WORDS];
};

/* A pid that no process can have is not added. */
void mt_stop_table_set(struct mt_stop_table *table, int pid, bool stopped);
bool mt_stop_table_has(const struct mt_stop_table *table, int pid);

/* The first that is not below pid; 0: there is none. */
int mt_stop_table_next(const struct mt_stop_table *table, int pid);

#endif
