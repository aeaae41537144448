#include "record/witness.h"

#include <errno.h>
#include <pthread.h>

#include "bpf/mt_ring.h"

/*
 * Of files that are known, and of files of processes. Those that have waited longest make room, and
 * what they say then is final: no request is as old as that.
 */
#define ROWS_MAX 32768u
#define BUCKETS 16384u
#define NONE UINT32_MAX

/* Of a file (pid 0), or of a file in a process. */
struct row {
	uint64_t ino;
	uint64_t time;		/* first known (pid 0) or mapped; 0: not yet */
	uint32_t dev;
	uint32_t generation;
	uint32_t next;		/* of the same bucket */
	uint32_t pid : 30;
	uint32_t stopped : 1;
	uint32_t used : 1;
};
_Static_assert(sizeof(struct row) == 32, "there may be many");

struct rows {
	struct row row[ROWS_MAX];	/* in a circle */
	uint32_t n;			/* ever added */
	uint32_t buckets[BUCKETS];
};

struct mt_witness {
	pthread_mutex_t lock;
	mt_witness_excuse_fn excuse;
	const void *arg;
	struct rows *files;
	struct rows *mapped;
	uint64_t unseen;	/* among those that have made room */
};

static struct rows *new_rows(void)
{
	struct rows *rows = calloc(1, sizeof(*rows));	/* committed when used */

	if (rows)
		memset(rows->buckets, 0xff, sizeof(rows->buckets));
	return rows;
}

int mt_witness_new(mt_witness_excuse_fn excuse, const void *arg, struct mt_witness **ret_witness)
{
	struct mt_witness *witness = calloc(1, sizeof(*witness));

	if (!witness)
		return -ENOMEM;
	witness->excuse = excuse;
	witness->arg = arg;
	witness->files = new_rows();
	witness->mapped = new_rows();
	pthread_mutex_init(&witness->lock, NULL);
	if (!witness->files || !witness->mapped) {
		mt_witness_free(witness);
		return -ENOMEM;
	}
	*ret_witness = witness;
	return 0;
}

void mt_witness_free(struct mt_witness *witness)
{
	if (!witness)
		return;
	pthread_mutex_destroy(&witness->lock);
	free(witness->files);
	free(witness->mapped);
	free(witness);
}

static struct mt_witness_file file_of(const struct row *row)
{
	return (struct mt_witness_file){ row->ino, row->dev, row->generation };
}

static uint32_t *bucket(struct rows *rows, uint32_t pid, struct mt_witness_file file)
{
	uint64_t hash = (file.ino ^ (uint64_t)file.dev << 40 ^ (uint64_t)pid << 20) *
			0x9e3779b97f4a7c15ull;

	return &rows->buckets[hash >> 32 & (BUCKETS - 1)];
}

static struct row *find(struct rows *rows, uint32_t pid, struct mt_witness_file file)
{
	uint32_t i = *bucket(rows, pid, file);

	while (i != NONE && (rows->row[i].ino != file.ino || rows->row[i].dev != file.dev ||
			     rows->row[i].pid != pid))
		i = rows->row[i].next;
	return i == NONE ? NULL : &rows->row[i];
}

static bool known_at(const struct mt_witness *witness, struct mt_witness_file file, uint64_t time)
{
	const struct row *row = find(witness->files, 0, file);

	return row && row->time && row->time <= time;
}

/* Was the row's file mapped without the watch having noticed? */
static bool is_unseen(const struct mt_witness *witness, const struct row *row)
{
	const struct mt_inode_key key = {
		.ino = row->ino, .dev = row->dev, .generation = row->generation,
	};

	if (!row->used || !row->pid || !row->time || row->stopped ||
	    known_at(witness, file_of(row), row->time))
		return false;
	return !witness->excuse || !witness->excuse(witness->arg, &key);
}

static void make_room(struct mt_witness *witness, struct rows *rows, uint32_t at)
{
	struct row *row = &rows->row[at];
	uint32_t *link;

	if (!row->used)
		return;
	witness->unseen += is_unseen(witness, row);
	link = bucket(rows, row->pid, file_of(row));
	while (*link != at)
		link = &rows->row[*link].next;
	*link = row->next;
}

static struct row *find_or_add(struct mt_witness *witness, struct rows *rows, uint32_t pid,
			       struct mt_witness_file file)
{
	struct row *row = find(rows, pid, file);
	uint32_t at, *first;

	if (row)
		return row;
	at = rows->n++ % ROWS_MAX;
	make_room(witness, rows, at);
	first = bucket(rows, pid, file);
	row = &rows->row[at];
	*row = (struct row){
		.ino = file.ino, .dev = file.dev, .generation = file.generation, .pid = pid,
		.next = *first, .used = true,
	};
	*first = at;
	return row;
}

void mt_witness_known(struct mt_witness *witness, struct mt_witness_file file, uint64_t time)
{
	struct row *row;

	pthread_mutex_lock(&witness->lock);
	row = find_or_add(witness, witness->files, 0, file);
	if (!row->time)
		row->time = time;
	pthread_mutex_unlock(&witness->lock);
}

void mt_witness_stopped(struct mt_witness *witness, uint32_t pid, struct mt_witness_file file)
{
	pthread_mutex_lock(&witness->lock);
	find_or_add(witness, witness->mapped, pid, file)->stopped = true;
	pthread_mutex_unlock(&witness->lock);
}

void mt_witness_mapped(struct mt_witness *witness, uint32_t pid, struct mt_witness_file file,
		       uint64_t time)
{
	struct row *row;

	pthread_mutex_lock(&witness->lock);
	if (!known_at(witness, file, time)) {
		row = find_or_add(witness, witness->mapped, pid, file);
		if (!row->time || row->time > time)
			row->time = time;
		row->generation = file.generation;
	}
	pthread_mutex_unlock(&witness->lock);
}

uint64_t mt_witness_unseen(struct mt_witness *witness)
{
	uint64_t unseen;
	uint32_t i;

	pthread_mutex_lock(&witness->lock);
	unseen = witness->unseen;
	for (i = 0; i < ROWS_MAX && witness->mapped->row[i].used; i++)
		unseen += is_unseen(witness, &witness->mapped->row[i]);
	pthread_mutex_unlock(&witness->lock);
	return unseen;
}
