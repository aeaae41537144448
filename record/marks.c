#include "record/marks.h"

#include <errno.h>
#include <pthread.h>

#include "common/grow.h"
#include "record/writer.h"

/* That wait to be written. */
#define WAITING_MAX 8192u
#define WAITING_BYTES_MAX (1u << 19)

struct mt_marks {
	pthread_mutex_t lock;
	struct mt_mark *rows;	/* those that wait to be written */
	uint32_t n;
	uint32_t cap;
	size_t bytes;	/* of their names */
	uint32_t total;
};

int mt_marks_new(struct mt_marks **ret_marks)
{
	struct mt_marks *marks = calloc(1, sizeof(*marks));
	int err;

	if (!marks)
		return -ENOMEM;
	err = -pthread_mutex_init(&marks->lock, NULL);
	if (err) {
		free(marks);
		return err;
	}
	*ret_marks = marks;
	return 0;
}

static void forget_rows(struct mt_marks *marks)
{
	while (marks->n)
		free((char *)(uintptr_t)marks->rows[--marks->n].name);
	marks->bytes = 0;
}

void mt_marks_free(struct mt_marks *marks)
{
	if (!marks)
		return;
	forget_rows(marks);
	free(marks->rows);
	pthread_mutex_destroy(&marks->lock);
	free(marks);
}

int mt_marks_add(struct mt_marks *marks, uint32_t type, uint64_t time, const char *name)
{
	size_t bytes = strlen(name) + 1 + MT_ALLOCATION_BYTES;
	char *copy = strdup(name);
	int err = copy ? 0 : -ENOMEM;

	pthread_mutex_lock(&marks->lock);
	if (!err && marks->total == MT_MARKS_MAX)
		err = -E2BIG;
	if (!err && (marks->n == WAITING_MAX || bytes > WAITING_BYTES_MAX - marks->bytes))
		err = -ENOBUFS;
	if (!err)
		err = mt_grow(&marks->rows, marks->n, &marks->cap, sizeof(*marks->rows),
			      WAITING_MAX);
	if (!err) {
		marks->rows[marks->n++] = (struct mt_mark){
			.type = type, .time = time, .name = copy,
		};
		marks->total++;
		marks->bytes += bytes;
		copy = NULL;
	}
	pthread_mutex_unlock(&marks->lock);
	free(copy);
	return err;
}

int mt_marks_write(struct mt_marks *marks, struct mt_writer *writer)
{
	int err = 0;

	pthread_mutex_lock(&marks->lock);
	if (marks->n)
		err = mt_writer_marks(writer, marks->rows, marks->n);
	forget_rows(marks);
	pthread_mutex_unlock(&marks->lock);
	return err;
}
