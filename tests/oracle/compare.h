/*
 * tests/oracle/compare.h - do an oracle's frames agree with ours, and if not, why?
 */
#ifndef MT_COMPARE_H
#define MT_COMPARE_H

#include <stdint.h>

#include "report/unwind.h"
#include "tests/oracle/oracle.h"

#define MT_COMPARE_KINDS(X) \
	X(EQUAL, "same frames") \
	X(CHAIN, "same up to the captured bytes' end; ours went on along the frame-pointer chain") \
	X(NO_CFI, "same up to code without unwind information; heuristics differ") \
	X(BEYOND, "same up to the first frame; the oracle went on") \
	X(GAVE_UP, "same as far as the oracle went; it gave up") \
	X(DIFFERENT, "different")

enum mt_compare_kind {
#define X(name, text) MT_COMPARE_##name,
	MT_COMPARE_KINDS(X)
#undef X
	MT_COMPARE_N
};

const char *mt_compare_text(enum mt_compare_kind kind);

/* *ret_common: how many frames agree. */
enum mt_compare_kind mt_compare(const struct mt_frame *frames, size_t n, enum mt_unwind_end end,
				const uint64_t *pcs, size_t n_pcs, bool oracle_short,
				size_t *ret_common);

#endif
