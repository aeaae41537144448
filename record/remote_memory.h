/*
 * record/remote_memory.h - memory of another process, read page by page and kept for a while.
 *
 * What the process has mapped is what counts, whatever has become of the file; and memory that
 * goes meanwhile is an error, not a signal. process_vm_readv(2).
 */
#ifndef MT_REMOTE_MEMORY_H
#define MT_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_remote_memory;

/* All its memory is allocated here. 0, -ENOMEM. */
int mt_remote_memory_new(struct mt_remote_memory **ret_memory);
void mt_remote_memory_free(struct mt_remote_memory *memory);

/*
 * Whose memory is read from here on. What was read of a process is kept under its version, and not
 * read again: a number never used for memory that was otherwise.
 */
void mt_remote_memory_select(struct mt_remote_memory *memory, int pid, uint64_t version);

/* All n bytes at addr, or false. */
bool mt_remote_memory_read(struct mt_remote_memory *memory, uint64_t addr, void *to, size_t n);

#endif
