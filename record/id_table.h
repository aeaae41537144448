/*
 * record/id_table.h - indices for processes or threads, whose kernel ids are reused.
 *
 * An entry's index is never reused. Memory is reserved, not committed, up to the kernel's
 * pid_max; adding and finding allocate nothing.
 */
#ifndef MT_ID_TABLE_H
#define MT_ID_TABLE_H

#include <stdint.h>

struct mt_id_table;

#define MT_ID_NONE UINT32_MAX

int mt_id_table_new(struct mt_id_table **ret_table);
void mt_id_table_free(struct mt_id_table *table);

/*
 * New entry for id, in force from this time on; MT_ID_NONE if id or the number of entries is out of
 * range.
 */
uint32_t mt_id_table_add(struct mt_id_table *table, uint32_t id, uint64_t time, uint32_t owner);

/* The entry that id meant at this time, or MT_ID_NONE. An ended entry still answers. */
uint32_t mt_id_table_find(const struct mt_id_table *table, uint32_t id, uint64_t time);

/* What add was told. */
uint32_t mt_id_table_owner(const struct mt_id_table *table, uint32_t index);
uint32_t mt_id_table_count(const struct mt_id_table *table);

#endif
