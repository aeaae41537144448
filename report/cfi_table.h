/*
 * report/cfi_table.h - layout of a compiled table; private to the cfi_*.c files.
 */
#ifndef MT_CFI_TABLE_H
#define MT_CFI_TABLE_H

#include "report/cfi.h"

struct mt_cfi {
	/* Row i is valid from base + pcs[i]; the last one is a gap. */
	uint64_t base;
	size_t n_rows;
	uint32_t *pcs;
	uint32_t *row_sets;
	/* First row at or above base + (i << bucket_shift): narrows the search to a few rows. */
	uint32_t *buckets;
	size_t n_buckets;
	unsigned int bucket_shift;

	size_t n_sets;
	struct mt_cfi_rules *sets;	/* [0] stands for a gap */
	size_t n_rules;
	struct mt_cfi_rule *rules;

	size_t n_exprs;
	struct {
		uint32_t first;		/* in ops */
		uint32_t len;
	} *exprs;
	size_t n_ops;
	uint8_t *ops;

	uint64_t entry;
	size_t n_entries;
	size_t n_damaged;
};

/* How far from the entry point code without unwind information is taken for entry code. */
#define MT_CFI_ENTRY_SPAN_MAX 256u

/* Fill buckets from pcs: 0 or -ENOMEM. */
int mt_cfi_table_index(struct mt_cfi *cfi);

#endif
