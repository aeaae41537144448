/*
 * record/mmap_events.h - PERF_RECORD_MMAP2 of the tracked tree, one ring per CPU.
 *
 * An inherited dummy software event follows the tree by itself, so collection starts before the
 * command runs and misses nothing that the kernel maps. perf_event_open(2).
 */
#ifndef MT_MMAP_EVENTS_H
#define MT_MMAP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_mmap_events;

#define MT_MMAP_PATH_MAX 4096

struct mt_mmap_record {
	uint64_t time;
	uint32_t pid;
	uint32_t exec_clear;	/* 1: the process has called exec; the rest is unset */
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t ino;
	uint64_t generation;
	const char *path;	/* valid during the callback */
};

typedef void (*mt_mmap_record_fn)(void *arg, const struct mt_mmap_record *record);

/* ring_size: of each CPU's ring, a power of two of at least a page. */
int mt_mmap_events_new(size_t ring_size, struct mt_mmap_events **ret_events);
/* Collect for this thread and all it will create. -ESRCH: it is gone; -errno. */
int mt_mmap_events_follow(struct mt_mmap_events *events, int tid);
void mt_mmap_events_free(struct mt_mmap_events *events);

/*
 * Collect for a process that the kernel has let go of, and that stands still: what it maps now is
 * as if mapped at this time. What cannot be had counts as lost. From any one thread, while
 * another reads.
 */
void mt_mmap_events_regain(struct mt_mmap_events *events, int pid, uint64_t time);

/* Hand over what is there, CPU by CPU, at most max records. Returns their number. */
size_t mt_mmap_events_read(struct mt_mmap_events *events, size_t max, mt_mmap_record_fn fn,
			   void *arg);

/* Bytes that most records take: the path of a file may then have some 150. */
#define MT_MMAP_RECORD_LONG 256

/*
 * These rings are the kernel's own, and no program of ours can look at them: ours count what goes
 * in. For records that are longer than most, or not counted one by one, the descriptor (borrowed)
 * becomes readable when a ring is half full; then ask whether one still is. What finds no room is
 * counted by the kernel: mt_mmap_events_lost(). From any thread.
 */
int mt_mmap_events_fd(const struct mt_mmap_events *events);
bool mt_mmap_events_crowded(struct mt_mmap_events *events);

/* Has everything been handed over? From any thread. */
bool mt_mmap_events_empty(const struct mt_mmap_events *events);

/*
 * The end: a ring tells of records that were dropped only when there is room for a later one. Now
 * ask for those that no record followed.
 */
void mt_mmap_events_end(struct mt_mmap_events *events);
/* Records the kernel dropped so far. */
uint64_t mt_mmap_events_lost(const struct mt_mmap_events *events);

#endif
