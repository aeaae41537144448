#include "record/witness.h"

#include <errno.h>
#include <pthread.h>

#include "bpf/mt_ring.h"

#define ROWS_MAX (1u << 20)	/* what comes later is not judged */
#define ROWS_FIRST 1024u

/* Of a file (pid 0), or of a file in a process. */
struct row {
	uint64_t ino;
	uint32_t dev;
	uint32_t generation;
	uint32_t pid;
	uint64_t time;		/* first known (pid 0) or mapped; 0: not yet */
	bool stopped;
	bool used;
};

struct mt_witness {
	pthread_mutex_t lock;
	struct row *rows;	/* hashed, with room for as many again */
	uint32_t size;		/* a power of two */
	uint32_t n;
};

int mt_witness_new(struct mt_witness **ret_witness)
{
	struct mt_witness *witness = calloc(1, sizeof(*witness));

	if (!witness)
		return -ENOMEM;
	witness->size = ROWS_FIRST;
	witness->rows = calloc(ROWS_FIRST, sizeof(*witness->rows));
	if (!witness->rows) {
		free(witness);
		return -ENOMEM;
	}
	pthread_mutex_init(&witness->lock, NULL);
	*ret_witness = witness;
	return 0;
}

void mt_witness_free(struct mt_witness *witness)
{
	if (!witness)
		return;
	pthread_mutex_destroy(&witness->lock);
	free(witness->rows);
	free(witness);
}

static struct mt_witness_file file_of(const struct row *row)
{
	return (struct mt_witness_file){ row->ino, row->dev, row->generation };
}

/* Where the row is or would be; there always is a free one. */
static struct row *place(struct row *rows, uint32_t size, uint32_t pid, struct mt_witness_file file)
{
	uint64_t hash = (file.ino ^ (uint64_t)file.dev << 40 ^ (uint64_t)pid << 20) *
			0x9e3779b97f4a7c15ull;
	uint32_t i = hash >> 32 & (size - 1);

	while (rows[i].used && (rows[i].ino != file.ino || rows[i].dev != file.dev ||
				rows[i].pid != pid))
		i = (i + 1) & (size - 1);
	return &rows[i];
}

static bool grow(struct mt_witness *witness)
{
	uint32_t size = 2 * witness->size, i;
	struct row *rows, *old;

	if (witness->n >= ROWS_MAX)
		return false;
	rows = calloc(size, sizeof(*rows));
	if (!rows)
		return false;
	for (i = 0; i < witness->size; i++) {
		old = &witness->rows[i];
		if (old->used)
			*place(rows, size, old->pid, file_of(old)) = *old;
	}
	free(witness->rows);
	witness->rows = rows;
	witness->size = size;
	return true;
}

/* NULL: there is no room. */
static struct row *find_or_add(struct mt_witness *witness, uint32_t pid,
			       struct mt_witness_file file)
{
	struct row *row = place(witness->rows, witness->size, pid, file);

	if (row->used)
		return row;
	if (2 * (witness->n + 1) > witness->size) {
		if (!grow(witness))
			return NULL;
		row = place(witness->rows, witness->size, pid, file);
	}
	*row = (struct row){
		.ino = file.ino, .dev = file.dev, .generation = file.generation, .pid = pid,
		.used = true,
	};
	witness->n++;
	return row;
}

void mt_witness_known(struct mt_witness *witness, struct mt_witness_file file, uint64_t time)
{
	struct row *row;

	pthread_mutex_lock(&witness->lock);
	row = find_or_add(witness, 0, file);
	if (row && !row->time)
		row->time = time;
	pthread_mutex_unlock(&witness->lock);
}

void mt_witness_stopped(struct mt_witness *witness, uint32_t pid, struct mt_witness_file file)
{
	struct row *row;

	pthread_mutex_lock(&witness->lock);
	row = find_or_add(witness, pid, file);
	if (row)
		row->stopped = true;
	pthread_mutex_unlock(&witness->lock);
}

static bool known_at(const struct mt_witness *witness, struct mt_witness_file file, uint64_t time)
{
	const struct row *row = place(witness->rows, witness->size, 0, file);

	return row->used && row->time && row->time <= time;
}

void mt_witness_mapped(struct mt_witness *witness, uint32_t pid, struct mt_witness_file file,
		       uint64_t time)
{
	struct row *row;

	pthread_mutex_lock(&witness->lock);
	if (!known_at(witness, file, time)) {
		row = find_or_add(witness, pid, file);
		if (row && (!row->time || row->time > time))
			row->time = time;
		if (row)
			row->generation = file.generation;
	}
	pthread_mutex_unlock(&witness->lock);
}

uint64_t mt_witness_unseen(struct mt_witness *witness, mt_witness_excuse_fn excuse,
			   const void *arg)
{
	struct mt_inode_key key;
	uint64_t unseen = 0;
	struct row *row;
	uint32_t i;

	pthread_mutex_lock(&witness->lock);
	for (i = 0; i < witness->size; i++) {
		row = &witness->rows[i];
		if (!row->pid || !row->time || row->stopped ||
		    known_at(witness, file_of(row), row->time))
			continue;
		key = (struct mt_inode_key){
			.ino = row->ino, .dev = row->dev, .generation = row->generation,
		};
		if (!excuse || !excuse(arg, &key))
			unseen++;
	}
	pthread_mutex_unlock(&witness->lock);
	return unseen;
}
