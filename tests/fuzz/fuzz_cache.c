/*
 * tests/fuzz/fuzz_cache.c - a file of the cache: the frame and what stands first in it.
 */
#include "report/cache.h"
#include "report/module_sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mt_module_sources sources;
	struct mt_buf buf;

	if (size < 8 || size > 1 << 20)
		return 0;
	mt_buf_init(&buf);
	if (!mt_cache_unpack(data, size, MT_CACHE_CFI, &sources, sizeof(sources), &buf) &&
	    buf.len > MT_CACHE_ENTRY_MAX)
		abort();
	mt_buf_release(&buf);
	return 0;
}
