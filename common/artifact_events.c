/*
 * Events: what an artifact mostly consists of, so both directions are written out for speed.
 *
 * One pass over the rows writes all columns at once, each to its own part of the reserved
 * room; then they are moved together. Decoding goes column by column into plain arrays and
 * then builds rows.
 */
#include "common/arena.h"
#include "common/artifact_schema.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_read.h"
#include "common/msgpack_write.h"

#include <errno.h>

#define TYPE(t) (1u << MT_EV_##t)
#define HAS_ALL 0xffffffffu
#define HAS_STACK (TYPE(MALLOC) | TYPE(CALLOC) | TYPE(REALLOC) | TYPE(ALIGNED) | TYPE(MMAP) | \
		   TYPE(MREMAP) | TYPE(BRK))
#define HAS_SIZE (HAS_STACK | TYPE(MUNMAP))
#define HAS_OLD (TYPE(REALLOC) | TYPE(MREMAP))
#define HAS_ALIGN TYPE(ALIGNED)
#define KNOWN_TYPES ((1u << MT_EV_TYPES) - 2)

/* Name, and the types of the rows that have it; in the order in which they are written. */
#define COLUMNS(X) \
	X(TYPE, "type", HAS_ALL) \
	X(TIME, "time", HAS_ALL) \
	X(THREAD, "thread", HAS_ALL) \
	X(ADDR, "addr", HAS_ALL) \
	X(SIZE, "size", HAS_SIZE) \
	X(STACK, "stack", HAS_STACK) \
	X(OLD_ADDR, "old_addr", HAS_OLD) \
	X(BEGIN, "begin", HAS_OLD) \
	X(ALIGN, "align", HAS_ALIGN)

enum column {
#define X(id, name, types) COL_##id,
	COLUMNS(X)
#undef X
	COLS,
	KEY_N = COLS,
	KEY_BASE_TIME,
	KEYS
};

static const char *const key_names[KEYS] = {
#define X(id, name, types) name,
	COLUMNS(X)
#undef X
	"n",
	"base_time",
};

static const uint32_t column_types[COLS] = {
#define X(id, name, types) types,
	COLUMNS(X)
#undef X
};

/* Rows by type; types that have no bit in a mask are counted at 0. */
struct histogram {
	uint32_t by_type[32];
};

static uint32_t count_has(const struct histogram *histogram, uint32_t types)
{
	uint32_t i, count = 0;

	for (i = 0; i < 32; i++)
		count += types >> i & 1 ? histogram->by_type[i] : 0;
	return count;
}

/* Write each column's values at its place. cols is moved to their ends. */
static void put_values(uint8_t *cols[COLS], const struct mt_event *events, uint32_t n,
		       struct histogram *histogram)
{
	uint64_t time = n ? events[0].time : 0, addr = 0;
	const struct mt_event *e, *end = events + n;
	uint32_t bit;

	for (e = events; e < end; e++) {
		bit = 1u << (e->type & 31);
		histogram->by_type[e->type & 31]++;
		cols[COL_TYPE] = mt_mp_put_uint(cols[COL_TYPE], e->type);
		cols[COL_TIME] = mt_mp_put_int(cols[COL_TIME], (int64_t)(e->time - time));
		cols[COL_THREAD] = mt_mp_put_uint(cols[COL_THREAD], e->thread);
		cols[COL_ADDR] = mt_mp_put_int(cols[COL_ADDR], (int64_t)(e->addr - addr));
		time = e->time;
		addr = e->addr;
		if (HAS_SIZE & bit)
			cols[COL_SIZE] = mt_mp_put_uint(cols[COL_SIZE], e->size);
		if (HAS_STACK & bit)
			cols[COL_STACK] = mt_mp_put_uint(cols[COL_STACK], e->stack);
		if (HAS_OLD & bit) {
			cols[COL_OLD_ADDR] = e->old_addr ?
				mt_mp_put_int(cols[COL_OLD_ADDR], (int64_t)(addr - e->old_addr)) :
				mt_mp_put_nil(cols[COL_OLD_ADDR]);
			cols[COL_BEGIN] = mt_mp_put_int(cols[COL_BEGIN],
							(int64_t)(time - e->begin));
		}
		if (HAS_ALIGN & bit)
			cols[COL_ALIGN] = mt_mp_put_uint(cols[COL_ALIGN], e->align);
	}
}

static uint8_t *put_key(uint8_t *p, unsigned int key)
{
	return mt_mp_put_str(p, key_names[key], (uint32_t)strlen(key_names[key]));
}

int mt_encode_events(struct mt_buf *buf, const struct mt_event *events, uint32_t n)
{
	const size_t head = MT_BLOCK_HEAD_MAX + KEYS * 32;
	size_t room = (size_t)n * MT_MP_MAX + MT_MP_MAX;
	uint8_t *cols[COLS], *starts[COLS], *p;
	struct histogram histogram = { 0 };
	uint32_t c, counts[COLS], used = 2;
	int err;

	if (n > MT_BLOCK_EVENTS_MAX)
		return -MT_E_LIMIT;
	for (c = 0; c < n; c++) {
		if (events[c].type >= 32)
			return -MT_E_LIMIT;
	}
	err = mt_buf_reserve(buf, head + COLS * room);
	if (err)
		return err;

	for (c = 0; c < COLS; c++)
		cols[c] = starts[c] = buf->data + buf->len + head + c * room;
	put_values(cols, events, n, &histogram);
	for (c = 0; c < COLS; c++) {
		counts[c] = count_has(&histogram, column_types[c]);
		used += counts[c] > 0;
	}

	p = mt_block_head_put(buf->data + buf->len, mt_table(MT_BLOCK_EVENTS));
	p = mt_mp_put_map(p, used);
	p = mt_mp_put_uint(put_key(p, KEY_N), n);
	p = mt_mp_put_uint(put_key(p, KEY_BASE_TIME), n ? events[0].time : 0);
	for (c = 0; c < COLS; c++) {
		if (!counts[c])
			continue;
		p = mt_mp_put_array(put_key(p, c), counts[c]);
		memmove(p, starts[c], (size_t)(cols[c] - starts[c]));
		p += cols[c] - starts[c];
	}
	buf->len = (size_t)(p - buf->data);
	return 0;
}

struct decoder {
	struct mt_mp_cursor keys[KEYS];	/* where each value begins; pos NULL: absent */
	uint64_t *values[COLS];
	uint8_t *no_old;		/* per OLD_ADDR value: it is nil */
	uint64_t n;
	uint64_t base_time;
	struct histogram histogram;
	uint32_t skipped;
};

static int find_keys(struct decoder *dec, struct mt_mp_cursor *cur)
{
	const uint8_t *name;
	uint32_t i, k, pairs, len;

	if (mt_mp_read_map(cur, &pairs))
		return -MT_E_CORRUPT;
	for (i = 0; i < pairs; i++) {
		if (mt_mp_read_bytes(cur, &name, &len))
			return -MT_E_CORRUPT;
		for (k = 0; k < KEYS; k++) {
			if (strlen(key_names[k]) == len && !memcmp(key_names[k], name, len))
				break;
		}
		if (k == KEYS)
			dec->skipped++;
		else if (dec->keys[k].pos)
			return -MT_E_CORRUPT;	/* twice */
		else
			dec->keys[k] = *cur;
		if (mt_mp_skip(cur))
			return -MT_E_CORRUPT;
	}
	if (!dec->keys[KEY_N].pos || mt_mp_read_uint(&dec->keys[KEY_N], &dec->n))
		return -MT_E_CORRUPT;
	if (dec->n > MT_BLOCK_EVENTS_MAX)
		return -MT_E_LIMIT;
	if (!dec->keys[KEY_BASE_TIME].pos ||
	    mt_mp_read_uint(&dec->keys[KEY_BASE_TIME], &dec->base_time))
		return -MT_E_CORRUPT;
	return 0;
}

static int read_old_addrs(struct decoder *dec, struct mt_mp_cursor *cur, uint32_t n)
{
	uint64_t *values = dec->values[COL_OLD_ADDR];
	int64_t delta;
	uint32_t i;

	for (i = 0; i < n; i++) {
		dec->no_old[i] = mt_mp_read_nil(cur);
		values[i] = 0;
		if (dec->no_old[i])
			continue;
		if (mt_mp_read_int(cur, &delta))
			return -MT_E_CORRUPT;
		values[i] = (uint64_t)delta;
	}
	return 0;
}

static int read_column(struct decoder *dec, unsigned int c, struct mt_arena *arena)
{
	struct mt_mp_cursor *cur = &dec->keys[c];
	uint32_t n, expected = (uint32_t)dec->n;

	if (column_types[c] != HAS_ALL)
		expected = count_has(&dec->histogram, column_types[c]);
	/* One more than there are values: rows without one look at the next one's. */
	dec->values[c] = mt_arena_alloc(arena, (size_t)expected + 1, sizeof(uint64_t));
	if (!dec->values[c])
		return -ENOMEM;
	dec->values[c][expected] = 0;
	if (c == COL_OLD_ADDR) {
		dec->no_old = mt_arena_zalloc(arena, (size_t)expected + 1, 1);
		if (!dec->no_old)
			return -ENOMEM;
	}
	if (!cur->pos)
		return expected ? -MT_E_CORRUPT : 0;
	if (mt_mp_read_array(cur, &n) || n != expected)
		return -MT_E_CORRUPT;

	if (c == COL_OLD_ADDR)
		return read_old_addrs(dec, cur, n);
	if (c == COL_TIME || c == COL_ADDR || c == COL_BEGIN)
		return mt_mp_read_ints(cur, dec->values[c], n);
	return mt_mp_read_uints(cur, dec->values[c], n);
}

/* Types this program does not know count as type 0, which has no bit in any mask. */
static void take_types(struct decoder *dec)
{
	uint64_t *types = dec->values[COL_TYPE];
	uint32_t i;

	for (i = 0; i < dec->n; i++) {
		if (types[i] >= MT_EV_TYPES)
			types[i] = 0;
		dec->histogram.by_type[types[i]]++;
	}
}

/* Build the rows; returns how many are of known types, or -MT_E_CORRUPT. */
static int64_t build_rows(const struct decoder *dec, struct mt_event *events)
{
	const uint64_t *size = dec->values[COL_SIZE], *stack = dec->values[COL_STACK];
	const uint64_t *old = dec->values[COL_OLD_ADDR], *begin = dec->values[COL_BEGIN];
	const uint64_t *align = dec->values[COL_ALIGN];
	const uint8_t *no_old = dec->no_old;
	uint64_t time = dec->base_time, addr = 0, wide = 0;
	struct mt_event *e = events;
	uint32_t i, bit;

	for (i = 0; i < dec->n; i++) {
		bit = 1u << dec->values[COL_TYPE][i];
		time += dec->values[COL_TIME][i];
		addr += dec->values[COL_ADDR][i];
		wide |= dec->values[COL_THREAD][i];
		e->type = (uint8_t)dec->values[COL_TYPE][i];
		e->time = time;
		e->addr = addr;
		e->thread = (uint32_t)dec->values[COL_THREAD][i];
		e->size = HAS_SIZE & bit ? *size : 0;
		size += (HAS_SIZE & bit) != 0;
		e->stack = HAS_STACK & bit ? (uint32_t)*stack : 0;
		wide |= HAS_STACK & bit ? *stack : 0;
		stack += (HAS_STACK & bit) != 0;
		e->begin = time;
		e->old_addr = 0;
		e->align = 0;
		if (HAS_OLD & bit) {
			e->begin = time - *begin++;
			e->old_addr = *no_old++ ? 0 : addr - *old;
			old++;
		}
		if (HAS_ALIGN & bit)
			e->align = *align++;
		e += (KNOWN_TYPES & bit) != 0;
	}
	return wide > UINT32_MAX ? -MT_E_CORRUPT : e - events;
}

int mt_events_decode(struct mt_block *block, const struct mt_table *table, struct mt_mp_cursor *cur)
{
	struct decoder dec;
	struct mt_event *events;
	int64_t kept;
	uint32_t c;
	int err;

	(void)table;
	memset(&dec, 0, sizeof(dec));
	err = find_keys(&dec, cur);
	for (c = 0; c < COLS && !err; c++) {
		err = read_column(&dec, c, block->arena);
		if (!err && c == COL_TYPE)
			take_types(&dec);
	}
	if (err)
		return err;

	/* One more: a row that is dropped is built behind the last one kept. */
	events = mt_arena_alloc(block->arena, (size_t)dec.n + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	kept = build_rows(&dec, events);
	if (kept < 0)
		return (int)kept;

	block->events = events;
	block->n = (uint32_t)kept;
	block->dropped = (uint32_t)(dec.n - (uint64_t)kept);
	block->skipped = dec.skipped + block->dropped;
	return 0;
}
