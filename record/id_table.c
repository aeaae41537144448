#include "record/id_table.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define IDS_MAX (1u << 22)	/* PID_MAX_LIMIT of include/linux/threads.h, 64 bit */
#define ENTRIES_MAX (1u << 26)

struct entry {
	uint64_t start;
	uint32_t owner;
	uint32_t previous;	/* older entry of the same id, MT_ID_NONE if none */
};

struct mt_id_table {
	uint32_t *latest;	/* by id: index + 1, 0 = none */
	struct entry *entries;
	uint32_t n;
};

static void *reserve(size_t size)
{
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return area == MAP_FAILED ? NULL : area;
}

int mt_id_table_new(struct mt_id_table **ret_table)
{
	struct mt_id_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->latest = reserve(IDS_MAX * sizeof(*table->latest));
	table->entries = reserve((size_t)ENTRIES_MAX * sizeof(*table->entries));
	if (!table->latest || !table->entries) {
		mt_id_table_free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}

void mt_id_table_free(struct mt_id_table *table)
{
	if (!table)
		return;
	if (table->latest)
		munmap(table->latest, IDS_MAX * sizeof(*table->latest));
	if (table->entries)
		munmap(table->entries, (size_t)ENTRIES_MAX * sizeof(*table->entries));
	free(table);
}

uint32_t mt_id_table_add(struct mt_id_table *table, uint32_t id, uint64_t time, uint32_t owner)
{
	struct entry *entry;

	if (id >= IDS_MAX || table->n == ENTRIES_MAX)
		return MT_ID_NONE;
	entry = &table->entries[table->n];
	entry->start = time;
	entry->owner = owner;
	entry->previous = table->latest[id] - 1;
	table->latest[id] = ++table->n;
	return table->n - 1;
}

uint32_t mt_id_table_find(const struct mt_id_table *table, uint32_t id, uint64_t time)
{
	uint32_t index;

	if (id >= IDS_MAX)
		return MT_ID_NONE;
	index = table->latest[id] - 1;
	while (index != MT_ID_NONE && table->entries[index].start > time)
		index = table->entries[index].previous;
	return index;
}

uint32_t mt_id_table_owner(const struct mt_id_table *table, uint32_t index)
{
	return table->entries[index].owner;
}

uint32_t mt_id_table_count(const struct mt_id_table *table)
{
	return table->n;
}
