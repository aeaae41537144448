#include "report/live_spaces.h"

#include <errno.h>

#define GENERATIONS_MAX 256	/* forks of forks that a lookup follows */

int mt_live_spaces_init(struct mt_live_spaces *live, uint32_t n)
{
	uint32_t i;

	live->spaces = calloc((size_t)n + 1, sizeof(*live->spaces));
	if (!live->spaces)
		return -ENOMEM;
	live->n = n;
	for (i = 0; i < n; i++)
		live->spaces[i].parent = UINT32_MAX;
	return 0;
}

void mt_live_spaces_release(struct mt_live_spaces *live)
{
	uint32_t i;

	for (i = 0; i < live->n; i++) {
		mt_live_table_release(&live->spaces[i].blocks);
		mt_live_table_release(&live->spaces[i].before_fork);
	}
	free(live->spaces);
	memset(live, 0, sizeof(*live));
}

void mt_live_space_enter(struct mt_live_spaces *live, uint32_t space)
{
	live->spaces[space].refs++;
}

int mt_live_space_fork(struct mt_live_spaces *live, uint32_t parent, uint32_t child, uint64_t time)
{
	struct mt_live_space *c = &live->spaces[child], *p = &live->spaces[parent];
	int err;

	/* Spaces are numbered in order of their making: a parent is never younger, so no cycles. */
	if (c->linked || c->gone || parent >= child)
		return 0;
	/* What is there now is older than this fork and all that follow. */
	err = mt_live_table_keep_times(&p->blocks);
	if (err)
		return err;
	c->parent = parent;
	c->fork_time = time;
	c->linked = true;
	p->children++;
	if (time > p->last_fork)
		p->last_fork = time;
	return 0;
}

bool mt_live_space_leave(struct mt_live_spaces *live, uint32_t space)
{
	struct mt_live_space *s = &live->spaces[space];

	return s->refs && !--s->refs && !s->gone;
}

/* Forget what no living fork can free any more, and so on towards the first space. */
static void trim(struct mt_live_spaces *live, uint32_t space)
{
	struct mt_live_space *s;

	for (;;) {
		s = &live->spaces[space];
		if (s->children)
			return;
		mt_live_table_release(&s->before_fork);
		if (!s->gone)
			return;
		mt_live_table_release(&s->blocks);
		if (!s->linked)
			return;
		s->linked = false;
		space = s->parent;
		live->spaces[space].children--;
	}
}

void mt_live_space_gone(struct mt_live_spaces *live, uint32_t space)
{
	live->spaces[space].gone = true;
	trim(live, space);
}

static int remember(struct mt_live_space *s, uint64_t addr, uint64_t allocated, uint64_t freed)
{
	uint64_t hash = mt_key_hash(addr);
	struct mt_live_block entry = { .size = freed };
	size_t before = mt_live_table_find(&s->before_fork, hash, addr);
	int err;

	/* Two lives of one address become one: only a fork between them could tell. */
	if (before != MT_NO_BLOCK) {
		allocated = mt_live_table_time(&s->before_fork, before);
		mt_live_table_remove(&s->before_fork, hash, before);
	}
	err = mt_live_table_keep_times(&s->before_fork);
	return err ? err : mt_live_table_add(&s->before_fork, hash, addr, &entry, allocated);
}

int mt_live_space_remove(struct mt_live_spaces *live, uint32_t space, size_t place, uint64_t time)
{
	struct mt_live_space *s = &live->spaces[space];
	uint64_t addr = mt_live_table_addr(&s->blocks, place), allocated;
	int err = 0;

	if (s->children) {
		allocated = mt_live_table_time(&s->blocks, place);
		if (allocated <= s->last_fork)
			err = remember(s, addr, allocated, time);
	}
	mt_live_table_remove(&s->blocks, mt_key_hash(addr), place);
	return err;
}

bool mt_live_space_inherited(const struct mt_live_spaces *live, uint32_t space, uint64_t addr)
{
	const struct mt_live_space *s = &live->spaces[space];
	uint64_t time = UINT64_MAX, hash = mt_key_hash(addr);
	size_t place;
	unsigned int i;

	for (i = 0; i < GENERATIONS_MAX && s->linked; i++) {
		if (s->fork_time < time)
			time = s->fork_time;
		s = &live->spaces[s->parent];
		place = mt_live_table_find(&s->blocks, hash, addr);
		if (place != MT_NO_BLOCK && mt_live_table_time(&s->blocks, place) <= time)
			return true;
		place = mt_live_table_find(&s->before_fork, hash, addr);
		if (place != MT_NO_BLOCK && mt_live_table_time(&s->before_fork, place) <= time &&
		    mt_live_table_block(&s->before_fork, place).size > time)
			return true;
	}
	return false;
}
