#include "record/mapping_queue.h"

#include <errno.h>

#define ROWS_MAX 16384
#define PATHS_MAX (2u << 20)

struct mt_mapping_queue {
	struct mt_mapping rows[ROWS_MAX];
	char paths[PATHS_MAX];
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

struct mt_mapping *mt_mapping_queue_rows(struct mt_mapping_queue *queue, uint32_t *ret_n)
{
	*ret_n = queue->n;
	return queue->rows;
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

static void sift_down(struct mt_mapping *rows, uint32_t root, uint32_t n)
{
	struct mt_mapping row = rows[root];
	uint32_t child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && before(&rows[child], &rows[child + 1]))
			child++;
		if (!before(&row, &rows[child]))
			break;
		rows[root] = rows[child];
		root = child;
	}
	rows[root] = row;
}

/* Heapsort: libc's qsort allocates, and its allocator is being probed. */
void mt_mapping_queue_sort(struct mt_mapping_queue *queue)
{
	struct mt_mapping last;
	uint32_t i;

	for (i = queue->n / 2; i-- > 0;)
		sift_down(queue->rows, i, queue->n);
	for (i = queue->n; i-- > 1;) {
		last = queue->rows[i];
		queue->rows[i] = queue->rows[0];
		queue->rows[0] = last;
		sift_down(queue->rows, 0, i);
	}
}

void mt_mapping_queue_clear(struct mt_mapping_queue *queue)
{
	queue->n = 0;
	queue->used = 0;
}
