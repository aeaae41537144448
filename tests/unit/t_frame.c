/* Frames: what a packer promises to take. */
#include "common/frame.h"

#include <criterion/criterion.h>
#include <zstd.h>

#include "common/compat.h"

/* zstd's parameters for a short content can need more memory than those for the longest. */
Test(frame, contents_of_every_length_are_packed)
{
	static const size_t maxima[] = { 1, 9000, 17081, 20000, 29518, 140000, 300000 };
	static const int levels[] = { 1, 3, 6 };
	static uint8_t content[300000];
	const uint8_t *frame;
	struct mt_packer *packer;
	uint32_t seed = 1;
	size_t i, k, len, size;

	for (i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 29);
	for (i = 0; i < MT_ARRAY_SIZE(maxima); i++) {
		for (k = 0; k < MT_ARRAY_SIZE(levels); k++) {
			cr_assert_eq(mt_packer_new(levels[k], maxima[i], &packer), 0);
			for (len = 0; len <= maxima[i]; len += 1 + len / 7) {
				cr_assert_eq(mt_packer_pack(packer, content, len, NULL, 0, &frame,
							    &size), 0, "%zu of %zu, level %d",
					     len, maxima[i], levels[k]);
				cr_assert_eq(ZSTD_getFrameContentSize(frame, size), len);
			}
			mt_packer_free(packer);
		}
	}
}
