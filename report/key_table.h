/*
 * report/key_table.h - numbers by 64-bit keys: open addressing with linear probing.
 *
 * The multiplier differs from run to run, so that no file can choose keys that collide; nothing
 * depends on the order of slots.
 */
#ifndef MT_KEY_TABLE_H
#define MT_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct mt_key_entry {
	uint64_t key;		/* 0: empty slot */
	uint32_t value;
};

struct mt_key_table {
	struct mt_key_entry *slots;	/* NULL: no key ever */
	size_t n, cap;
	unsigned int shift;
};

/* Odd, chosen once. */
extern uint64_t mt_key_multiplier;

/*
 * Of which the high bits are the best. One multiplication alone spreads keys that are evenly
 * apart, as blocks are, well or badly as the multiplier happens to be; the second takes that away.
 */
static inline uint64_t mt_key_hash(uint64_t key)
{
	uint64_t hash = key * mt_key_multiplier;

	return (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
}

void mt_key_table_init(struct mt_key_table *table);
void mt_key_table_release(struct mt_key_table *table);

/* The entry of a key that is not 0, or NULL; valid until the table changes. */
static inline const struct mt_key_entry *mt_key_table_find(const struct mt_key_table *table,
							   uint64_t key)
{
	const struct mt_key_entry *slots = table->slots;
	size_t i;

	if (!slots)
		return NULL;
	i = mt_key_hash(key) >> table->shift;
	for (; slots[i].key; i = (i + 1) & (table->cap - 1))
		if (slots[i].key == key)
			return &slots[i];
	return NULL;
}

/* Add a key that is not in the table and not 0: 0 or -ENOMEM. */
int mt_key_table_add(struct mt_key_table *table, uint64_t key, uint32_t value);

#endif
