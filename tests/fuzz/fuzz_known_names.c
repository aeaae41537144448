/*
 * tests/fuzz/fuzz_known_names.c - names of the cache.
 */
#include "report/known_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_known_names names, again;
	const struct mt_location *location;
	struct mt_buf buf;
	size_t i, k, n = 0;

	if (size > 1 << 20 || mt_known_names_read(data, size, &names))
		return 0;
	for (i = 0; i < names.n; i++) {
		if (mt_known_names_find(&names, names.addresses[i].svma) != &names.addresses[i])
			abort();
		for (k = 0; k < names.addresses[i].n; k++) {
			location = &names.addresses[i].locations[k];
			n += length(location->function) + length(location->linkage) +
			     length(location->file);
		}
	}
	/* What was read can be written, and read again. */
	mt_buf_init(&buf);
	if (!mt_known_names_write(&names, &buf)) {
		if (mt_known_names_read(buf.data, buf.len, &again) || again.n != names.n)
			abort();
		mt_known_names_release(&again);
	}
	mt_buf_release(&buf);
	mt_known_names_release(&names);
	return n > SIZE_MAX / 2;
}
