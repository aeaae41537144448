/* Our frames against an oracle's. */
#include "tests/oracle/compare.h"

static const char *const texts[] = {
#define X(name, text) [MT_COMPARE_##name] = text,
	MT_COMPARE_KINDS(X)
#undef X
};

const char *mt_compare_text(enum mt_compare_kind kind)
{
	return texts[kind];
}

enum mt_compare_kind mt_compare(const struct mt_frame *frames, size_t n, enum mt_unwind_end end,
				const uint64_t *pcs, size_t n_pcs, bool oracle_short,
				size_t *ret_common)
{
	size_t common = 0;

	while (common < n && common < n_pcs && frames[common].pc == pcs[common])
		common++;
	*ret_common = common;
	if (common == n && common == n_pcs)
		return MT_COMPARE_EQUAL;
	if (common < n && (frames[common].source == MT_FRAME_FP ||
			   frames[common].source == MT_FRAME_LEAF))
		return common == n_pcs && oracle_short ? MT_COMPARE_CHAIN : MT_COMPARE_NO_CFI;
	if (common == n && (end == MT_UNWIND_NO_CFI || end == MT_UNWIND_NO_MODULE))
		return MT_COMPARE_NO_CFI;
	if (common == n && end == MT_UNWIND_COMPLETE)
		return MT_COMPARE_BEYOND;
	if (common == n_pcs && !oracle_short)
		return MT_COMPARE_GAVE_UP;
	return MT_COMPARE_DIFFERENT;
}
