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
	uint32_t writing;	/* that were taken out of the rows to be written now */
	size_t bytes;		/* of the names of both */
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

static size_t bytes_of(const char *name)
{
	return strlen(name) + 1 + MT_ALLOCATION_BYTES;
}

/* The bytes of their names. */
static size_t free_rows(struct mt_mark *rows, uint32_t n)
{
	size_t bytes = 0;

	while (n) {
		bytes += bytes_of(rows[--n].name);
		free((char *)(uintptr_t)rows[n].name);
	}
	free(rows);
	return bytes;
}

static bool has_room(const struct mt_marks *marks, size_t bytes)
{
	return marks->n < WAITING_MAX - marks->writing &&
	       bytes <= WAITING_BYTES_MAX - marks->bytes;
}

void mt_marks_free(struct mt_marks *marks)
{
	if (!marks)
		return;
	free_rows(marks->rows, marks->n);
	pthread_mutex_destroy(&marks->lock);
	free(marks);
}

int mt_marks_add(struct mt_marks *marks, uint32_t type, uint64_t time, const char *name)
{
	size_t bytes = bytes_of(name);
	char *copy = strdup(name);
	int err = copy ? 0 : -ENOMEM;

	pthread_mutex_lock(&marks->lock);
	if (!err && marks->total == MT_MARKS_MAX)
		err = -E2BIG;
	if (!err && !has_room(marks, bytes))
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

bool mt_marks_have_room(struct mt_marks *marks)
{
	bool room;

	pthread_mutex_lock(&marks->lock);
	room = has_room(marks, MT_MARK_NAME_MAX + 1 + MT_ALLOCATION_BYTES);
	pthread_mutex_unlock(&marks->lock);
	return room;
}

/* Writing may wait for whoever reads the output; whoever adds must not wait for that. */
int mt_marks_write(struct mt_marks *marks, struct mt_writer *writer)
{
	struct mt_mark *rows;
	size_t bytes;
	uint32_t n;
	int err = 0;

	pthread_mutex_lock(&marks->lock);
	rows = marks->rows;
	n = marks->writing = marks->n;
	marks->rows = NULL;
	marks->n = marks->cap = 0;
	pthread_mutex_unlock(&marks->lock);
	if (n)
		err = mt_writer_marks(writer, rows, n);
	bytes = free_rows(rows, n);
	pthread_mutex_lock(&marks->lock);
	marks->writing = 0;
	marks->bytes -= bytes;
	pthread_mutex_unlock(&marks->lock);
	return err;
}
