/*
 * record/witness.h - perf's records of mappings as witnesses of what the watch has seen.
 *
 * A file that was mapped before calls into it could be seen must belong to a process that was
 * stopped meanwhile. The watch and perf are independent: what only perf tells of was missed.
 */
#ifndef MT_WITNESS_H
#define MT_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

struct mt_inode_key;
struct mt_witness;

/* A file as /proc/PID/maps and perf show it: dev as in struct mt_inode_key. */
struct mt_witness_file {
	uint64_t ino;
	uint32_t dev;
	uint32_t generation;	/* as perf says; not compared */
};

/* Is the file known by this name too? Asked with a lock held. */
typedef bool (*mt_witness_excuse_fn)(const void *arg, const struct mt_inode_key *key);

/* All functions may be called by any thread. Memory is fixed. excuse may be NULL. */
int mt_witness_new(mt_witness_excuse_fn excuse, const void *arg, struct mt_witness **ret_witness);
void mt_witness_free(struct mt_witness *witness);

/* From this time on calls into the file are seen. The first time counts. */
void mt_witness_known(struct mt_witness *witness, struct mt_witness_file file, uint64_t time);
/* Process pid maps it and stands still until then. */
void mt_witness_stopped(struct mt_witness *witness, uint32_t pid, struct mt_witness_file file);
/* perf says that process pid mapped it at this time. */
void mt_witness_mapped(struct mt_witness *witness, uint32_t pid, struct mt_witness_file file,
		       uint64_t time);

/*
 * How many files in how many processes were mapped without the watch having noticed, leaving out
 * those that are excused.
 */
uint64_t mt_witness_unseen(struct mt_witness *witness);

#endif
