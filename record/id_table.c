#include "record/id_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#define IDS_MAX (1u << 22)	/* PID_MAX_LIMIT of include/linux/threads.h, 64 bit */
#define BUCKETS (1u << 16)	/* the kernel gives ids in turn: they spread evenly */
#define NONE UINT32_MAX

struct slot {
	uint64_t start;
	uint32_t id;
	uint32_t index;
	uint32_t owner;
	uint32_t next;		/* slot of the same bucket, of one id the older */
	uint32_t next_ended;	/* or the next free one */
	bool ended;
};

struct mt_id_table {
	struct slot *slots;
	uint32_t n_slots;	/* ever used */
	uint32_t n_held;
	uint32_t count;
	uint32_t free;
	uint32_t ended;		/* since the last time of aging */
	uint32_t ended_before;
	uint32_t buckets[BUCKETS];
};

int mt_id_table_new(struct mt_id_table **ret_table)
{
	struct mt_id_table *table = malloc(sizeof(*table));

	if (!table)
		return -ENOMEM;
	memset(table, 0xff, sizeof(*table));
	table->n_slots = table->n_held = table->count = 0;
	table->slots = mmap(NULL, (size_t)MT_ID_SLOTS_MAX * sizeof(*table->slots),
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	if (table->slots == MAP_FAILED) {
		free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}

void mt_id_table_free(struct mt_id_table *table)
{
	if (!table)
		return;
	munmap(table->slots, (size_t)MT_ID_SLOTS_MAX * sizeof(*table->slots));
	free(table);
}

/* The latest ones are used again first: what is committed stays small. */
static uint32_t take_slot(struct mt_id_table *table)
{
	uint32_t at = table->free;

	if (at != NONE)
		table->free = table->slots[at].next_ended;
	else if (table->n_slots < MT_ID_SLOTS_MAX)
		at = table->n_slots++;
	return at;
}

static void end_slot(struct mt_id_table *table, uint32_t at)
{
	struct slot *slot = &table->slots[at];

	if (slot->ended)
		return;
	slot->ended = true;
	slot->next_ended = table->ended;
	table->ended = at;
}

uint32_t mt_id_table_add(struct mt_id_table *table, uint32_t id, uint64_t time, uint32_t owner)
{
	uint32_t *link = &table->buckets[id % BUCKETS], at, other;
	struct slot *slot;
	bool latest = true;

	if (id >= IDS_MAX || table->count == MT_ID_NONE)
		return MT_ID_NONE;
	at = take_slot(table);
	if (at == NONE)
		return MT_ID_NONE;
	/* Before the older ones of its id. */
	for (; *link != NONE; link = &table->slots[*link].next) {
		slot = &table->slots[*link];
		if (slot->id == id && slot->start <= time)
			break;
		latest = latest && slot->id != id;
	}
	slot = &table->slots[at];
	*slot = (struct slot){
		.start = time, .id = id, .index = table->count++, .owner = owner, .next = *link,
	};
	*link = at;
	table->n_held++;
	if (!latest)
		end_slot(table, at);
	for (other = slot->next; other != NONE; other = table->slots[other].next)
		if (table->slots[other].id == id)
			end_slot(table, other);
	return slot->index;
}

static uint32_t find_slot(const struct mt_id_table *table, uint32_t id, uint64_t time)
{
	uint32_t at = table->buckets[id % BUCKETS];

	while (at != NONE && (table->slots[at].id != id || table->slots[at].start > time))
		at = table->slots[at].next;
	return at;
}

uint32_t mt_id_table_find(const struct mt_id_table *table, uint32_t id, uint64_t time,
			  uint32_t *ret_owner)
{
	uint32_t at = find_slot(table, id, time);

	if (at == NONE)
		return MT_ID_NONE;
	if (ret_owner)
		*ret_owner = table->slots[at].owner;
	return table->slots[at].index;
}

void mt_id_table_end(struct mt_id_table *table, uint32_t id, uint64_t time)
{
	uint32_t at = find_slot(table, id, time);

	if (at != NONE)
		end_slot(table, at);
}

static void forget(struct mt_id_table *table, uint32_t at)
{
	struct slot *slot = &table->slots[at];
	uint32_t *link = &table->buckets[slot->id % BUCKETS];

	while (*link != at)
		link = &table->slots[*link].next;
	*link = slot->next;
	slot->next_ended = table->free;
	table->free = at;
	table->n_held--;
}

void mt_id_table_age(struct mt_id_table *table)
{
	uint32_t at = table->ended_before, next;

	for (; at != NONE; at = next) {
		next = table->slots[at].next_ended;
		forget(table, at);
	}
	table->ended_before = table->ended;
	table->ended = NONE;
}

uint32_t mt_id_table_count(const struct mt_id_table *table)
{
	return table->count;
}

uint32_t mt_id_table_held(const struct mt_id_table *table)
{
	return table->n_held;
}
