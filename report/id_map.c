#include "report/id_map.h"

#include "report/pages.h"

#include <errno.h>

#define SMALL_FIRST 1024u
#define SMALL_EACH 4u	/* elements of the array for each id there is, at the most */

void mt_id_map_init(struct mt_id_map *map)
{
	memset(map, 0, sizeof(*map));
}

void mt_id_map_release(struct mt_id_map *map)
{
	mt_pages_free(map->small, map->n_small, sizeof(*map->small));
	mt_key_table_release(&map->table);
	mt_id_map_init(map);
}

/* An array that has id, if that is small enough. */
static int make_room(struct mt_id_map *map, uint32_t id)
{
	uint32_t n = map->n_small ? map->n_small : SMALL_FIRST;
	const struct mt_key_entry *slot;
	uint32_t *small;
	size_t i;

	if (id / SMALL_EACH > SMALL_FIRST / SMALL_EACH + map->n / 2)
		return 0;
	while (n <= id)
		n *= 2;
	small = mt_pages_alloc(n, sizeof(*small));
	if (!small)
		return -ENOMEM;
	if (map->n_small)
		memcpy(small, map->small, map->n_small * sizeof(*small));
	mt_pages_free(map->small, map->n_small, sizeof(*map->small));
	map->small = small;
	map->n_small = n;
	/* What has come before it was small enough. */
	for (i = 0; i < map->table.cap; i++) {
		slot = &map->table.slots[i];
		if (slot->key && mt_id_map_id(slot->key) < n)
			small[mt_id_map_id(slot->key)] = slot->value + 1;
	}
	return 0;
}

int mt_id_map_add(struct mt_id_map *map, uint32_t id)
{
	int err = id < map->n_small ? 0 : make_room(map, id);

	if (!err && id < map->n_small)
		map->small[id] = map->n + 1;
	else if (!err)
		err = mt_key_table_add(&map->table, mt_id_map_key(id), map->n);
	map->n += !err;
	return err;
}
