/*
 * tests/fuzz/fuzz_block.c - the contents of frames: concatenated blocks.
 *
 * Decodes block after block. Each success must make progress and stay within the bytes.
 */
#include "common/artifact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_block block;
	size_t used = 0;

	mt_block_init(&block);
	while (size && !mt_block_decode(&block, data, size, ~0u, &used)) {
		if (!used || used > size)
			abort();
		data += used;
		size -= used;
	}
	mt_block_release(&block);
	return 0;
}
