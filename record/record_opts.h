/*
 * record/record_opts.h - mt-record's command line.
 */
#ifndef MT_RECORD_OPTS_H
#define MT_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/options.h"
#include "record/allocator_spec.h"
#include "record/programs.h"
#include "record/watch.h"

#define MT_RING_SIZE_MAX (1u << 30)

/* How long to record. */
enum mt_follow {
	MT_FOLLOW_TREE,		/* until every process of the tree is gone */
	MT_FOLLOW_ROOT,		/* until the command is */
};

/* Where probes sit. */
enum mt_site {
	MT_SITE_AUTO,		/* where the kernel emulates the instruction, if that is near */
	MT_SITE_ENTRY,		/* at the function's entry */
};

/* What makes two stacks one; in the order of bpf/mt_ring.h. */
enum mt_stack_identity {
	MT_STACK_IDENTITY_PATH,
	MT_STACK_IDENTITY_CODE,
	MT_STACK_IDENTITY_BYTES,
	MT_STACK_IDENTITY_EVERY,
};

struct mt_record_opts {
	const char *output;
	uint64_t stack_size;
	uint64_t sample_bytes;		/* between two allocations that are recorded; 0: all are */
	uint64_t ring_size;
	uint64_t stack_ring_size;
	uint64_t mapping_ring_size;	/* of each CPU */
	uint64_t request_ring_size;
	uint32_t tables[MT_TABLES];	/* of the kernel side; 0: as usual */
	uint64_t pressure_timeout;	/* ns; 0: no pausing; UINT64_MAX: for ever */
	uint64_t pid;			/* attach to this process; 0: run the command */
	uint64_t duration;		/* ns; 0: no limit */
	int follow;			/* enum mt_follow */
	int watch;			/* enum mt_watch */
	struct mt_allocator_specs allocators;	/* the user's own */
	const char *control;		/* fifo:PATH[,ACKPATH]; NULL: none */
	bool start_disabled;
	int attach;			/* enum mt_attach_mode */
	int stack_identity;		/* enum mt_stack_identity */
	bool mmap;			/* mmap, munmap, mremap and brk are events */
	int probe_site;			/* enum mt_site */
	bool quiet;
	unsigned int verbose;
	bool help;
	bool version;
	char **command;		/* NULL-terminated, borrowed from argv */
	int n_command;
};

/* Nanoseconds of 500ms, 5s, 2m, 1h, inf or 0. -EINVAL, -ERANGE. */
int mt_parse_duration(const char *text, uint64_t *ret_ns);

/* Parse argv without the program's name. 0, or -EINVAL or -ENOMEM and one line. */
int mt_record_opts_parse(int argc, char **argv, struct mt_record_opts *ret_opts,
			 char error[MT_OPTIONS_ERROR_MAX]);
void mt_record_opts_release(struct mt_record_opts *opts);
void mt_record_opts_help(FILE *out);

#endif
