/*
 * report/regions.h - which parts of address spaces are mapped, and by which calls.
 *
 * Intervals that do not overlap, each of one owner: mapping takes the place of what is there,
 * unmapping takes away parts of intervals, or many. Time is logarithmic in their number.
 * What a space had before its recording began, or got by a fork, is not in it.
 */
#ifndef MT_REGIONS_H
#define MT_REGIONS_H

#include "common/event.h"

struct mt_regions;

struct mt_region {
	uint64_t start;
	uint64_t end;		/* exclusive; above start */
	uint32_t stack;		/* both as the owner of the regions numbers them */
	uint32_t thread;
};

/*
 * bytes of what this stack and thread mapped are mapped no more. regions: by how many there are
 * fewer, 1 or 0, or -1 where one was parted into two.
 */
typedef void (*mt_region_gone_fn)(void *arg, uint32_t stack, uint32_t thread, uint64_t bytes,
				  int regions);

/* Spaces are numbered from 0. gone is told whatever goes. 0 or -ENOMEM. */
int mt_regions_new(uint32_t n_spaces, mt_region_gone_fn gone, void *arg,
		   struct mt_regions **ret_regions);
void mt_regions_free(struct mt_regions *regions);

/* 0, -ENOMEM or -MT_E_LIMIT; on failure nothing has changed. */
int mt_regions_map(struct mt_regions *regions, uint32_t space, const struct mt_region *region);
int mt_regions_unmap(struct mt_regions *regions, uint32_t space, uint64_t start, uint64_t end);
/* All of a space. */
void mt_regions_clear(struct mt_regions *regions, uint32_t space);

/* What a system call maps, or gives back: [start, end), which may be empty. */
struct mt_region_change {
	uint64_t start, end;
	bool maps;
};

/*
 * Of an event that mt_event_maps(), or MT_EV_GIVE_UP_REGION, in whole pages of page_size, a power
 * of two. -EINVAL: of no such event, or beyond all addresses.
 */
int mt_region_change_of(const struct mt_event *event, uint64_t page_size,
			struct mt_region_change *ret_change);

#endif
