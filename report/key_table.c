#include "report/key_table.h"

#include "report/pages.h"

#include <errno.h>
#include <sys/auxv.h>

#define FIRST_CAP 64

uint64_t mt_key_multiplier = 0x9e3779b97f4a7c15ull;

/* Nobody guesses the kernel's random bits. */
__attribute__((constructor)) static void choose_multiplier(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t bits;

	if (!random)
		return;
	memcpy(&bits, random, sizeof(bits));
	mt_key_multiplier ^= bits >> 16 << 1;
}

void mt_key_table_init(struct mt_key_table *table)
{
	memset(table, 0, sizeof(*table));
}

void mt_key_table_release(struct mt_key_table *table)
{
	mt_pages_free(table->slots, table->cap, sizeof(*table->slots));
	mt_key_table_init(table);
}

static void put(struct mt_key_table *table, const struct mt_key_entry *entry)
{
	size_t i = mt_key_hash(entry->key) >> table->shift;

	while (table->slots[i].key)
		i = (i + 1) & (table->cap - 1);
	table->slots[i] = *entry;
}

static int grow(struct mt_key_table *table)
{
	struct mt_key_table grown = { .n = table->n };
	size_t i;

	grown.cap = table->cap ? table->cap * 2 : FIRST_CAP;
	grown.shift = 64 - (unsigned int)__builtin_ctzll(grown.cap);
	grown.slots = mt_pages_alloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (i = 0; i < table->cap; i++)
		if (table->slots[i].key)
			put(&grown, &table->slots[i]);
	mt_pages_free(table->slots, table->cap, sizeof(*table->slots));
	*table = grown;
	return 0;
}

int mt_key_table_add(struct mt_key_table *table, uint64_t key, uint32_t value)
{
	struct mt_key_entry entry = { .key = key, .value = value };
	int err;

	if (table->n >= table->cap - table->cap / 3) {
		err = grow(table);
		if (err)
			return err;
	}
	put(table, &entry);
	table->n++;
	return 0;
}
