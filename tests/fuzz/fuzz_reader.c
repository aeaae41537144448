/*
 * A file of any bytes. Reading it twice must give the same, and end in the same way; reading ahead
 * with threads, too.
 */
#include "common/error.h"
#include "report/reader.h"
#include "report/workers.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t read_all(struct mt_reader *reader, uint32_t wanted, struct mt_reader_end *ret_end)
{
	const struct mt_block *block;
	uint64_t blocks = 0;
	int err;

	mt_reader_rewind(reader, wanted);
	while ((err = mt_reader_next(reader, &block)) == 1) {
		check(wanted >> block->kind & 1);
		blocks++;
	}
	check(!err);
	mt_reader_end(reader, ret_end);
	check(ret_end->offset <= ret_end->file_size);
	return blocks;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mt_workers *workers;
	struct mt_reader_end first, second;
	struct mt_reader *reader;
	const struct mt_block *block;
	uint64_t blocks;
	char path[64];
	int fd, err;

	if (!workers)
		check(!mt_workers_new(3, &workers));
	fd = memfd_create("fuzz_reader", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = mt_reader_open(path, &reader);
	if (!err) {
		check(mt_reader_header(reader)->arch != NULL);
		read_all(reader, MT_KIND_BIT(MT_BLOCK_LIFECYCLE), &first);
		blocks = read_all(reader, ~0u, &first);
		check(blocks >= 1 || first.kind == MT_END_DAMAGED);
		check(read_all(reader, ~0u, &second) == blocks);
		check(first.kind == second.kind && first.offset == second.offset);
		check(first.frames == second.frames);
		mt_reader_free(reader);
		check(!mt_reader_open(path, &reader) && !mt_reader_use(reader, workers));
		check(read_all(reader, ~0u, &second) == blocks);
		check(first.kind == second.kind && first.offset == second.offset);
		check(first.frames == second.frames);
		/* With what is on its way. */
		mt_reader_rewind(reader, ~0u);
		mt_reader_next(reader, &block);
		mt_reader_free(reader);
	} else {
		check(err <= -MT_E_FIRST);
	}
	close(fd);
	return 0;
}
