/*
 * tests/fuzz/fuzz_unpack.c - ELF files with sections compressed by zstd, and xz streams.
 */
#include "report/elf_unpack.h"
#include "report/xz.h"

#define LIMIT (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;
	size_t n;

	if (!mt_elf_unpack(data, size, LIMIT, &bytes, &n)) {
		if (n < size)
			abort();
		free(bytes);
	}
	if (!mt_xz_unpack(data, size, LIMIT, &bytes, &n)) {
		if (n > LIMIT)
			abort();
		free(bytes);
	}
	return 0;
}
