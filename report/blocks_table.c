#include "report/blocks_table.h"

#include "report/pages.h"

#include <errno.h>
#include <sys/auxv.h>

#define FIRST_CAP 64

uint64_t mt_blocks_multiplier = 0x9e3779b97f4a7c15ull;

/* The golden ratio's high bits spread addresses well; the kernel's random bits are no guess. */
__attribute__((constructor)) static void choose_multiplier(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t bits;

	if (!random)
		return;
	memcpy(&bits, random, sizeof(bits));
	mt_blocks_multiplier ^= bits >> 16 << 1;
}

void mt_blocks_init(struct mt_blocks_table *table)
{
	memset(table, 0, sizeof(*table));
}

void mt_blocks_release(struct mt_blocks_table *table)
{
	mt_pages_free(table->slots, table->cap, sizeof(*table->slots));
	mt_blocks_init(table);
}

int mt_blocks_grow(struct mt_blocks_table *table)
{
	struct mt_blocks_table grown = { 0 };
	size_t i, j;

	grown.cap = table->cap ? table->cap * 2 : FIRST_CAP;
	grown.shift = 64 - (unsigned int)__builtin_ctzll(grown.cap);
	grown.n = table->n;
	grown.slots = mt_pages_alloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;

	for (i = 0; i < table->cap; i++) {
		if (!table->slots[i].addr)
			continue;
		j = mt_blocks_home(&grown, table->slots[i].addr);
		while (grown.slots[j].addr)
			j = (j + 1) & (grown.cap - 1);
		grown.slots[j] = table->slots[i];
	}
	mt_pages_free(table->slots, table->cap, sizeof(*table->slots));
	*table = grown;
	return 0;
}

void mt_blocks_remove(struct mt_blocks_table *table, struct mt_live_block *block)
{
	size_t mask = table->cap - 1, hole = (size_t)(block - table->slots), i = hole, home;

	/* Move back whoever would not be found past the hole. */
	for (;;) {
		i = (i + 1) & mask;
		if (!table->slots[i].addr)
			break;
		home = mt_blocks_home(table, table->slots[i].addr);
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			table->slots[hole] = table->slots[i];
			hole = i;
		}
	}
	table->slots[hole].addr = 0;
	table->n--;
}
