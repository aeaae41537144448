/* tests/fuzz/fuzz_extents.c - any bytes as an ELF file to be packed: the parts lie in it. */
#include "report/elf_extents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_extent *extents;
	uint64_t end = 0;
	size_t n, i;

	if (mt_elf_extents(data, size, &extents, &n))
		return 0;
	for (i = 0; i < n; i++) {
		if ((i && extents[i].offset <= end) || !extents[i].size ||
		    extents[i].offset > size || extents[i].size > size - extents[i].offset)
			abort();
		end = extents[i].offset + extents[i].size;
	}
	free(extents);
	return 0;
}
