/*
 * tests/fuzz/fuzz_reader.c - whole artifact files.
 *
 * What the reader delivers must be bounded by the file and its end must be named.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "report/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mt_block *block;
	struct mt_reader *reader = NULL;
	struct mt_reader_end end;
	char path[64];
	int fd;

	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!mt_reader_open(path, &reader)) {
		mt_reader_rewind(reader, ~0u);
		while (mt_reader_next(reader, &block) > 0)
			;
		mt_reader_end(reader, &end);
		if (end.offset > size || end.file_size != size)
			abort();
		if (end.kind == MT_END_COMPLETE && end.offset != size)
			abort();
	}
	mt_reader_free(reader);
	close(fd);
	return 0;
}
