/*
 * tests/fuzz/seeds.c - write the corpora of fuzz_msgpack, fuzz_block and fuzz_reader.
 *
 *	seeds DIR	(testdata/fuzz; its folders msgpack, block and reader must be there)
 */
#include "common/buf.h"
#include "common/msgpack_write.h"
#include "record/writer.h"
#include "tests/unit/artifact_fixture.h"

#include <fcntl.h>
#include <unistd.h>

static const char *dir;

static int create(const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

static void save(const char *name, struct mt_buf *buf)
{
	int fd = create(name);

	if (write(fd, buf->data, buf->len) != (ssize_t)buf->len) {
		perror(name);
		exit(1);
	}
	close(fd);
	mt_buf_reset(buf);
}

static void make_msgpack(struct mt_buf *buf)
{
	uint8_t bytes[1024], *p = bytes;
	unsigned int bit;

	for (bit = 0; bit < 64; bit += 3) {
		p = mt_mp_put_uint(p, 1ull << bit);
		p = mt_mp_put_int(p, -(int64_t)(1ull << (bit / 2)));
	}
	mt_buf_append(buf, bytes, (size_t)(p - bytes));
	save("msgpack/integers", buf);

	p = mt_mp_put_map(bytes, 2);
	p = mt_mp_put_str(p, "key", 3);
	p = mt_mp_put_array(p, 2);
	p = mt_mp_put_nil(p);
	p = mt_mp_put_bool(p, true);
	p = mt_mp_put_str(p, "a key of more than thirty-one bytes", 35);
	p = mt_mp_put_bin(p, bytes, 6);
	mt_buf_append(buf, bytes, (size_t)(p - bytes));
	mt_buf_append(buf, "\xc7\x01\x05x\xca\x3f\x80\0\0\xd4\x01\x02\xdc\0\x01\xc0\xde\0\0", 19);
	save("msgpack/values", buf);
}

static void make_blocks(struct mt_buf *buf)
{
	static const uint32_t kinds[] = { 2, 4, 300 };
	struct mt_header sampled = fixture_header;
	const struct mt_trailer trailer = { .status_known = true, .status = -3,
					    .end_reason = "exited", .n_frames = 3,
					    .frame_kinds = kinds };

	sampled.sample_bytes = 524288;
	sampled.format_version = MT_FORMAT_VERSION_SAMPLED;
	sampled.min_reader_version = MT_FORMAT_VERSION_SAMPLED;
	mt_encode_header(buf, &fixture_header);
	save("block/header", buf);
	mt_encode_header(buf, &sampled);
	save("block/header_sampled", buf);
	mt_encode_lifecycle(buf, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	save("block/lifecycle", buf);
	mt_encode_stacks(buf, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	save("block/stacks", buf);
	mt_encode_events(buf, fixture_events, MT_ARRAY_SIZE(fixture_events));
	save("block/events", buf);
	mt_encode_mappings(buf, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
	save("block/mappings", buf);
	mt_encode_coverage(buf, fixture_coverage, MT_ARRAY_SIZE(fixture_coverage));
	save("block/coverage", buf);
	mt_encode_marks(buf, fixture_marks, MT_ARRAY_SIZE(fixture_marks));
	save("block/marks", buf);
	mt_encode_rewritten(buf, fixture_rewritten, MT_ARRAY_SIZE(fixture_rewritten));
	save("block/rewritten", buf);
	mt_encode_loss(buf, fixture_loss, MT_ARRAY_SIZE(fixture_loss));
	mt_encode_checkpoint(buf, &fixture_checkpoint);
	mt_encode_trailer(buf, &trailer);
	save("block/small", buf);
}

static void make_reader(const char *name, bool finished)
{
	static const struct mt_trailer trailer = { .end_reason = "exited" };
	struct mt_writer *writer;
	int err;

	err = mt_writer_open(create(name), &fixture_header, &writer);
	if (!err) {
		mt_writer_lifecycle(writer, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
		mt_writer_stacks(writer, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
		mt_writer_events(writer, fixture_events, MT_ARRAY_SIZE(fixture_events));
		mt_writer_mappings(writer, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
		err = mt_writer_checkpoint(writer, &fixture_checkpoint);
		if (!err && finished)
			err = mt_writer_finish(writer, &trailer);
		mt_writer_free(writer);
	}
	if (err) {
		fprintf(stderr, "%s: error %d\n", name, err);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct mt_buf buf;

	if (argc != 2) {
		fputs("usage: seeds DIR\n", stderr);
		return 64;
	}
	dir = argv[1];
	mt_buf_init(&buf);
	make_msgpack(&buf);
	make_blocks(&buf);
	make_reader("reader/finished", true);
	make_reader("reader/killed", false);
	mt_buf_release(&buf);
	return 0;
}
