/* Events from their columns of byte planes. */
#include "common/arena.h"
#include "common/artifact_events.h"
#include "common/artifact_schema.h"
#include "common/error.h"
#include "common/msgpack_read.h"

#include <errno.h>

/* A column's planes in the block, moved forward as they are used. */
struct column {
	struct mt_mp_cursor cur;	/* pos NULL: absent */
	const uint8_t *planes[MT_PLANES_MAX];
	unsigned int n_planes;
	uint64_t values[MT_EVENT_CHUNK + 1];	/* rows without a value look at the next one's */
};

struct decoder {
	struct column columns[MT_EVENT_COLS];
	struct mt_event_histogram histogram;
	uint64_t n;
	uint64_t time;		/* of the row before */
	uint32_t skipped;
	bool has_n;
	bool has_base_time;
};

static int find_key(struct decoder *dec, struct mt_mp_cursor *cur, const uint8_t *name,
		    uint32_t len)
{
	uint32_t c;

	if (len == 1 && *name == 'n') {
		if (dec->has_n || mt_mp_read_uint(cur, &dec->n))
			return -MT_E_CORRUPT;
		dec->has_n = true;
		return 0;
	}
	if (len == 9 && !memcmp(name, "base_time", 9)) {
		if (dec->has_base_time || mt_mp_read_uint(cur, &dec->time))
			return -MT_E_CORRUPT;
		dec->has_base_time = true;
		return 0;
	}
	for (c = 0; c < MT_EVENT_COLS; c++) {
		if (strlen(mt_event_columns[c].name) == len &&
		    !memcmp(mt_event_columns[c].name, name, len))
			break;
	}
	if (c == MT_EVENT_COLS) {
		dec->skipped++;
	} else {
		if (dec->columns[c].cur.pos)
			return -MT_E_CORRUPT;	/* twice */
		dec->columns[c].cur = *cur;
	}
	return mt_mp_skip(cur);
}

static int find_keys(struct decoder *dec, struct mt_mp_cursor *cur)
{
	const uint8_t *name;
	uint32_t i, pairs, len;

	if (mt_mp_read_map(cur, &pairs))
		return -MT_E_CORRUPT;
	for (i = 0; i < pairs; i++) {
		if (mt_mp_read_bytes(cur, &name, &len) || find_key(dec, cur, name, len))
			return -MT_E_CORRUPT;
	}
	if (!dec->has_n || !dec->has_base_time)
		return -MT_E_CORRUPT;
	return dec->n > MT_BLOCK_EVENTS_MAX ? -MT_E_LIMIT : 0;
}

/* Find a column's planes, of which each must have a byte for every value. */
static int open_column(struct decoder *dec, unsigned int c)
{
	struct column *column = &dec->columns[c];
	uint32_t i, n, len, expected = (uint32_t)dec->n;

	if (mt_event_columns[c].types != MT_HAS_ALL)
		expected = mt_event_count(&dec->histogram, mt_event_columns[c].types);
	column->n_planes = 0;
	if (!column->cur.pos)
		return expected && !MT_OPTIONAL_COLUMN(c) ? -MT_E_CORRUPT : 0;
	if (mt_mp_read_array(&column->cur, &n) || n > mt_event_columns[c].max_planes)
		return -MT_E_CORRUPT;
	for (i = 0; i < n; i++) {
		if (mt_mp_read_bytes(&column->cur, &column->planes[i], &len) || len != expected)
			return -MT_E_CORRUPT;
	}
	column->n_planes = n;
	return 0;
}

static uint32_t known_type(uint64_t type)
{
	return type < MT_EV_TYPES ? (uint32_t)type : 0;
}

static void take_values(struct column *column, uint32_t n)
{
	unsigned int k;

	mt_planes_join(column->values, n, column->planes, column->n_planes);
	for (k = 0; k < column->n_planes; k++)
		column->planes[k] += n;
}

/* The types decide how many values the other columns have. */
static void count_types(struct decoder *dec)
{
	struct column column = dec->columns[MT_COL_TYPE];
	uint32_t i, take, left;

	for (left = (uint32_t)dec->n; left; left -= take) {
		take = left < MT_EVENT_CHUNK ? left : MT_EVENT_CHUNK;
		take_values(&column, take);
		for (i = 0; i < take; i++)
			dec->histogram.by_type[known_type(column.values[i])]++;
	}
}

/* The values of the next n rows. */
static void take_chunk(struct decoder *dec, uint32_t n)
{
	struct mt_event_histogram here = { 0 };
	uint64_t *types = dec->columns[MT_COL_TYPE].values;
	uint32_t i, c;

	take_values(&dec->columns[MT_COL_TYPE], n);
	for (i = 0; i < n; i++) {
		types[i] = known_type(types[i]);
		here.by_type[types[i]]++;
	}
	for (c = MT_COL_TYPE + 1; c < MT_EVENT_COLS; c++) {
		if (mt_event_columns[c].types == MT_HAS_ALL)
			take_values(&dec->columns[c], n);
		else
			take_values(&dec->columns[c],
				    mt_event_count(&here, mt_event_columns[c].types));
	}
}

/* Of columns that few rows have a value in: the next ones. */
struct region_values {
	const uint64_t *old_size;
	const uint64_t *prot;
	const uint64_t *flags;
	const uint64_t *unmap_stack;
};

static __attribute__((noinline)) void fill_region(struct mt_event *e, uint32_t bit,
						  struct region_values *values)
{
	if (MT_HAS_OLD_SIZE & bit)
		e->old_size = *values->old_size++;
	if (MT_HAS_PROT & bit) {
		e->prot = (uint32_t)*values->prot++;
		e->flags = (uint32_t)*values->flags++;
	}
	if (MT_HAS_UNMAP_STACK & bit)
		e->stack = (uint32_t)*values->unmap_stack++;
}

/*
 * Build n rows at e; returns the end of those of known types. Which rows have a size and a stack
 * nothing can guess: has, 0 or 1, is computed with, not branched on.
 */
static struct mt_event *build_rows(struct decoder *dec, struct mt_event *e, uint32_t n)
{
	const uint64_t *size = dec->columns[MT_COL_SIZE].values;
	const uint64_t *stack = dec->columns[MT_COL_STACK].values;
	const uint64_t *old = dec->columns[MT_COL_OLD_ADDR].values;
	const uint64_t *begin = dec->columns[MT_COL_BEGIN].values;
	const uint64_t *align = dec->columns[MT_COL_ALIGN].values;
	struct region_values values = {
		.old_size = dec->columns[MT_COL_OLD_SIZE].values,
		.prot = dec->columns[MT_COL_PROT].values,
		.flags = dec->columns[MT_COL_FLAGS].values,
		.unmap_stack = dec->columns[MT_COL_UNMAP_STACK].values,
	};
	uint64_t time = dec->time, type, has;
	uint32_t i, bit;

	for (i = 0; i < n; i++) {
		type = dec->columns[MT_COL_TYPE].values[i];
		bit = 1u << type;
		time += mt_unzigzag(dec->columns[MT_COL_TIME].values[i]);
		e->time = time;
		e->begin = time;
		e->addr = dec->columns[MT_COL_ADDR].values[i];
		e->old_addr = 0;
		has = (uint64_t)MT_HAS_SIZE >> type & 1;
		e->size = *size & -has;
		size += has;
		e->align = 0;
		e->thread = (uint32_t)dec->columns[MT_COL_THREAD].values[i];
		e->stack = (uint32_t)(*stack & -has);
		stack += has;
		e->type = (uint8_t)type;
		if (MT_HAS_OLD & bit) {
			e->begin = time - mt_unzigzag(*begin++);
			e->old_addr = *old++ ^ e->addr;
		}
		if (MT_HAS_ALIGN & bit)
			e->align = *align++;
		if (MT_HAS_REGION & bit) {
			/* munmap alone has a size, but no stack in that column. */
			stack -= (MT_HAS_SIZE & ~MT_HAS_STACK & bit) != 0;
			e->stack = MT_HAS_STACK & bit ? e->stack : 0;
			fill_region(e, bit, &values);
		}
		e += (MT_KNOWN_EVENTS & bit) != 0;
	}
	dec->time = time;
	return e;
}

int mt_events_decode(struct mt_block *block, struct mt_mp_cursor *cur)
{
	struct mt_event *events, *end;
	struct decoder *dec;
	uint32_t c, take, left;
	int err;

	dec = mt_arena_zalloc(block->arena, 1, sizeof(*dec));
	if (!dec)
		return -ENOMEM;
	err = find_keys(dec, cur);
	for (c = 0; c < MT_EVENT_COLS && !err; c++) {
		err = open_column(dec, c);
		if (!err && c == MT_COL_TYPE)
			count_types(dec);
	}
	if (err)
		return err;

	/* One more: a row that is dropped is built behind the last one kept. */
	events = mt_arena_alloc(block->arena, (size_t)dec->n + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	end = events;
	for (left = (uint32_t)dec->n; left; left -= take) {
		take = left < MT_EVENT_CHUNK ? left : MT_EVENT_CHUNK;
		take_chunk(dec, take);
		end = build_rows(dec, end, take);
	}

	block->events = events;
	block->n = (uint32_t)(end - events);
	block->dropped = (uint32_t)dec->n - block->n;
	block->skipped = dec->skipped + block->dropped;
	return 0;
}
