/*
 * report/id_map.h - ids of any size to slots 0, 1, 2... in order of first appearance.
 *
 * Memory follows the number of distinct ids, not their size: an id is whatever a file says. Ids
 * that are small for their number, as those of recordings are, have an array; others a table.
 */
#ifndef MT_ID_MAP_H
#define MT_ID_MAP_H

#include "report/key_table.h"

struct mt_id_map {
	uint32_t n;
	uint32_t n_small;
	uint32_t *small;		/* by id: slot + 1; 0: none */
	struct mt_key_table table;	/* keyed by id, shifted to where addresses differ */
};

static inline uint64_t mt_id_map_key(uint32_t id)
{
	return ((uint64_t)id + 1) << 4;
}

static inline uint32_t mt_id_map_id(uint64_t key)
{
	return (uint32_t)((key >> 4) - 1);
}

void mt_id_map_init(struct mt_id_map *map);
void mt_id_map_release(struct mt_id_map *map);

/* How many ids, and the slot that the next new id gets. */
static inline uint32_t mt_id_map_count(const struct mt_id_map *map)
{
	return map->n;
}

/* Slot of id, or UINT32_MAX. */
static inline uint32_t mt_id_map_find(const struct mt_id_map *map, uint32_t id)
{
	const struct mt_key_entry *entry;

	if (id < map->n_small)
		return map->small[id] - 1;	/* none: UINT32_MAX */
	entry = mt_key_table_find(&map->table, mt_id_map_key(id));
	return entry ? entry->value : UINT32_MAX;
}

/* Have what is read for an id in the cache soon, if it is where most are. */
static inline __attribute__((always_inline)) void mt_id_map_prefetch(const struct mt_id_map *map,
								     uint32_t id)
{
	if (id < map->n_small)
		__builtin_prefetch(&map->small[id]);
}

/* Give id, which has none, the next slot: 0 or -ENOMEM. */
int mt_id_map_add(struct mt_id_map *map, uint32_t id);

#endif
