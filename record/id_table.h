/*
 * record/id_table.h - indices for processes or threads, whose kernel ids are reused.
 *
 * An entry's index is never reused, its place is: an entry that has ended, or whose id has been
 * given to another, is forgotten by the second mt_id_table_age() after that. So memory goes with
 * the entries that live at the same time, 24 bytes each, and not with the run's length. It is
 * reserved, not committed, from the start; nothing but _new allocates.
 */
#ifndef MT_ID_TABLE_H
#define MT_ID_TABLE_H

#include <stdint.h>

struct mt_id_table;

#define MT_ID_NONE UINT32_MAX
#define MT_ID_SLOTS_MAX (1u << 18)
#define MT_ID_PROCESSES_MAX (3u << 16)	/* half as many again as the kernel side tracks */

/* Places for max entries, MT_ID_SLOTS_MAX at most. 0, -ENOMEM, -EINVAL. */
int mt_id_table_new(uint32_t max, struct mt_id_table **ret_table);
void mt_id_table_free(struct mt_id_table *table);

/*
 * New entry for id, in force from this time on until the time of a later one. MT_ID_NONE if id is
 * out of range or there is no place.
 */
uint32_t mt_id_table_add(struct mt_id_table *table, uint32_t id, uint64_t time, uint32_t owner);

/*
 * The entry that id meant at this time, or MT_ID_NONE. An ended entry still answers until it is
 * forgotten. *ret_owner (NULL: not wanted) is what add was told.
 */
uint32_t mt_id_table_find(const struct mt_id_table *table, uint32_t id, uint64_t time,
			  uint32_t *ret_owner);

/* The entry that id meant at this time has ended. */
void mt_id_table_end(struct mt_id_table *table, uint32_t id, uint64_t time);

/* Forget what had ended before the last call already. */
void mt_id_table_age(struct mt_id_table *table);

/* Entries ever added, and those not forgotten. */
uint32_t mt_id_table_count(const struct mt_id_table *table);
uint32_t mt_id_table_held(const struct mt_id_table *table);

#endif
