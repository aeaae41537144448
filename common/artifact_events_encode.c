/*
 * Events, most of an artifact, into columns of byte planes.
 *
 * A first pass over the rows finds how many values each column has and how many planes
 * they need; so the second one can put each byte where it belongs.
 */
#include "common/artifact_events.h"
#include "common/artifact_schema.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_write.h"

const struct mt_event_column_info mt_event_columns[MT_EVENT_COLS] = {
#define X(id, name, planes, types) { name, planes, types },
	MT_EVENT_COLUMNS(X)
#undef X
};

uint32_t mt_event_count(const struct mt_event_histogram *histogram, uint32_t types)
{
	uint32_t i, count = 0;

	for (i = 0; i < 32; i++)
		count += types >> i & 1 ? histogram->by_type[i] : 0;
	return count;
}

struct column {
	uint32_t count;
	unsigned int n_planes;
	uint8_t *planes[MT_PLANES_MAX];	/* where the next bytes go */
	uint64_t values[MT_EVENT_CHUNK];
	uint32_t n_values;
};

struct encoder {
	struct column columns[MT_EVENT_COLS];
	struct mt_event_histogram histogram;
};

/* Count values and find the bits in use. */
static int measure(struct encoder *enc, const struct mt_event *events, uint32_t n)
{
	uint64_t all[MT_EVENT_COLS] = { 0 }, time = n ? events[0].time : 0;
	const struct mt_event *e, *end = events + n;
	uint32_t bit, types = 0, c;

	for (e = events; e < end; e++) {
		bit = 1u << (e->type & 31);
		types |= e->type;
		enc->histogram.by_type[e->type & 31]++;
		all[MT_COL_TYPE] |= e->type;
		all[MT_COL_TIME] |= mt_zigzag(e->time - time);
		time = e->time;
		all[MT_COL_THREAD] |= e->thread;
		all[MT_COL_ADDR] |= e->addr;
		all[MT_COL_SIZE] |= MT_HAS_SIZE & bit ? e->size : 0;
		all[MT_COL_STACK] |= MT_HAS_STACK & bit ? e->stack : 0;
		if (MT_HAS_OLD & bit) {
			all[MT_COL_OLD_ADDR] |= e->old_addr ^ e->addr;
			all[MT_COL_BEGIN] |= mt_zigzag(e->time - e->begin);
		}
		if (MT_HAS_ALIGN & bit)
			all[MT_COL_ALIGN] |= e->align;
	}
	if (types > 31)
		return -MT_E_LIMIT;
	for (c = 0; c < MT_EVENT_COLS; c++) {
		enc->columns[c].n_planes = mt_planes_needed(all[c]);
		enc->columns[c].count = mt_event_columns[c].types == MT_HAS_ALL ? n :
				mt_event_count(&enc->histogram, mt_event_columns[c].types);
	}
	return 0;
}

/* Collect the values of up to MT_EVENT_CHUNK rows. */
static uint64_t collect(struct encoder *enc, const struct mt_event *e, uint32_t n, uint64_t time)
{
	uint64_t *size = enc->columns[MT_COL_SIZE].values;
	uint64_t *stack = enc->columns[MT_COL_STACK].values;
	uint64_t *old = enc->columns[MT_COL_OLD_ADDR].values;
	uint64_t *begin = enc->columns[MT_COL_BEGIN].values;
	uint64_t *align = enc->columns[MT_COL_ALIGN].values;
	uint32_t i, bit;

	for (i = 0; i < n; i++, e++) {
		bit = 1u << e->type;
		enc->columns[MT_COL_TYPE].values[i] = e->type;
		enc->columns[MT_COL_TIME].values[i] = mt_zigzag(e->time - time);
		enc->columns[MT_COL_THREAD].values[i] = e->thread;
		enc->columns[MT_COL_ADDR].values[i] = e->addr;
		time = e->time;
		/* Types come at random: storing what is not kept beats guessing a branch. */
		*size = e->size;
		size += (MT_HAS_SIZE & bit) != 0;
		*stack = e->stack;
		stack += (MT_HAS_STACK & bit) != 0;
		if (MT_HAS_OLD & bit) {
			*old++ = e->old_addr ^ e->addr;
			*begin++ = mt_zigzag(e->time - e->begin);
		}
		if (MT_HAS_ALIGN & bit)
			*align++ = e->align;
	}
	for (i = MT_COL_TYPE; i <= MT_COL_ADDR; i++)
		enc->columns[i].n_values = n;
	enc->columns[MT_COL_SIZE].n_values =
		(uint32_t)(size - enc->columns[MT_COL_SIZE].values);
	enc->columns[MT_COL_STACK].n_values =
		(uint32_t)(stack - enc->columns[MT_COL_STACK].values);
	enc->columns[MT_COL_OLD_ADDR].n_values =
		(uint32_t)(old - enc->columns[MT_COL_OLD_ADDR].values);
	enc->columns[MT_COL_BEGIN].n_values =
		(uint32_t)(begin - enc->columns[MT_COL_BEGIN].values);
	enc->columns[MT_COL_ALIGN].n_values =
		(uint32_t)(align - enc->columns[MT_COL_ALIGN].values);
	return time;
}

static void fill(struct encoder *enc, const struct mt_event *events, uint32_t n)
{
	uint64_t time = n ? events[0].time : 0;
	struct column *column;
	uint32_t i, c, take;
	unsigned int k;

	for (i = 0; i < n; i += take) {
		take = n - i < MT_EVENT_CHUNK ? n - i : MT_EVENT_CHUNK;
		time = collect(enc, events + i, take, time);
		for (c = 0; c < MT_EVENT_COLS; c++) {
			column = &enc->columns[c];
			mt_planes_split(column->values, column->n_values, column->planes,
					column->n_planes);
			for (k = 0; k < column->n_planes; k++)
				column->planes[k] += column->n_values;
		}
	}
}

static uint8_t *put_name(uint8_t *p, const char *name)
{
	return mt_mp_put_str(p, name, (uint32_t)strlen(name));
}

/* Everything but the planes' bytes, whose places are noted. */
static uint8_t *lay_out(struct encoder *enc, uint8_t *p, const struct mt_event *events, uint32_t n,
			uint8_t **ends, uint32_t *ret_n_ends)
{
	uint32_t c, used = 2, n_ends = 0;
	struct column *column;
	unsigned int k;

	for (c = 0; c < MT_EVENT_COLS; c++)
		used += enc->columns[c].count > 0;
	p = mt_block_head_put(p, mt_table(MT_BLOCK_EVENTS));
	p = mt_mp_put_map(p, used);
	p = mt_mp_put_uint(put_name(p, "n"), n);
	p = mt_mp_put_uint(put_name(p, "base_time"), n ? events[0].time : 0);
	for (c = 0; c < MT_EVENT_COLS; c++) {
		column = &enc->columns[c];
		if (!column->count)
			continue;
		p = put_name(p, mt_event_columns[c].name);
		p = mt_mp_put_array(p, column->n_planes);
		for (k = 0; k < column->n_planes; k++) {
			p = mt_mp_put_bin_head(p, column->count);
			column->planes[k] = p;
			p += column->count;
			ends[n_ends++] = p;
		}
	}
	*ret_n_ends = n_ends;
	return p;
}

int mt_encode_events_cut(struct mt_buf *buf, const struct mt_event *events, uint32_t n,
			 size_t cuts[MT_EVENT_CUTS_MAX], uint32_t *ret_n_cuts)
{
	size_t bound = MT_BLOCK_HEAD_MAX + 4 * MT_MP_MAX;
	uint8_t *ends[MT_EVENT_CUTS_MAX], *p;
	struct encoder enc;
	uint32_t c, n_ends;
	int err;

	if (n > MT_BLOCK_EVENTS_MAX)
		return -MT_E_LIMIT;
	memset(&enc.histogram, 0, sizeof(enc.histogram));
	err = measure(&enc, events, n);
	if (err)
		return err;
	for (c = 0; c < MT_EVENT_COLS; c++)
		bound += 3 * MT_MP_MAX + enc.columns[c].n_planes *
					 ((size_t)enc.columns[c].count + MT_MP_MAX);
	err = mt_buf_reserve(buf, bound);
	if (err)
		return err;

	p = lay_out(&enc, buf->data + buf->len, events, n, ends, &n_ends);
	fill(&enc, events, n);
	for (c = 0; c < n_ends; c++)
		cuts[c] = (size_t)(ends[c] - buf->data);
	buf->len = (size_t)(p - buf->data);
	*ret_n_cuts = n_ends;
	return 0;
}

int mt_encode_events(struct mt_buf *buf, const struct mt_event *events, uint32_t n)
{
	size_t cuts[MT_EVENT_CUTS_MAX];
	uint32_t n_cuts;

	return mt_encode_events_cut(buf, events, n, cuts, &n_cuts);
}
