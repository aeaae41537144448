/* Look-up in compiled unwind tables. */
#include "report/cfi_table.h"

#include <errno.h>

int mt_cfi_table_index(struct mt_cfi *cfi)
{
	uint64_t span = cfi->n_rows ? cfi->pcs[cfi->n_rows - 1] : 0;
	unsigned int shift = 4;
	size_t bucket;
	size_t row = 0;

	/* About four rows a bucket, so that the index is an eighth of the rows' size. */
	while (span >> shift > cfi->n_rows / 4)
		shift++;
	cfi->bucket_shift = shift;
	cfi->n_buckets = (size_t)(span >> shift) + 2;
	cfi->buckets = calloc(cfi->n_buckets, sizeof(*cfi->buckets));
	if (!cfi->buckets)
		return -ENOMEM;
	for (bucket = 0; bucket < cfi->n_buckets; bucket++) {
		while (row < cfi->n_rows && (uint64_t)cfi->pcs[row] >> shift < bucket)
			row++;
		cfi->buckets[bucket] = (uint32_t)row;
	}
	return 0;
}

void mt_cfi_free(struct mt_cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->pcs);
	free(cfi->row_sets);
	free(cfi->buckets);
	free(cfi->sets);
	free(cfi->rules);
	free(cfi->exprs);
	free(cfi->ops);
	free(cfi);
}

/* Last row at or below svma, or n_rows if there is none. */
static size_t find_row(const struct mt_cfi *cfi, uint64_t svma)
{
	uint64_t pc = svma - cfi->base;
	size_t bucket = (size_t)(pc >> cfi->bucket_shift);
	size_t low;
	size_t high;
	size_t middle;

	if (svma < cfi->base || !cfi->n_rows)
		return cfi->n_rows;
	if (bucket >= cfi->n_buckets - 1)
		return cfi->n_rows - 1;
	/* The first row above pc lies in [low, high]; row 0 never does, its pc is 0. */
	low = cfi->buckets[bucket];
	high = cfi->buckets[bucket + 1];
	while (low < high) {
		middle = low + (high - low) / 2;
		if (cfi->pcs[middle] <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

const struct mt_cfi_rules *mt_cfi_find(const struct mt_cfi *cfi, uint64_t svma)
{
	size_t row = find_row(cfi, svma);

	if (row == cfi->n_rows || cfi->row_sets[row] == 0)
		return NULL;
	return &cfi->sets[cfi->row_sets[row]];
}

const struct mt_cfi_rules *mt_cfi_row(const struct mt_cfi *cfi, size_t index, uint64_t *ret_svma)
{
	*ret_svma = cfi->base + cfi->pcs[index];
	return cfi->row_sets[index] ? &cfi->sets[cfi->row_sets[index]] : NULL;
}

struct mt_cfi_expr mt_cfi_expr(const struct mt_cfi *cfi, int32_t index)
{
	struct mt_cfi_expr expr = {
		cfi->ops + cfi->exprs[index].first,
		cfi->exprs[index].len,
	};

	return expr;
}

bool mt_cfi_is_entry(const struct mt_cfi *cfi, uint64_t svma)
{
	size_t row;

	if (!cfi->entry || svma < cfi->entry || svma - cfi->entry > MT_CFI_ENTRY_SPAN_MAX)
		return false;
	row = find_row(cfi, svma);
	if (row == cfi->n_rows)		/* below all rows, or no rows */
		return true;
	/* The gap that holds svma must hold the entry point too. */
	return cfi->row_sets[row] == 0 && find_row(cfi, cfi->entry) == row;
}

size_t mt_cfi_rows(const struct mt_cfi *cfi)
{
	return cfi->n_rows;
}

void mt_cfi_stats(const struct mt_cfi *cfi, struct mt_cfi_stats *ret_stats)
{
	struct mt_cfi_stats stats = {
		.rows = cfi->n_rows,
		.rule_sets = cfi->n_sets - 1,
		.entries = cfi->n_entries,
		.damaged = cfi->n_damaged,
	};

	stats.bytes = sizeof(*cfi) + cfi->n_rows * (sizeof(*cfi->pcs) + sizeof(*cfi->row_sets)) +
		      cfi->n_buckets * sizeof(*cfi->buckets) + cfi->n_sets * sizeof(*cfi->sets) +
		      cfi->n_rules * sizeof(*cfi->rules) + cfi->n_exprs * sizeof(*cfi->exprs) +
		      cfi->n_ops;
	*ret_stats = stats;
}
