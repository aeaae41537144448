/*
 * report/live_spaces.h - which blocks are live in which address space, while events are replayed.
 *
 * A space lives as long as a process is in it. What a fork copied is not stored again: a free
 * of such a copy is recognized in the space it was copied from, where blocks that were
 * freed since the fork are remembered as long as a forked space may still free its copies.
 */
#ifndef MT_LIVE_SPACES_H
#define MT_LIVE_SPACES_H

#include "report/live_table.h"

#include <stdbool.h>

struct mt_live_space {
	struct mt_live_table blocks;		/* with times, once it was forked */
	struct mt_live_table before_fork;	/* freed since: their size is the time of that */
	uint64_t fork_time;	/* when it was forked from parent */
	uint64_t last_fork;	/* latest fork of this space into another */
	uint32_t parent;	/* index, UINT32_MAX: none */
	uint32_t refs;		/* processes in it */
	uint32_t children;	/* spaces forked from it that are still needed */
	bool linked;		/* counted in its parent's children */
	bool gone;		/* everybody left; its blocks are settled */
};

struct mt_live_spaces {
	struct mt_live_space *spaces;
	uint32_t n;
};

int mt_live_spaces_init(struct mt_live_spaces *live, uint32_t n);
void mt_live_spaces_release(struct mt_live_spaces *live);

void mt_live_space_enter(struct mt_live_spaces *live, uint32_t space);
/* 0 or -ENOMEM. */
int mt_live_space_fork(struct mt_live_spaces *live, uint32_t parent, uint32_t child, uint64_t time);

/*
 * A process leaves. true if it was the last one: the caller settles the blocks of the
 * space, then calls mt_live_space_gone(), which forgets them as soon as nobody needs them.
 */
bool mt_live_space_leave(struct mt_live_spaces *live, uint32_t space);
void mt_live_space_gone(struct mt_live_spaces *live, uint32_t space);

/* Remove a block found in a live space, at its place. 0, -ENOMEM, -MT_E_LIMIT. */
int mt_live_space_remove(struct mt_live_spaces *live, uint32_t space, size_t place, uint64_t time);

/* Is addr, not in space itself, a copy of a block that a fork made? */
bool mt_live_space_inherited(const struct mt_live_spaces *live, uint32_t space, uint64_t addr);

#endif
