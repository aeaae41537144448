/*
 * record/watch.h - which of the BPF programs watch the system calls that map code.
 *
 * bpf/watch_calls.bpf.h has the three ways. The programs are told apart by their sections and names
 * alone, so this needs no skeleton.
 */
#ifndef MT_WATCH_H
#define MT_WATCH_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_object;

/* What --watch says, and what a recording's header names. */
enum mt_watch {
	MT_WATCH_AUTO,		/* the first that works */
	MT_WATCH_FENTRY,
	MT_WATCH_TRACEPOINT,
	MT_WATCH_RAW,		/* a tracepoint too, but of every system call; never asked for */
};

#define MT_WATCH_LINKS_MAX 32

struct mt_watch_links {
	struct bpf_link *links[MT_WATCH_LINKS_MAX];
	size_t n;
};

const char *mt_watch_name(enum mt_watch watch);

/* Is a program of this way allowed here? 0, or -errno: a quick answer, but only a "no" is final. */
int mt_watch_try(enum mt_watch watch);

/*
 * Leave out, before loading, the programs that another way than watch (not AUTO) needs, and
 * those that only mmap's events need, if they are not wanted.
 */
void mt_watch_choose(struct bpf_object *object, enum mt_watch watch, bool regions);

/*
 * Attach all programs but those that are attached to files. What a failed call has attached stays
 * in links.
 */
int mt_watch_attach(struct bpf_object *object, struct mt_watch_links *links);
void mt_watch_detach(struct mt_watch_links *links);

/* What is not recorded when the kernel leaves a program out. */
enum mt_missed {
	MT_MISSED_CALL,		/* a system call that can map code */
	MT_MISSED_STEP,		/* a process that comes or goes */
	MT_MISSED_EVENT,	/* a call of an allocator, or one that maps memory */
	MT_MISSED_NOTHING,	/* it is made up for */
};

/* By a program's section and name. */
enum mt_missed mt_watch_kind(const char *section, const char *name);

/*
 * How many of these the kernel may have left a program out for. Of two programs on the same event
 * one is enough.
 */
uint64_t mt_watch_missed(const struct bpf_object *object, enum mt_missed what);

#endif
