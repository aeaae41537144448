/*
 * report/timeline.h - events in the order in which they happened, lifecycle rows in between.
 *
 * Events stand in a file in the order of their submission; their stamps differ from that by
 * at most a lag that the file states. The timeline holds back that much and delivers
 * in exact stamp order, file order where stamps are equal. A realloc is delivered twice:
 * at its begin as MT_EV_GIVE_UP of the old block, at its time as itself; so is mremap, as
 * MT_EV_GIVE_UP_REGION. Memory is bounded by the events within the lag, and by a ceiling
 * whatever the file states.
 */
#ifndef MT_TIMELINE_H
#define MT_TIMELINE_H

#include "common/event.h"

struct mt_reader;
struct mt_session;
struct mt_timeline;

/* Delivered only: addr is the block given up, old_addr the one got instead, time the moment. */
#define MT_EV_GIVE_UP MT_EV_TYPES
/* The same of mremap's region: size is that of the region given up. */
#define MT_EV_GIVE_UP_REGION (MT_EV_TYPES + 1)

static inline bool mt_event_gives_up(unsigned int type)
{
	return type == MT_EV_GIVE_UP || type == MT_EV_GIVE_UP_REGION;
}

/* Events in file order: 1 and a borrowed array until the next call, 0 at the end, or an error. */
typedef int (*mt_events_fn)(void *arg, const struct mt_event **ret_events, size_t *ret_n);

struct mt_timeline_batch {
	const struct mt_event *events;
	size_t n;
	bool gives_up;		/* false: none of them is MT_EV_GIVE_UP or MT_EV_GIVE_UP_REGION */
	const struct mt_lifecycle *lifecycle;	/* happened after these events; NULL: none */
};

/*
 * max_lag UINT64_MAX: unknown, one second is taken. session NULL: no lifecycle rows. Both
 * session and arg are borrowed.
 */
int mt_timeline_new(mt_events_fn next, void *arg, uint64_t max_lag,
		    const struct mt_session *session, struct mt_timeline **ret_timeline);
/* All events of an artifact; the reader is rewound and read by the timeline alone. */
int mt_timeline_open(struct mt_reader *reader, const struct mt_session *session,
		     struct mt_timeline **ret_timeline);
void mt_timeline_free(struct mt_timeline *timeline);

/* 1 and the next batch, borrowed until the next call; 0 at the end; -ENOMEM, the source's error. */
int mt_timeline_next(struct mt_timeline *timeline, struct mt_timeline_batch *ret_batch);

/* Events delivered after one with a later stamp: the file's lag was not true, or unknown. */
uint64_t mt_timeline_late(const struct mt_timeline *timeline);

#endif
