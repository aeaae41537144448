/* Events, most of an artifact, into columns of byte planes. */
#include "common/artifact_events.h"
#include "common/artifact_schema.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_write.h"

#include <errno.h>

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
	uint8_t *planes;	/* max_planes times max_rows bytes */
	unsigned int n_planes;	/* needed so far; bytes of those above are all 0 */
	uint32_t count;		/* values */
	/* Of the rows being added, before they are split: one more can be written than counts. */
	uint64_t values[MT_EVENT_CHUNK + 1];
	uint32_t n_values;
	uint64_t all;		/* the or of them */
};

struct mt_event_encoder {
	uint32_t max_rows;
	uint32_t n;
	uint64_t base_time;
	uint64_t time;		/* of the last row */
	uint8_t *memory;
	struct column columns[MT_EVENT_COLS];
};

static uint32_t all_planes(void)
{
	uint32_t c, n = 0;

	for (c = 0; c < MT_EVENT_COLS; c++)
		n += mt_event_columns[c].max_planes;
	return n;
}

int mt_event_encoder_new(uint32_t max_rows, struct mt_event_encoder **ret_encoder)
{
	struct mt_event_encoder *encoder = calloc(1, sizeof(*encoder));
	uint8_t *planes;
	uint32_t c;

	if (!encoder)
		return -ENOMEM;
	encoder->max_rows = max_rows;
	encoder->memory = malloc((size_t)max_rows * all_planes() + 1);
	if (!encoder->memory) {
		free(encoder);
		return -ENOMEM;
	}
	planes = encoder->memory;
	for (c = 0; c < MT_EVENT_COLS; c++) {
		encoder->columns[c].planes = planes;
		planes += (size_t)mt_event_columns[c].max_planes * max_rows;
	}
	*ret_encoder = encoder;
	return 0;
}

void mt_event_encoder_free(struct mt_event_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->memory);
	free(encoder);
}

uint32_t mt_event_encoder_rows(const struct mt_event_encoder *encoder)
{
	return encoder->n;
}

/* The columns that all rows have. */
static void collect_dense(struct mt_event_encoder *enc, const struct mt_event *e, uint32_t n)
{
	uint64_t *types = enc->columns[MT_COL_TYPE].values;
	uint64_t *times = enc->columns[MT_COL_TIME].values;
	uint64_t *threads = enc->columns[MT_COL_THREAD].values;
	uint64_t *addrs = enc->columns[MT_COL_ADDR].values;
	uint64_t all_types = 0, all_times = 0, all_threads = 0, all_addrs = 0;
	uint64_t time = enc->time;
	uint32_t i;

	for (i = 0; i < n; i++, e++) {
		types[i] = e->type;
		times[i] = mt_zigzag(e->time - time);
		threads[i] = e->thread;
		addrs[i] = e->addr;
		time = e->time;
		all_types |= types[i];
		all_times |= times[i];
		all_threads |= threads[i];
		all_addrs |= addrs[i];
	}
	enc->time = time;
	enc->columns[MT_COL_TYPE].all = all_types;
	enc->columns[MT_COL_TIME].all = all_times;
	enc->columns[MT_COL_THREAD].all = all_threads;
	enc->columns[MT_COL_ADDR].all = all_addrs;
	for (i = MT_COL_TYPE; i <= MT_COL_ADDR; i++)
		enc->columns[i].n_values = n;
}

/*
 * Size and stack. Types come at random: to store what is then not kept is faster than to
 * guess a branch.
 */
static void collect_common(struct mt_event_encoder *enc, const struct mt_event *e, uint32_t n)
{
	uint64_t *sizes = enc->columns[MT_COL_SIZE].values;
	uint64_t *stacks = enc->columns[MT_COL_STACK].values;
	uint64_t all_sizes = 0, all_stacks = 0;
	uint32_t i, bit, has, n_sizes = 0, n_stacks = 0;

	for (i = 0; i < n; i++, e++) {
		bit = 1u << e->type;
		has = (MT_HAS_SIZE & bit) != 0;
		sizes[n_sizes] = e->size;
		n_sizes += has;
		all_sizes |= e->size & (0 - (uint64_t)has);
		has = (MT_HAS_STACK & bit) != 0;
		stacks[n_stacks] = e->stack;
		n_stacks += has;
		all_stacks |= e->stack & (0 - (uint64_t)has);
	}
	enc->columns[MT_COL_SIZE].n_values = n_sizes;
	enc->columns[MT_COL_SIZE].all = all_sizes;
	enc->columns[MT_COL_STACK].n_values = n_stacks;
	enc->columns[MT_COL_STACK].all = all_stacks;
}

static void put_value(struct column *column, uint64_t value)
{
	column->values[column->n_values++] = value;
	column->all |= value;
}

static void collect_rare(struct mt_event_encoder *enc, const struct mt_event *e, uint32_t n)
{
	struct column *old = &enc->columns[MT_COL_OLD_ADDR];
	struct column *begin = &enc->columns[MT_COL_BEGIN];
	struct column *align = &enc->columns[MT_COL_ALIGN];
	const struct mt_event *end = e + n;
	uint32_t bit, c;

	for (c = MT_COL_OLD_ADDR; c < MT_EVENT_COLS; c++) {
		enc->columns[c].n_values = 0;
		enc->columns[c].all = 0;
	}
	for (; e < end; e++) {
		bit = 1u << e->type;
		if (!((MT_HAS_OLD | MT_HAS_ALIGN | MT_HAS_REGION) & bit))
			continue;
		if (MT_HAS_ALIGN & bit) {
			put_value(align, e->align);
			continue;
		}
		if (MT_HAS_OLD & bit) {
			put_value(old, e->old_addr ^ e->addr);
			put_value(begin, mt_zigzag(e->time - e->begin));
		}
		if (MT_HAS_OLD_SIZE & bit)
			put_value(&enc->columns[MT_COL_OLD_SIZE], e->old_size);
		if (MT_HAS_PROT & bit) {
			put_value(&enc->columns[MT_COL_PROT], e->prot);
			put_value(&enc->columns[MT_COL_FLAGS], e->flags);
		}
		if (MT_HAS_UNMAP_STACK & bit)
			put_value(&enc->columns[MT_COL_UNMAP_STACK], e->stack);
	}
}

/* The collected values to the ends of their column's planes. */
static void split(struct mt_event_encoder *enc, struct column *column)
{
	unsigned int needed = mt_planes_needed(column->all), k;
	uint8_t *planes[MT_PLANES_MAX];

	for (k = column->n_planes; k < needed; k++)
		memset(column->planes + (size_t)k * enc->max_rows, 0, column->count);
	if (needed > column->n_planes)
		column->n_planes = needed;
	for (k = 0; k < column->n_planes; k++)
		planes[k] = column->planes + (size_t)k * enc->max_rows + column->count;
	mt_planes_split(column->values, column->n_values, planes, column->n_planes);
	column->count += column->n_values;
}

int mt_event_encoder_add(struct mt_event_encoder *encoder, const struct mt_event *events,
			 uint32_t n)
{
	unsigned int types = 0;
	uint32_t i, c, take;

	if (n > encoder->max_rows - encoder->n)
		return -MT_E_LIMIT;
	for (i = 0; i < n; i++)
		types |= events[i].type;
	if (types > 31)
		return -MT_E_LIMIT;
	if (!encoder->n && n) {
		encoder->base_time = events[0].time;
		encoder->time = events[0].time;
	}
	for (i = 0; i < n; i += take) {
		take = n - i < MT_EVENT_CHUNK ? n - i : MT_EVENT_CHUNK;
		collect_dense(encoder, events + i, take);
		collect_common(encoder, events + i, take);
		collect_rare(encoder, events + i, take);
		for (c = 0; c < MT_EVENT_COLS; c++)
			split(encoder, &encoder->columns[c]);
	}
	encoder->n += n;
	return 0;
}

size_t mt_event_encoder_bound(uint32_t max_rows)
{
	size_t bound = MT_BLOCK_HEAD_MAX + 8 * MT_MP_MAX;

	bound += MT_EVENT_COLS * (3 * MT_MP_MAX + MT_PLANES_MAX * MT_MP_MAX);
	return bound + (size_t)max_rows * all_planes();
}

static uint8_t *put_name(uint8_t *p, const char *name)
{
	return mt_mp_put_str(p, name, (uint32_t)strlen(name));
}

int mt_event_encoder_finish(struct mt_event_encoder *encoder, struct mt_buf *buf,
			    size_t cuts[MT_EVENT_CUTS_MAX], uint32_t *ret_n_cuts)
{
	uint32_t c, used = 2, n_cuts = 0;
	struct column *column;
	unsigned int k;
	uint8_t *p;
	int err;

	err = mt_buf_reserve(buf, mt_event_encoder_bound(encoder->n));
	if (err)
		return err;
	for (c = 0; c < MT_EVENT_COLS; c++)
		used += encoder->columns[c].count > 0;
	p = mt_block_head_put(buf->data + buf->len, mt_table(MT_BLOCK_EVENTS));
	p = mt_mp_put_map(p, used);
	p = mt_mp_put_uint(put_name(p, "n"), encoder->n);
	p = mt_mp_put_uint(put_name(p, "base_time"), encoder->base_time);
	for (c = 0; c < MT_EVENT_COLS; c++) {
		column = &encoder->columns[c];
		if (!column->count)
			continue;
		p = put_name(p, mt_event_columns[c].name);
		p = mt_mp_put_array(p, column->n_planes);
		for (k = 0; k < column->n_planes; k++) {
			p = mt_mp_put_bin(p, column->planes + (size_t)k * encoder->max_rows,
					  column->count);
			cuts[n_cuts++] = (size_t)(p - buf->data);
		}
		column->count = 0;
		column->n_planes = 0;
	}
	buf->len = (size_t)(p - buf->data);
	encoder->n = 0;
	encoder->base_time = 0;
	*ret_n_cuts = n_cuts;
	return 0;
}

int mt_encode_events(struct mt_buf *buf, const struct mt_event *events, uint32_t n)
{
	struct mt_event_encoder *encoder;
	size_t cuts[MT_EVENT_CUTS_MAX];
	uint32_t n_cuts;
	int err;

	if (n > MT_BLOCK_EVENTS_MAX)
		return -MT_E_LIMIT;
	err = mt_event_encoder_new(n, &encoder);
	if (err)
		return err;
	err = mt_event_encoder_add(encoder, events, n);
	if (!err)
		err = mt_event_encoder_finish(encoder, buf, cuts, &n_cuts);
	mt_event_encoder_free(encoder);
	return err;
}
