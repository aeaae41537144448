/*
 * tests/fuzz/fuzz_dwp.c - the index of a DWARF package, and the strings of a unit.
 *
 * The first byte is the number of 16-byte steps that the index takes; the rest is what all the
 * other sections have.
 */
#include "report/dwp.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_dwp dwp;
	uint8_t *bytes;
	size_t n, cut, i;
	uint64_t id;

	if (!size)
		return 0;
	cut = (size_t)data[0] * 16;
	data++;
	size--;
	if (cut > size)
		cut = size;
	for (i = 0; i < MT_DWP_SECTIONS; i++)
		dwp.sections[i] = (struct mt_section){ data + cut, size - cut, 0 };
	dwp.sections[MT_DWP_INDEX] = (struct mt_section){ data, cut, 0 };
	/* Each word that may be an id. */
	for (i = 16; i + 8 <= cut; i += 8) {
		memcpy(&id, data + i, sizeof(id));
		if (mt_dwp_extract(&dwp, id, &bytes, &n))
			continue;
		if (n < 64)
			abort();
		free(bytes);
	}
	return 0;
}
