/*
 * record/programs.h - the loaded BPF programs and maps: the only module that sees the skeleton.
 */
#ifndef MT_PROGRAMS_H
#define MT_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/mt_ring.h"
#include "record/attach.h"
#include "record/process_walk.h"
#include "record/ring_room.h"
#include "record/watch.h"

struct mt_programs;

/* Tables of the kernel side; what is larger costs kernel memory. */
enum mt_table {
	MT_TABLE_PROCESSES,	/* tracked at the same time */
	MT_TABLE_CODE,		/* processes whose executable memory is known */
	MT_TABLE_STACKS,	/* definitions remembered */
	MT_TABLE_FILES,		/* known */
	MT_TABLE_LINKERS,
	MT_TABLE_CAPTURES,	/* threads that capture their stack at the same time */
	MT_TABLES
};

struct mt_programs_options {
	uint32_t stack_size;
	uint64_t sample_bytes;		/* 0: every allocation is recorded */
	struct mt_ring_room ring;	/* sizes are powers of two, multiples of the page size */
	struct mt_ring_room stack_ring;
	uint64_t request_ring_size;
	uint64_t mappings_limit;	/* from so many on that have not been read */
	enum mt_attach_mode attach_mode;
	enum mt_watch watch;
	enum mt_identity_mode identity;
	bool regions;			/* mmap and its like are events */
	bool pressure;			/* stop the tree rather than lose records */
	bool paused;			/* as by mt_programs_pause() */
	uint32_t tables[MT_TABLES];	/* sizes; 0: as usual */
};

#define MT_PROGRAMS_LOG_MAX 4096

/*
 * Load everything and attach what is not attached to files. On failure -errno, and log holds what
 * libbpf and the kernel said (its end, if it was long).
 */
int mt_programs_load(const struct mt_programs_options *options, char log[MT_PROGRAMS_LOG_MAX],
		     struct mt_programs **ret_programs);
void mt_programs_free(struct mt_programs *programs);

/* Are stacks walked by the rows of their frames (bpf/stack_path.bpf.h)? Else none need be found. */
bool mt_programs_walk_stacks(const struct mt_programs *programs);

/* What is at work: never AUTO. */
enum mt_watch mt_programs_watch(const struct mt_programs *programs);

/* Track the command, a process that has one thread, and all it will create. */
int mt_programs_track(struct mt_programs *programs, int pidfd, int pid);

/* When somebody last sent this signal to the command, and to us; 0: never. CLOCK_MONOTONIC, ns. */
uint64_t mt_programs_root_signal(const struct mt_programs *programs, int sig);
uint64_t mt_programs_own_signal(const struct mt_programs *programs, int sig);

/*
 * Track a running process with all its threads, and all they will create. Its executable memory
 * is given by mt_programs_adopt_code(), before or after.
 */
int mt_programs_adopt(struct mt_programs *programs, int pid);
/* Is it tracked (adopted, or created by one that is)? */
bool mt_programs_is_tracked(const struct mt_programs *programs, int pid);

/* One executable range of an adopted process; ranges in any order. */
struct mt_code_range {
	uint64_t start;
	uint64_t end;
};
int mt_programs_adopt_code(struct mt_programs *programs, int pid,
			   const struct mt_code_range *ranges, size_t n);

/* Each tracked process that has not exited. */
void mt_programs_each_process(const struct mt_programs *programs, mt_process_fn fn, void *arg);

/* A process's flags, 0 if it is not tracked. */
uint64_t mt_programs_process_flags(const struct mt_programs *programs, int pid);
/* mt-record is about to resume it. */
void mt_programs_unstop(struct mt_programs *programs, int pid);

/*
 * From here on calls that begin are not recorded, apart from what they free; or are again.
 */
void mt_programs_pause(struct mt_programs *programs, bool pause);

/*
 * 1 written there: the programs stop nobody any more, and who waits for an answer goes on. It is
 * in memory shared with processes that are forked.
 */
uint32_t *mt_programs_no_stops(struct mt_programs *programs);

/* enum mt_unasked: what has found no room in the request ring since this was last called. */
uint32_t mt_programs_take_unasked(struct mt_programs *programs);

/*
 * Where allocations are sampled: the size of every block of this source, which calls do not say;
 * and make room by forgetting blocks of processes that are gone, if there is need and it has not
 * just been done. One thread at a time.
 */
int mt_programs_set_fixed_size(struct mt_programs *programs, uint32_t source, uint64_t size);
void mt_programs_forget_blocks(struct mt_programs *programs);

/* Have processes been marked as stopped for pressure since this was last called? */
bool mt_programs_take_paused(struct mt_programs *programs);

/*
 * An episode of pressure, which the programs begin too: while it lasts writers are stopped.
 */
void mt_programs_begin_pressure(struct mt_programs *programs);
bool mt_programs_in_episode(const struct mt_programs *programs);
void mt_programs_end_pressure(struct mt_programs *programs);

/*
 * How many records have gone into the rings of mappings; and that as many have been read by now. If
 * too many have not, an episode begins. What has been made when it is asked is in its ring, but for
 * a rename that is under way.
 */
uint64_t mt_programs_mappings_made(const struct mt_programs *programs);
void mt_programs_mappings_read(const struct mt_programs *programs, uint64_t n);
bool mt_programs_mappings_all_read(const struct mt_programs *programs);

/*
 * The inode that mappings of the file at fd are of, as the programs see it: stat(2) can say another
 * device or inode (overlay, btrfs), and no generation. One thread at a time. -errno.
 */
int mt_programs_identify(const struct mt_programs *programs, int fd, struct mt_inode_key *ret_key);

/* From now on mappings of this inode stop nobody. value: MT_INODE_*. */
int mt_programs_know_inode(struct mt_programs *programs, const struct mt_inode_key *key,
			   uint8_t value);
/* Was it made known? Those not used for long are forgotten once there are many. */
bool mt_programs_knows_inode(const struct mt_programs *programs, const struct mt_inode_key *key);

/*
 * This dynamic linker waits (record/wait_places.h): mapping files through it stops nobody.
 * value: MT_LINKER_*.
 */
int mt_programs_know_linker(struct mt_programs *programs, const struct mt_inode_key *key,
			    uint8_t value);
/* Whoever executes the name with this key need not ask, until then: an exec_names entry. */
int mt_programs_believe_exec(struct mt_programs *programs, uint64_t key, uint64_t until);
/* What the request with this ticket asked for is done. */
void mt_programs_answer(struct mt_programs *programs, uint32_t ticket);

/* Borrowed map fds of the rings, and of the processes by pid (enum mt_process_flags). */
int mt_programs_events_fd(const struct mt_programs *programs);
int mt_programs_stacks_fd(const struct mt_programs *programs);
int mt_programs_requests_fd(const struct mt_programs *programs);
int mt_programs_processes_fd(const struct mt_programs *programs);
/* Of frames by what code they are of, and of stack ids by digest (bpf/stack_path.bpf.h). */
int mt_programs_frame_rows_fd(const struct mt_programs *programs);
int mt_programs_seen_stacks_fd(const struct mt_programs *programs);
struct mt_probe_programs mt_programs_probes(const struct mt_programs *programs);

/* Forget processes that are gone though their exit was missed. */
void mt_programs_forget_gone(struct mt_programs *programs);

/* Tracked processes that have not exited. */
int32_t mt_programs_tracked(const struct mt_programs *programs);

/* A snapshot of the loss counters. */
void mt_programs_losses(const struct mt_programs *programs,
			struct mt_loss_counter ret_losses[MT_LOSS_KINDS]);
/* record/watch.h: what the kernel may have left out. */
uint64_t mt_programs_missed(const struct mt_programs *programs, enum mt_missed what);

/* The generation of the process's executable memory, 0 if that is not known. */
uint64_t mt_programs_code_generation(const struct mt_programs *programs, uint32_t pid);

/* For when calls may have been missed: [start, end) is executable in pid. One thread at a time. */
void mt_programs_add_code(const struct mt_programs *programs, uint32_t pid, uint64_t start,
			  uint64_t end);

#endif
