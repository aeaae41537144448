#include "record/sampled_blocks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf/mt_ring.h"
#include "record/process_walk.h"

#define BATCH 4096

struct spaces {
	uint64_t *numbers;
	size_t n, cap;
	int err;	/* sticks */
};

static void add_space(void *arg, int pid, uint64_t flags)
{
	struct spaces *spaces = arg;
	size_t cap = spaces->cap ? 2 * spaces->cap : 256;
	uint64_t *numbers;

	(void)pid;
	if (spaces->err)
		return;
	if (spaces->n == spaces->cap) {
		numbers = reallocarray(spaces->numbers, cap, sizeof(*numbers));
		if (!numbers) {
			spaces->err = -ENOMEM;
			return;
		}
		spaces->numbers = numbers;
		spaces->cap = cap;
	}
	spaces->numbers[spaces->n++] = flags >> MT_PROCESS_SPACE_SHIFT;
}

static int compare(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return a < b ? -1 : a > b;
}

/* Of processes that share memory one can end while its child comes: not seen by one walk. */
static int find_spaces(struct spaces *spaces, int processes_fd)
{
	int err = mt_process_walk(processes_fd, add_space, spaces);

	if (!err)
		err = mt_process_walk(processes_fd, add_space, spaces);
	if (!err)
		err = spaces->err;
	if (!err && spaces->n)
		qsort(spaces->numbers, spaces->n, sizeof(*spaces->numbers), compare);
	return err;
}

static uint64_t delete_dead(int blocks_fd, const struct spaces *spaces, uint64_t last_space,
			    struct mt_block_key *keys, uint32_t n)
{
	uint64_t deleted = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (keys[i].space <= last_space &&
		    (!spaces->n || !bsearch(&keys[i].space, spaces->numbers, spaces->n,
					    sizeof(*spaces->numbers), compare)))
			deleted += !bpf_map_delete_elem(blocks_fd, &keys[i]);
	return deleted;
}

static int sweep(int blocks_fd, const struct spaces *spaces, uint64_t last_space,
		 struct mt_block_key *keys, __u64 *values, uint64_t *deleted)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	__u32 at, *from = NULL, n;
	int err;

	do {
		n = BATCH;
		err = bpf_map_lookup_batch(blocks_fd, from, &at, keys, values, &n, &opts);
		if (err && err != -ENOENT)
			return err;
		*deleted += delete_dead(blocks_fd, spaces, last_space, keys, n);
		from = &at;
	} while (!err);
	return 0;
}

int mt_sampled_blocks_sweep(int blocks_fd, int processes_fd, uint64_t last_space,
			    uint64_t *deleted)
{
	struct mt_block_key *keys = calloc(BATCH, sizeof(*keys));
	__u64 *values = calloc(BATCH, sizeof(*values));
	struct spaces spaces = {};
	int err = keys && values ? find_spaces(&spaces, processes_fd) : -ENOMEM;

	if (!err)
		err = sweep(blocks_fd, &spaces, last_space, keys, values, deleted);
	free(spaces.numbers);
	free(values);
	free(keys);
	return err;
}
