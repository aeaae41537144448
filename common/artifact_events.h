/*
 * common/artifact_events.h - the columns of an events block, for both of its directions.
 *
 * Private to the codec and record/writer.c.
 */
#ifndef MT_ARTIFACT_EVENTS_H
#define MT_ARTIFACT_EVENTS_H

#include "common/artifact.h"
#include "common/planes.h"

#define MT_EVBIT(type) (1u << MT_EV_##type)
#define MT_HAS_ALL 0xffffffffu
#define MT_HAS_STACK \
	(MT_EVBIT(MALLOC) | MT_EVBIT(CALLOC) | MT_EVBIT(REALLOC) | MT_EVBIT(ALIGNED) | \
	 MT_EVBIT(MMAP) | MT_EVBIT(MREMAP) | MT_EVBIT(BRK))
#define MT_HAS_SIZE (MT_HAS_STACK | MT_EVBIT(MUNMAP))
#define MT_HAS_OLD (MT_EVBIT(REALLOC) | MT_EVBIT(MREMAP))
#define MT_HAS_ALIGN MT_EVBIT(ALIGNED)
#define MT_HAS_OLD_SIZE (MT_EVBIT(MREMAP) | MT_EVBIT(BRK))
#define MT_HAS_PROT MT_EVBIT(MMAP)
#define MT_HAS_UNMAP_STACK MT_EVBIT(MUNMAP)
#define MT_HAS_REGION (MT_HAS_OLD_SIZE | MT_HAS_PROT | MT_HAS_UNMAP_STACK)
/* Files of before they were recorded lack these columns; what is missing is 0. */
#define MT_OPTIONAL_COLUMN(c) ((c) >= MT_COL_OLD_SIZE)
#define MT_KNOWN_EVENTS ((1u << MT_EV_TYPES) - 2)

/*
 * Name, planes at most, and the types of the rows that have it; in the order in which they
 * are written. Values are as they are, but: time is the zigzag of the difference to the row
 * before (to base_time); old_addr xor addr; begin the zigzag of time - begin.
 */
#define MT_EVENT_COLUMNS(X) \
	X(TYPE, "type", 4, MT_HAS_ALL) \
	X(TIME, "time", 8, MT_HAS_ALL) \
	X(THREAD, "thread", 4, MT_HAS_ALL) \
	X(ADDR, "addr", 8, MT_HAS_ALL) \
	X(SIZE, "size", 8, MT_HAS_SIZE) \
	X(STACK, "stack", 4, MT_HAS_STACK) \
	X(OLD_ADDR, "old_addr", 8, MT_HAS_OLD) \
	X(BEGIN, "begin", 8, MT_HAS_OLD) \
	X(ALIGN, "align", 8, MT_HAS_ALIGN) \
	X(OLD_SIZE, "old_size", 8, MT_HAS_OLD_SIZE) \
	X(PROT, "prot", 4, MT_HAS_PROT) \
	X(FLAGS, "flags", 4, MT_HAS_PROT) \
	X(UNMAP_STACK, "unmap_stack", 4, MT_HAS_UNMAP_STACK)

enum mt_event_column {
#define X(id, name, planes, types) MT_COL_##id,
	MT_EVENT_COLUMNS(X)
#undef X
	MT_EVENT_COLS
};

struct mt_event_column_info {
	const char *name;
	uint32_t max_planes;
	uint32_t types;
};

extern const struct mt_event_column_info mt_event_columns[MT_EVENT_COLS];

/* Rows of each type; unknown ones count as type 0, which has no bit in any mask but ALL. */
struct mt_event_histogram {
	uint32_t by_type[32];
};

uint32_t mt_event_count(const struct mt_event_histogram *histogram, uint32_t types);

/* Rows worked on at a time, so that what lies between two steps stays in the nearest cache. */
#define MT_EVENT_CHUNK 512u

/*
 * An events block that grows row by row. Rows become columns as they are added, while they are
 * still in the cache; memory is allocated only by mt_event_encoder_new().
 */
struct mt_event_encoder;

int mt_event_encoder_new(uint32_t max_rows, struct mt_event_encoder **ret_encoder);
void mt_event_encoder_free(struct mt_event_encoder *encoder);
uint32_t mt_event_encoder_rows(const struct mt_event_encoder *encoder);
/* At most max_rows altogether. -MT_E_LIMIT if there are types above 31: none is added then. */
int mt_event_encoder_add(struct mt_event_encoder *encoder, const struct mt_event *events,
			 uint32_t n);
/* Most bytes that mt_event_encoder_finish() can append. */
size_t mt_event_encoder_bound(uint32_t max_rows);

/*
 * Append the block to buf and begin the next one. cuts are the offsets in buf at which planes
 * end: a compressor that starts anew there (mt_packer_pack()) does not mix bytes of
 * different meaning. 0, -ENOMEM.
 */
#define MT_EVENT_CUTS_MAX (MT_EVENT_COLS * MT_PLANES_MAX)
int mt_event_encoder_finish(struct mt_event_encoder *encoder, struct mt_buf *buf,
			    size_t cuts[MT_EVENT_CUTS_MAX], uint32_t *ret_n_cuts);

#endif
