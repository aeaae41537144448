#include "record/sampled_blocks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bpf/mt_ring.h"
#include "record/process_walk.h"

#define BATCH 4096

struct spaces {
	uint32_t *numbers;
	size_t n, cap;
	size_t n_sorted;	/* of them, the first */
	int err;	/* sticks */
};

static int compare(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return a < b ? -1 : a > b;
}

static bool has_space(const struct spaces *spaces, uint32_t space)
{
	return spaces->n_sorted && bsearch(&space, spaces->numbers, spaces->n_sorted,
					   sizeof(*spaces->numbers), compare);
}

static void sort_spaces(struct spaces *spaces)
{
	if (spaces->n)
		qsort(spaces->numbers, spaces->n, sizeof(*spaces->numbers), compare);
	spaces->n_sorted = spaces->n;
}

static void add_space(void *arg, int pid, uint64_t flags)
{
	uint32_t space = (uint32_t)(flags >> MT_PROCESS_SPACE_SHIFT);
	struct spaces *spaces = arg;
	size_t cap = spaces->cap ? 2 * spaces->cap : 256;
	uint32_t *numbers;

	(void)pid;
	if (spaces->err || has_space(spaces, space))
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
	spaces->numbers[spaces->n++] = space;
}

/* Of processes that share memory one can end while its child comes: not seen by one walk. */
static int find_spaces(struct spaces *spaces, int processes_fd)
{
	int err = mt_process_walk(processes_fd, add_space, spaces);

	sort_spaces(spaces);
	if (!err)
		err = mt_process_walk(processes_fd, add_space, spaces);
	sort_spaces(spaces);
	return err ? err : spaces->err;
}

static uint64_t delete_dead(int blocks_fd, const struct spaces *spaces, uint64_t last_space,
			    struct mt_block_key *keys, uint32_t n)
{
	uint64_t deleted = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (keys[i].space <= last_space && !has_space(spaces, (uint32_t)keys[i].space))
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
