#include "report/timeline.h"

#include "report/session.h"

#include <errno.h>

#define SLICE 1024u			/* events taken at once: stays in the cache */
#define WINDOW_MAX (1u << 20)		/* events held back at most */
#define UNKNOWN_LAG 1000000000ull	/* one second */
#define RUN 16u				/* sorted by insertion */

struct mt_timeline {
	mt_events_fn source;
	void *arg;
	const struct mt_session *session;
	uint64_t lag;

	const struct mt_event *input;	/* borrowed from the source */
	size_t n_input;
	bool ended;

	struct mt_event *items;		/* [0, done) delivered, [done, n) held, [0, n) sorted */
	struct mt_event *spare;		/* for merging; as large */
	size_t cap, done, ready, n;
	bool gives_up;			/* there may be some of [0, n) that do */
	uint64_t newest;		/* stamp */
	uint64_t last;			/* stamp delivered */
	uint64_t late;
	uint32_t row;			/* next lifecycle row */
};

int mt_timeline_new(mt_events_fn next, void *arg, uint64_t max_lag,
		    const struct mt_session *session, struct mt_timeline **ret_timeline)
{
	struct mt_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return -ENOMEM;
	timeline->source = next;
	timeline->arg = arg;
	timeline->session = session;
	timeline->lag = max_lag == UINT64_MAX ? UNKNOWN_LAG : max_lag;
	*ret_timeline = timeline;
	return 0;
}

void mt_timeline_free(struct mt_timeline *timeline)
{
	if (!timeline)
		return;
	free(timeline->items);
	free(timeline->spare);
	free(timeline);
}

uint64_t mt_timeline_late(const struct mt_timeline *timeline)
{
	return timeline->late;
}

/* First index in [lo, hi) whose stamp is above time, hi if none. */
static size_t upper_bound(const struct mt_event *items, size_t lo, size_t hi, uint64_t time)
{
	size_t mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (items[mid].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Stable merge of the sorted [lo, mid) and [mid, hi); only what overlaps is moved. */
static void merge(struct mt_event *items, struct mt_event *spare, size_t lo, size_t mid, size_t hi)
{
	size_t i, j, k, n;

	if (lo == mid || mid == hi || items[mid - 1].time <= items[mid].time)
		return;
	lo = upper_bound(items, lo, mid, items[mid].time);
	n = mid - lo;
	memcpy(spare, items + lo, n * sizeof(*items));
	for (i = 0, j = mid, k = lo; i < n; k++) {
		if (j < hi && items[j].time < spare[i].time)
			items[k] = items[j++];
		else
			items[k] = spare[i++];
	}
}

static void insertion_sort(struct mt_event *items, size_t n)
{
	struct mt_event item;
	size_t i, j;

	for (i = 1; i < n; i++) {
		if (items[i - 1].time <= items[i].time)
			continue;
		item = items[i];
		for (j = i; j && items[j - 1].time > item.time; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

/* Stable, and linear where the order is already right but for neighbours. */
static void sort(struct mt_event *items, struct mt_event *spare, size_t n)
{
	size_t width, lo;

	for (lo = 0; lo < n; lo += RUN)
		insertion_sort(items + lo, n - lo < RUN ? n - lo : RUN);
	for (width = RUN; width < n; width *= 2)
		for (lo = 0; n - lo > width; lo += 2 * width) {
			merge(items, spare, lo, lo + width,
			      n - lo < 2 * width ? n : lo + 2 * width);
			if (n - lo < 2 * width)
				break;
		}
}

static int make_room(struct mt_timeline *timeline, size_t more)
{
	size_t cap = timeline->cap ? timeline->cap : 4 * SLICE;
	struct mt_event *items;

	while (cap - timeline->n < more)
		cap *= 2;
	if (cap == timeline->cap)
		return 0;
	items = realloc(timeline->items, cap * sizeof(*items));
	if (!items)
		return -ENOMEM;
	timeline->items = items;
	items = realloc(timeline->spare, cap * sizeof(*items));
	if (!items)
		return -ENOMEM;
	timeline->spare = items;
	timeline->cap = cap;
	return 0;
}

static void take(struct mt_timeline *timeline, const struct mt_event *event)
{
	struct mt_event *item;

	if ((event->type == MT_EV_REALLOC && event->old_addr) ||
	    (event->type == MT_EV_MREMAP && event->old_size)) {
		item = &timeline->items[timeline->n++];
		*item = *event;
		item->type = MT_EV_GIVE_UP;
		if (event->type == MT_EV_MREMAP) {
			item->type = MT_EV_GIVE_UP_REGION;
			item->size = event->old_size;
		}
		item->time = event->begin;
		item->addr = event->old_addr;
		item->old_addr = event->addr;
		timeline->gives_up = true;
	}
	timeline->items[timeline->n++] = *event;
	if (event->time > timeline->newest)
		timeline->newest = event->time;
}

/* Up to n more events from the source, appended in file order. */
static int read_slice(struct mt_timeline *timeline, size_t n)
{
	size_t i, some;
	int err;

	while (n) {
		if (!timeline->n_input) {
			err = timeline->source(timeline->arg, &timeline->input,
					       &timeline->n_input);
			if (err <= 0) {
				timeline->ended = err == 0;
				timeline->n_input = 0;
				return err;
			}
			continue;
		}
		some = timeline->n_input < n ? timeline->n_input : n;
		err = make_room(timeline, 2 * some);
		if (err)
			return err;
		for (i = 0; i < some; i++)
			take(timeline, &timeline->input[i]);
		timeline->input += some;
		timeline->n_input -= some;
		n -= some;
	}
	return 0;
}

/* Read until something is certain to come next, or everything is read. */
static int refill(struct mt_timeline *timeline)
{
	struct mt_event *items = timeline->items;
	size_t held;
	int err;

	held = timeline->n - timeline->done;
	if (held && timeline->done)
		memmove(items, items + timeline->done, held * sizeof(*items));
	timeline->n = held;
	timeline->done = timeline->ready = 0;
	timeline->gives_up &= held != 0;

	while (!timeline->ended && !timeline->ready) {
		held = timeline->n;
		/* As many new ones as are held keeps the cost of merging constant per event. */
		err = read_slice(timeline, held > SLICE ? held : SLICE);
		if (err < 0)
			return err;
		items = timeline->items;
		sort(items + held, timeline->spare, timeline->n - held);
		merge(items, timeline->spare, 0, held, timeline->n);
		if (timeline->newest > timeline->lag)
			timeline->ready = upper_bound(items, 0, timeline->n,
						      timeline->newest - timeline->lag);
		if (!timeline->ready && timeline->n >= WINDOW_MAX)
			timeline->ready = timeline->n / 2;
	}
	if (timeline->ended)
		timeline->ready = timeline->n;
	return 0;
}

/* End of the part of the ready events that happened before the row. */
static size_t before_row(const struct mt_timeline *timeline, const struct mt_lifecycle *row)
{
	bool after = row->type == MT_LC_EXIT || row->type == MT_LC_THREAD_EXIT;

	if (!after && !row->time)
		return timeline->done;
	return upper_bound(timeline->items, timeline->done, timeline->ready,
			   after ? row->time : row->time - 1);
}

static void count_late(struct mt_timeline *timeline, size_t end)
{
	size_t i;

	/* Sorted: once one is in time, the rest is. */
	for (i = timeline->done; i < end && timeline->items[i].time < timeline->last; i++)
		timeline->late++;
	if (end > timeline->done && timeline->items[end - 1].time > timeline->last)
		timeline->last = timeline->items[end - 1].time;
}

int mt_timeline_next(struct mt_timeline *timeline, struct mt_timeline_batch *ret_batch)
{
	const struct mt_lifecycle *row = NULL;
	size_t end;
	int err;

	if (timeline->done == timeline->ready) {
		err = refill(timeline);
		if (err < 0)
			return err;
	}
	end = timeline->ready;
	if (timeline->session && timeline->row < mt_session_lifecycle_rows(timeline->session)) {
		row = mt_session_lifecycle(timeline->session, timeline->row);
		end = before_row(timeline, row);
		/* Beyond what is ready there may be events before the row. */
		if (end == timeline->ready && !(timeline->ended && end == timeline->n))
			row = NULL;
	}
	if (end == timeline->done && !row)
		return 0;

	count_late(timeline, end);
	ret_batch->events = timeline->items + timeline->done;
	ret_batch->n = end - timeline->done;
	ret_batch->gives_up = timeline->gives_up;
	ret_batch->lifecycle = row;
	timeline->done = end;
	timeline->row += row != NULL;
	return 1;
}
