/*
 * report/aggregate.h - blocks matched with their frees: totals over the whole tree and per stack.
 *
 * Replays events in stamp order. Live bytes are requested bytes. A block is live from the
 * stamp of its allocation until it is freed, given to realloc, or its address space goes
 * (exec, exit). Blocks that a fork copies are not counted again, and freeing such a copy
 * changes no total but the count of frees. A block is of the stack, thread and process that
 * allocated it, whoever frees it. Memory follows live blocks and stacks, not events.
 */
#ifndef MT_AGGREGATE_H
#define MT_AGGREGATE_H

#include "common/event.h"

struct mt_mark_facts;
struct mt_reader;
struct mt_session;
struct mt_profile;
struct mt_timeline;

/*
 * Of a sampled recording these are estimates, temporary is 0, and unmatched frees, of which there
 * are none but by loss, are not in frees.
 */
struct mt_totals {
	uint64_t allocations;		/* successful calls that allocate; realloc is one */
	uint64_t allocated_bytes;	/* requested */
	/*
	 * Free calls of a non-null pointer, and reallocs that gave nothing back (size 0). All:
	 * every one. Per stack, thread, process: those of its blocks.
	 */
	uint64_t frees;
	uint64_t peak_blocks;		/* at the moment of the highest live bytes */
	uint64_t peak_bytes;
	uint64_t live_blocks;		/* never freed: at exit of their process, at the end */
	uint64_t live_bytes;
	/* Blocks freed by their thread before it allocated again; realloc frees nothing. */
	uint64_t temporary;
};

void mt_totals_add(struct mt_totals *sum, const struct mt_totals *part);

struct mt_profile_totals {
	struct mt_totals all;
	uint64_t events;
	uint64_t events_read;		/* also those outside of the scope */
	uint64_t peak_time;		/* of the first event that reached peak_bytes; 0 if none */
	/*
	 * Of blocks never seen allocated, or allocated outside of the scope; realloc's old ones
	 * too.
	 */
	uint64_t unmatched_frees;
	uint64_t disabled_frees;	/* the same while recording was disabled; not in frees */
	/* By glibc at a thread's end, of what the program had freed before; not in frees. */
	uint64_t cache_frees;
	uint64_t inherited_frees;	/* of copies a fork made; realloc's old ones too */
	uint64_t conflicts;		/* allocations where a block was live: free not seen */
	uint64_t late;			/* events out of order beyond what the file promises */
	uint64_t bad_events;		/* of unknown type, or without an address */
	uint64_t discarded_blocks;	/* alive when their process called exec: gone, not leaked */
	uint64_t discarded_bytes;
	uint64_t by_type[MT_EV_TYPES];	/* events of each type */
};

/* Events that allocate: of a sampled recording all.allocations is what they stand for. */
static inline uint64_t mt_allocations_taken(const struct mt_profile_totals *totals)
{
	return totals->by_type[MT_EV_MALLOC] + totals->by_type[MT_EV_CALLOC] +
	       totals->by_type[MT_EV_REALLOC] + totals->by_type[MT_EV_ALIGNED];
}

/*
 * What counts: events of [from, until), blocks allocated there, and what is live at its end. NULL
 * where it is asked for: all of the run, no marks.
 */
struct mt_profile_scope {
	uint64_t from;
	uint64_t until;
	struct mt_mark_facts *marks;	/* their totals are filled in; NULL: there are none */
	/*
	 * About memory that is mapped, not about the heap: mmap, mremap and a brk that adds to the
	 * heap allocate, munmap and a brk that takes from it free, and a block is a region, of
	 * which a part can be freed. Totals of marks are not filled in.
	 */
	bool regions;
	uint64_t page_size;		/* with regions; a power of two */
	uint64_t sample_bytes;		/* without: the header's; 0: every allocation is there */
};

/* Reads every events block. 0, -ENOMEM, -errno. */
int mt_profile_build(struct mt_reader *reader, const struct mt_session *session,
		     const struct mt_profile_scope *scope, struct mt_profile **ret_profile);
/* The same from any timeline of this session, read to its end. */
int mt_profile_replay(struct mt_timeline *timeline, const struct mt_session *session,
		      const struct mt_profile_scope *scope, struct mt_profile **ret_profile);
void mt_profile_free(struct mt_profile *profile);

const struct mt_profile_totals *mt_profile_totals(const struct mt_profile *profile);

/*
 * Per stack id (0 = events without a stack). Peaks are those at the moment of the peak over all,
 * so that they sum up to it. An id without any event has zero totals.
 */
const struct mt_totals *mt_profile_stack(const struct mt_profile *profile, uint32_t id);
/* The ids with events, in order of first appearance. */
uint32_t mt_profile_stacks(const struct mt_profile *profile);
uint32_t mt_profile_stack_id(const struct mt_profile *profile, uint32_t index);
/*
 * Per thread and per process index: totals of what it allocated. A thread or process that the
 * session does not know has zero totals.
 */
const struct mt_totals *mt_profile_thread(const struct mt_profile *profile, uint32_t thread);
const struct mt_totals *mt_profile_process(const struct mt_profile *profile, uint32_t process);

#endif
