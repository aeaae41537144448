/*
 * tests/oracle/oracle.h - other people's unwinders over the same captured bytes.
 *
 * An oracle serves the stacks of one set of mappings. x86-64 only.
 */
#ifndef MT_ORACLE_H
#define MT_ORACLE_H

#include "common/event.h"

/* Executable memory backed by a file that is still the one mapped. */
struct mt_oracle_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	const char *path;
};

struct mt_oracle;

/* Files that cannot be opened are left out. mappings and paths are borrowed. 0 or -errno. */
int mt_oracle_libunwind_new(const struct mt_oracle_mapping *mappings, size_t n,
			    struct mt_oracle **ret_oracle);
int mt_oracle_libdw_new(const struct mt_oracle_mapping *mappings, size_t n,
			struct mt_oracle **ret_oracle);
void mt_oracle_free(struct mt_oracle *oracle);
const char *mt_oracle_name(const struct mt_oracle *oracle);

/*
 * pcs of the frames, innermost first, at most max. *ret_short: it asked for stack
 * bytes that were not captured.
 */
int mt_oracle_unwind(struct mt_oracle *oracle, const struct mt_stack *stack, uint64_t *pcs,
		     size_t max, size_t *ret_n, bool *ret_short);

/* How the oracles are made. */
struct mt_oracle_ops {
	const char *name;
	int (*unwind)(struct mt_oracle *oracle, const struct mt_stack *stack, uint64_t *pcs,
		      size_t max, size_t *ret_n);
	void (*free)(struct mt_oracle *oracle);
};

struct mt_oracle {
	const struct mt_oracle_ops *ops;
	const struct mt_stack *stack;	/* being unwound */
	bool missed;
};

/* 8 captured bytes of oracle->stack at addr; false and missed if they are not there. */
bool mt_oracle_read_stack(struct mt_oracle *oracle, uint64_t addr, uint64_t *ret_value);

#endif
