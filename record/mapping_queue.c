#include "record/mapping_queue.h"

#include <errno.h>

#include "record/id_table.h"

#define ROWS_MAX 16384
#define PATHS_MAX (2u << 20)

struct mt_mapping_queue {
	struct mt_mapping rows[ROWS_MAX];
	char paths[PATHS_MAX];
	uint32_t n;
	uint32_t used;
	uint32_t kept;		/* of used: paths of rows that were kept once */
};

int mt_mapping_queue_new(struct mt_mapping_queue **ret_queue)
{
	struct mt_mapping_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	*ret_queue = queue;
	return 0;
}

void mt_mapping_queue_free(struct mt_mapping_queue *queue)
{
	free(queue);
}

bool mt_mapping_queue_add(struct mt_mapping_queue *queue, const struct mt_mapping *row)
{
	size_t len = strlen(row->path) + 1;
	struct mt_mapping *copy;

	if (queue->n == ROWS_MAX || len > PATHS_MAX - queue->used)
		return false;
	copy = &queue->rows[queue->n++];
	*copy = *row;
	memcpy(queue->paths + queue->used, row->path, len);
	copy->path = queue->paths + queue->used;
	queue->used += len;
	return true;
}

/* Paths lie in order of arrival, which settles ties. */
static bool before(const struct mt_mapping *a, const struct mt_mapping *b)
{
	if (a->process != b->process)
		return a->process < b->process;
	if (a->time != b->time)
		return a->time < b->time;
	return a->path < b->path;
}

static bool arrived_before(const struct mt_mapping *a, const struct mt_mapping *b)
{
	return a->path < b->path;
}

typedef bool (*order_fn)(const struct mt_mapping *a, const struct mt_mapping *b);

static void sift_down(struct mt_mapping *rows, uint32_t root, uint32_t n, order_fn order)
{
	struct mt_mapping row = rows[root];
	uint32_t child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && order(&rows[child], &rows[child + 1]))
			child++;
		if (!order(&row, &rows[child]))
			break;
		rows[root] = rows[child];
		root = child;
	}
	rows[root] = row;
}

static void swap(struct mt_mapping *a, struct mt_mapping *b)
{
	struct mt_mapping row = *a;

	*a = *b;
	*b = row;
}

/* Heapsort: libc's qsort allocates, and its allocator is being probed. */
static void sort(struct mt_mapping *rows, uint32_t n, order_fn order)
{
	uint32_t i;

	for (i = n / 2; i-- > 0;)
		sift_down(rows, i, n, order);
	for (i = n; i-- > 1;) {
		swap(&rows[0], &rows[i]);
		sift_down(rows, 0, i, order);
	}
}

uint32_t mt_mapping_queue_settle(struct mt_mapping_queue *queue, mt_mapping_process_fn fn,
				 void *arg, const struct mt_mapping **ret_rows)
{
	uint32_t i, settled = 0, process;

	for (i = 0; i < queue->n; i++) {
		process = fn(arg, queue->rows[i].process, queue->rows[i].time);
		if (process == MT_ID_NONE)
			continue;
		queue->rows[i].process = process;
		swap(&queue->rows[i], &queue->rows[settled++]);
	}
	sort(queue->rows, settled, before);
	*ret_rows = queue->rows;
	return settled;
}

uint32_t mt_mapping_queue_clear(struct mt_mapping_queue *queue, uint32_t settled, bool keep,
				uint64_t begin)
{
	uint32_t i, n = 0, used = 0, dropped = 0;

	for (i = settled; i < queue->n; i++) {
		if (keep && queue->rows[i].path >= queue->paths + queue->kept)
			queue->rows[n++] = queue->rows[i];
		else
			dropped += queue->rows[i].time >= begin;
	}
	/* Their paths move to the front, none over one that is still to move. */
	sort(queue->rows, n, arrived_before);
	for (i = 0; i < n; i++) {
		size_t len = strlen(queue->rows[i].path) + 1;

		memmove(queue->paths + used, queue->rows[i].path, len);
		queue->rows[i].path = queue->paths + used;
		used += len;
	}
	queue->n = n;
	queue->used = queue->kept = used;
	return dropped;
}
