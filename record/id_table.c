#include "record/id_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#define ID_BITS 22
#define IDS_MAX (1u << ID_BITS)	/* PID_MAX_LIMIT of include/linux/threads.h, 64 bit */
#define BUCKETS (1u << 16)	/* the kernel gives ids in turn: they spread evenly */
#define SLOT_BITS 20
#define NONE ((1u << SLOT_BITS) - 1)
_Static_assert(MT_ID_SLOTS_MAX <= NONE, "no slot is called so");

/* There may be many: no bit is idle. */
struct slot {
	uint64_t start;
	uint32_t index;
	uint32_t owner;
	uint64_t id : ID_BITS;
	uint64_t ended : 1;
	uint64_t next : SLOT_BITS;		/* of the same bucket, of one id the older */
	uint64_t next_ended : SLOT_BITS;	/* or the next free one */
};
_Static_assert(sizeof(struct slot) == 24, "in id_table.h");

struct mt_id_table {
	struct slot *slots;
	uint32_t max;
	uint32_t n_slots;	/* ever used */
	uint32_t n_held;
	uint32_t count;
	uint32_t free;
	uint32_t ended;		/* since the last time of aging */
	uint32_t ended_before;
	uint32_t buckets[BUCKETS];
};

int mt_id_table_new(uint32_t max, struct mt_id_table **ret_table)
{
	struct mt_id_table *table;
	uint32_t i;

	if (max > MT_ID_SLOTS_MAX)
		return -EINVAL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->max = max;
	table->free = table->ended = table->ended_before = NONE;
	for (i = 0; i < BUCKETS; i++)
		table->buckets[i] = NONE;
	table->slots = mmap(NULL, (size_t)max * sizeof(*table->slots),
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
	munmap(table->slots, (size_t)table->max * sizeof(*table->slots));
	free(table);
}

/* The latest ones are used again first: what is committed stays small. */
static uint32_t take_slot(struct mt_id_table *table)
{
	uint32_t at = table->free;

	if (at != NONE)
		table->free = table->slots[at].next_ended;
	else if (table->n_slots < table->max)
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

/* Let at follow before in the bucket; NONE: be the first. */
static void link_slot(struct mt_id_table *table, uint32_t bucket, uint32_t before, uint32_t at)
{
	if (before == NONE)
		table->buckets[bucket] = at;
	else
		table->slots[before].next = at;
}

uint32_t mt_id_table_add(struct mt_id_table *table, uint32_t id, uint64_t time, uint32_t owner)
{
	uint32_t bucket = id % BUCKETS, before = NONE, next = table->buckets[bucket], at, other;
	struct slot *slot;
	bool latest = true;

	if (id >= IDS_MAX || table->count == MT_ID_NONE)
		return MT_ID_NONE;
	at = take_slot(table);
	if (at == NONE)
		return MT_ID_NONE;
	/* Before the older ones of its id. */
	for (; next != NONE; before = next, next = slot->next) {
		slot = &table->slots[next];
		if (slot->id == id && slot->start <= time)
			break;
		latest = latest && slot->id != id;
	}
	slot = &table->slots[at];
	*slot = (struct slot){
		.start = time, .id = id, .index = table->count++, .owner = owner, .next = next,
	};
	link_slot(table, bucket, before, at);
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
	uint32_t bucket = slot->id % BUCKETS, before = NONE, next = table->buckets[bucket];

	for (; next != at; next = table->slots[next].next)
		before = next;
	link_slot(table, bucket, before, slot->next);
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
