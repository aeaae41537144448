#include "record/mapping_queue.h"

#include <errno.h>

#include "record/id_table.h"

#define ROWS_MAX 16384
#define PATHS_MAX (2u << 20)
#define PATH_MAX_BYTES 4096u	/* of what the kernel tells */

struct mt_mapping_queue {
	struct mt_mapping rows[ROWS_MAX];
	char paths[PATHS_MAX];	/* before each the mark of its row */
	uint32_t n;
	uint32_t used;
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

static uint64_t mark_of(const struct mt_mapping *row)
{
	uint64_t mark;

	memcpy(&mark, row->path - sizeof(mark), sizeof(mark));
	return mark;
}

bool mt_mapping_queue_add(struct mt_mapping_queue *queue, const struct mt_mapping *row,
			  uint64_t mark)
{
	size_t len = strlen(row->path) + 1;
	struct mt_mapping *copy;

	if (queue->n == ROWS_MAX || sizeof(mark) + len > PATHS_MAX - queue->used)
		return false;
	copy = &queue->rows[queue->n++];
	*copy = *row;
	memcpy(queue->paths + queue->used, &mark, sizeof(mark));
	queue->used += sizeof(mark);
	memcpy(queue->paths + queue->used, row->path, len);
	copy->path = queue->paths + queue->used;
	queue->used += len;
	return true;
}

uint32_t mt_mapping_queue_room(const struct mt_mapping_queue *queue)
{
	uint32_t rows = queue->n < ROWS_MAX / 2 ? ROWS_MAX / 2 - queue->n : 0;
	uint32_t bytes = queue->used < PATHS_MAX / 2 ? PATHS_MAX / 2 - queue->used : 0;
	uint32_t paths = bytes / (PATH_MAX_BYTES + sizeof(uint64_t));

	return rows < paths ? rows : paths;
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

uint32_t mt_mapping_queue_clear(struct mt_mapping_queue *queue, uint32_t settled,
				uint64_t passed, uint64_t begin)
{
	uint32_t i, n = 0, used = 0, dropped = 0;

	for (i = settled; i < queue->n; i++) {
		if (mark_of(&queue->rows[i]) > passed)
			queue->rows[n++] = queue->rows[i];
		else
			dropped += queue->rows[i].time >= begin;
	}
	/* Their paths move to the front, none over one that is still to move. */
	sort(queue->rows, n, arrived_before);
	for (i = 0; i < n; i++) {
		const char *from = queue->rows[i].path - sizeof(uint64_t);
		size_t len = sizeof(uint64_t) + strlen(queue->rows[i].path) + 1;

		memmove(queue->paths + used, from, len);
		queue->rows[i].path = queue->paths + used + sizeof(uint64_t);
		used += len;
	}
	queue->n = n;
	queue->used = used;
	return dropped;
}
