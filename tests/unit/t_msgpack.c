/* Our MessagePack against msgpack-c: what we write it reads, what it writes we read. */
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_read.h"
#include "common/msgpack_write.h"
#include "tests/unit/artifact_fixture.h"

#include <msgpack.h>

/* Each power of two, and its neighbours. */
static size_t odd_values(uint64_t values[200])
{
	unsigned int bit;
	size_t n = 0;

	values[n++] = 0;
	for (bit = 0; bit < 64; bit++) {
		values[n++] = 1ull << bit;
		values[n++] = (1ull << bit) - 1;
		values[n++] = (1ull << bit) + 1;
	}
	values[n++] = UINT64_MAX;
	return n;
}

static msgpack_object parse(msgpack_unpacked *unpacked, const uint8_t *bytes, size_t len)
{
	size_t off = 0;

	cr_assert_eq(msgpack_unpack_next(unpacked, (const char *)bytes, len, &off),
		     MSGPACK_UNPACK_SUCCESS);
	cr_assert_eq(off, len);
	return unpacked->data;
}

/* msgpack-c writes the shortest form too. */
static void check_same(const uint8_t *bytes, size_t len, const msgpack_sbuffer *theirs)
{
	cr_assert_eq(len, theirs->size);
	cr_assert_eq(memcmp(bytes, theirs->data, len), 0);
}

Test(msgpack, integers_are_written_as_msgpack_c_does)
{
	uint64_t values[200];
	size_t i, n = odd_values(values);
	uint8_t bytes[MT_MP_MAX];
	msgpack_sbuffer theirs;
	msgpack_packer packer;

	msgpack_sbuffer_init(&theirs);
	msgpack_packer_init(&packer, &theirs, msgpack_sbuffer_write);
	for (i = 0; i < n; i++) {
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_uint64(&packer, values[i]);
		check_same(bytes, (size_t)(mt_mp_put_uint(bytes, values[i]) - bytes), &theirs);

		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_int64(&packer, (int64_t)values[i]);
		check_same(bytes, (size_t)(mt_mp_put_int(bytes, (int64_t)values[i]) - bytes),
			   &theirs);
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_int64(&packer, -(int64_t)(values[i] >> 1));
		check_same(bytes,
			   (size_t)(mt_mp_put_int(bytes, -(int64_t)(values[i] >> 1)) - bytes),
			   &theirs);
	}
	msgpack_sbuffer_destroy(&theirs);
}

Test(msgpack, containers_are_written_as_msgpack_c_does)
{
	static const uint32_t sizes[] = { 0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536, 100000 };
	uint8_t *bytes = malloc(200000), *content = calloc(1, 100000);
	msgpack_sbuffer theirs;
	msgpack_packer packer;
	size_t i;

	msgpack_sbuffer_init(&theirs);
	msgpack_packer_init(&packer, &theirs, msgpack_sbuffer_write);
	for (i = 0; i < MT_ARRAY_SIZE(sizes); i++) {
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_array(&packer, sizes[i]);
		check_same(bytes, (size_t)(mt_mp_put_array(bytes, sizes[i]) - bytes), &theirs);
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_map(&packer, sizes[i]);
		check_same(bytes, (size_t)(mt_mp_put_map(bytes, sizes[i]) - bytes), &theirs);
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_str(&packer, sizes[i]);
		msgpack_pack_str_body(&packer, content, sizes[i]);
		check_same(bytes, (size_t)(mt_mp_put_str(bytes, content, sizes[i]) - bytes),
			   &theirs);
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_bin(&packer, sizes[i]);
		msgpack_pack_bin_body(&packer, content, sizes[i]);
		check_same(bytes, (size_t)(mt_mp_put_bin(bytes, content, sizes[i]) - bytes),
			   &theirs);
	}
	msgpack_sbuffer_clear(&theirs);
	msgpack_pack_nil(&packer);
	msgpack_pack_true(&packer);
	msgpack_pack_false(&packer);
	check_same(bytes,
		   (size_t)(mt_mp_put_bool(mt_mp_put_bool(mt_mp_put_nil(bytes), true), false) -
			    bytes),
		   &theirs);
	msgpack_sbuffer_destroy(&theirs);
	free(content);
	free(bytes);
}

/* Any width is read, not only the shortest; as a single value and in a run of them. */
Test(msgpack, integers_of_every_width_are_read)
{
	uint64_t values[200], uints[200], ints[200];
	size_t i, n = odd_values(values);
	struct mt_mp_cursor cur;
	msgpack_sbuffer theirs;
	msgpack_packer packer;
	uint64_t u;
	int64_t s;

	msgpack_sbuffer_init(&theirs);
	msgpack_packer_init(&packer, &theirs, msgpack_sbuffer_write);
	for (i = 0; i < n; i++)
		msgpack_pack_fix_uint64(&packer, values[i]);
	cur = (struct mt_mp_cursor){ (uint8_t *)theirs.data, (uint8_t *)theirs.data + theirs.size };
	cr_assert_eq(mt_mp_read_uints(&cur, uints, (uint32_t)n), 0);
	cr_assert_eq(cur.pos, cur.end);
	cr_assert_eq(memcmp(uints, values, n * sizeof(*values)), 0);

	msgpack_sbuffer_clear(&theirs);
	for (i = 0; i < n; i++)
		msgpack_pack_fix_int64(&packer, (int64_t)values[i]);
	cur = (struct mt_mp_cursor){ (uint8_t *)theirs.data, (uint8_t *)theirs.data + theirs.size };
	cr_assert_eq(mt_mp_read_ints(&cur, ints, (uint32_t)n), 0);
	cr_assert_eq(memcmp(ints, values, n * sizeof(*values)), 0);

	for (i = 0; i < 256; i++) {
		msgpack_sbuffer_clear(&theirs);
		msgpack_pack_fix_uint8(&packer, (uint8_t)i);
		msgpack_pack_fix_uint16(&packer, (uint16_t)(i << 8));
		msgpack_pack_fix_uint32(&packer, (uint32_t)i << 24);
		msgpack_pack_fix_int8(&packer, (int8_t)i);
		msgpack_pack_fix_int16(&packer, (int16_t)(i << 8));
		msgpack_pack_fix_int32(&packer, (int32_t)(i << 24));
		cur.pos = (uint8_t *)theirs.data;
		cur.end = cur.pos + theirs.size;
		cr_assert(!mt_mp_read_uint(&cur, &u) && u == i);
		cr_assert(!mt_mp_read_uint(&cur, &u) && u == i << 8);
		cr_assert(!mt_mp_read_uint(&cur, &u) && u == i << 24);
		cr_assert(!mt_mp_read_int(&cur, &s) && s == (int8_t)i);
		cr_assert(!mt_mp_read_int(&cur, &s) && s == (int16_t)(i << 8));
		cr_assert(!mt_mp_read_int(&cur, &s) && s == (int32_t)(i << 24));
		cr_assert_eq(cur.pos, cur.end);
	}
	msgpack_sbuffer_destroy(&theirs);
}

Test(msgpack, signs_are_checked)
{
	static const uint8_t negatives[][10] = {
		{ 0xff }, { 0xe0 }, { 0xd0, 0x80 }, { 0xd1, 0x80, 0 }, { 0xd2, 0x80, 0, 0, 0 },
		{ 0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0 },
	};
	static const uint8_t too_large[] = { 0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	uint8_t room[32];
	struct mt_mp_cursor cur;
	uint64_t values[2], u;
	int64_t s;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(negatives); i++) {
		/* Alone, and with enough behind it for the fast path. */
		cur = (struct mt_mp_cursor){ negatives[i], negatives[i] + sizeof(negatives[i]) };
		cr_assert_eq(mt_mp_read_uint(&cur, &u), -MT_E_CORRUPT);
		memset(room, 0, sizeof(room));
		memcpy(room, negatives[i], sizeof(negatives[i]));
		cur = (struct mt_mp_cursor){ room, room + sizeof(room) };
		cr_assert_eq(mt_mp_read_uints(&cur, values, 2), -MT_E_CORRUPT);
		cur = (struct mt_mp_cursor){ room, room + sizeof(room) };
		cr_assert_eq(mt_mp_read_ints(&cur, values, 2), 0);
		cr_assert_lt((int64_t)values[0], 0);
		cr_assert_eq(values[1], 0);
	}
	cur = (struct mt_mp_cursor){ too_large, too_large + sizeof(too_large) };
	cr_assert_eq(mt_mp_read_int(&cur, &s), -MT_E_CORRUPT);
	cur = (struct mt_mp_cursor){ too_large, too_large + sizeof(too_large) };
	cr_assert_eq(mt_mp_read_ints(&cur, values, 2), -MT_E_CORRUPT);
	cur = (struct mt_mp_cursor){ too_large, too_large + sizeof(too_large) };
	cr_assert_eq(mt_mp_read_uints(&cur, values, 2), 0);
}

static void pack_one_of_each(msgpack_packer *packer)
{
	static const char body[300];

	msgpack_pack_nil(packer);
	msgpack_pack_true(packer);
	msgpack_pack_float(packer, 1.5f);
	msgpack_pack_double(packer, -2.5);
	msgpack_pack_int64(packer, INT64_MIN);
	msgpack_pack_uint32(packer, UINT32_MAX);
	msgpack_pack_str(packer, 300);
	msgpack_pack_str_body(packer, body, 300);
	msgpack_pack_bin(packer, 20);
	msgpack_pack_bin_body(packer, body, 20);
	msgpack_pack_ext(packer, 1, 5);
	msgpack_pack_ext_body(packer, body, 1);
	msgpack_pack_ext(packer, 16, -1);
	msgpack_pack_ext_body(packer, body, 16);
	msgpack_pack_ext(packer, 299, 5);
	msgpack_pack_ext_body(packer, body, 299);
}

Test(msgpack, everything_can_be_skipped)
{
	struct mt_mp_cursor cur;
	msgpack_sbuffer theirs;
	msgpack_packer packer;
	size_t len, i;

	msgpack_sbuffer_init(&theirs);
	msgpack_packer_init(&packer, &theirs, msgpack_sbuffer_write);
	msgpack_pack_array(&packer, 13);
	pack_one_of_each(&packer);
	msgpack_pack_array(&packer, 0);
	msgpack_pack_map(&packer, 2);
	msgpack_pack_int(&packer, 1);
	msgpack_pack_array(&packer, 11);
	pack_one_of_each(&packer);
	msgpack_pack_str(&packer, 0);
	msgpack_pack_map(&packer, 0);

	for (len = 0; len <= theirs.size; len++) {
		cur.pos = (uint8_t *)theirs.data;
		cur.end = cur.pos + len;
		cr_assert_eq(mt_mp_skip(&cur), len < theirs.size ? -MT_E_CORRUPT : 0);
	}
	cr_assert_eq(cur.pos, cur.end);

	/* A million arrays, one in another, cost no stack. */
	msgpack_sbuffer_clear(&theirs);
	for (i = 0; i < 1000000; i++)
		msgpack_pack_array(&packer, 1);
	msgpack_pack_nil(&packer);
	cur.pos = (uint8_t *)theirs.data;
	cur.end = cur.pos + theirs.size;
	cr_assert_eq(mt_mp_skip(&cur), 0);
	cr_assert_eq(cur.pos, cur.end);
	msgpack_sbuffer_destroy(&theirs);
}

Test(msgpack, lengths_beyond_the_end_are_refused)
{
	static const uint8_t cases[][6] = {
		{ 0xdd, 0xff, 0xff, 0xff, 0xff, 0 }, { 0xdf, 0xff, 0xff, 0xff, 0xff, 0 },
		{ 0xdb, 0xff, 0xff, 0xff, 0xff, 0 }, { 0xc6, 0, 0, 0, 2, 0 },
		{ 0x97, 0, 0, 0, 0, 0 }, { 0x84, 0, 0, 0, 0, 0 }, { 0xc1, 0, 0, 0, 0, 0 },
		{ 0xc9, 0, 0, 0, 0, 0xff },
	};
	struct mt_mp_cursor cur;
	const uint8_t *bytes;
	uint32_t n;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(cases); i++) {
		cur = (struct mt_mp_cursor){ cases[i], cases[i] + sizeof(cases[i]) };
		cr_assert_eq(mt_mp_skip(&cur), i == 7 ? 0 : -MT_E_CORRUPT);
		cur = (struct mt_mp_cursor){ cases[i], cases[i] + sizeof(cases[i]) };
		cr_assert_eq(mt_mp_read_array(&cur, &n), -MT_E_CORRUPT);
		cur = (struct mt_mp_cursor){ cases[i], cases[i] + sizeof(cases[i]) };
		cr_assert_eq(mt_mp_read_map(&cur, &n), -MT_E_CORRUPT);
		cur = (struct mt_mp_cursor){ cases[i], cases[i] + sizeof(cases[i]) };
		cr_assert_eq(mt_mp_read_bytes(&cur, &bytes, &n), -MT_E_CORRUPT);
	}
}

static const msgpack_object *value_of(const msgpack_object *map, const char *key)
{
	const msgpack_object_kv *kv = map->via.map.ptr;
	uint32_t i;

	for (i = 0; i < map->via.map.size; i++) {
		if (kv[i].key.via.str.size == strlen(key) &&
		    !memcmp(kv[i].key.via.str.ptr, key, strlen(key)))
			return &kv[i].val;
	}
	return NULL;
}

/* Value i of a column of byte planes; 0 for the planes that are not there. */
static uint64_t element(const msgpack_object *map, const char *key, uint32_t i)
{
	const msgpack_object *array = value_of(map, key), *plane;
	uint64_t value = 0;
	uint32_t k;

	cr_assert(array && array->type == MSGPACK_OBJECT_ARRAY);
	for (k = 0; k < array->via.array.size; k++) {
		plane = &array->via.array.ptr[k];
		cr_assert(plane->type == MSGPACK_OBJECT_BIN && i < plane->via.bin.size);
		value |= (uint64_t)(uint8_t)plane->via.bin.ptr[i] << (8 * k);
	}
	return value;
}

static uint32_t length(const msgpack_object *map, const char *key)
{
	return value_of(map, key) ? value_of(map, key)->via.array.ptr[0].via.bin.size : 0;
}

/* An events block as mt-artifact(5) describes it, seen by msgpack-c. */
Test(msgpack, events_block_read_by_msgpack_c)
{
	const uint32_t n = MT_ARRAY_SIZE(fixture_events);
	const msgpack_object *block, *body;
	msgpack_unpacked unpacked;
	msgpack_object object;
	struct mt_buf buf;

	mt_buf_init(&buf);
	cr_assert_eq(mt_encode_events(&buf, fixture_events, n), 0);
	msgpack_unpacked_init(&unpacked);
	object = parse(&unpacked, buf.data, buf.len);
	cr_assert_eq(object.type, MSGPACK_OBJECT_ARRAY);
	cr_assert_eq(object.via.array.size, 3);
	block = object.via.array.ptr;
	cr_assert_eq(block[0].via.str.size, 6);
	cr_assert_eq(memcmp(block[0].via.str.ptr, "events", 6), 0);
	cr_assert_eq(block[1].via.u64, 1);
	body = &block[2];
	cr_assert_eq(value_of(body, "n")->via.u64, n);
	cr_assert_eq(value_of(body, "base_time")->via.u64, 1000);
	cr_assert_eq(length(body, "type"), n);
	cr_assert_eq(length(body, "time"), n);
	cr_assert_eq(length(body, "thread"), n);
	cr_assert_eq(length(body, "addr"), n);
	cr_assert_eq(length(body, "size"), n - 1);
	cr_assert_eq(length(body, "stack"), n - 2);
	cr_assert_eq(length(body, "old_addr"), 4);
	cr_assert_eq(length(body, "begin"), 4);
	cr_assert_eq(length(body, "align"), 1);
	cr_assert_eq(value_of(body, "type")->via.array.size, 1);
	cr_assert_eq(value_of(body, "addr")->via.array.size, 8);
	cr_assert_eq(value_of(body, "thread")->via.array.size, 4);
	cr_assert_eq(element(body, "type", 2), MT_EV_REALLOC);
	cr_assert_eq(element(body, "time", 0), 0);
	cr_assert_eq(element(body, "time", 1), 199);		/* 100 back */
	cr_assert_eq(element(body, "time", 2), 2200);		/* 1100 on */
	cr_assert_eq(element(body, "addr", 1), 0x10);
	cr_assert_eq(element(body, "old_addr", 0), 0);		/* in place */
	cr_assert_eq(element(body, "old_addr", 1), UINT64_MAX - 1);
	cr_assert_eq(element(body, "old_addr", 2), 0);		/* there was none, and addr is 0 */
	cr_assert_eq(element(body, "begin", 0), 1000);
	cr_assert_eq(element(body, "align", 0), UINT64_MAX);
	msgpack_unpacked_destroy(&unpacked);
	mt_buf_release(&buf);
}

/* Every block of every kind is one object to msgpack-c, keys are unique strings. */
Test(msgpack, all_blocks_read_by_msgpack_c)
{
	const msgpack_object *body;
	msgpack_unpacked unpacked;
	struct mt_buf buf;
	size_t off = 0, blocks = 0;
	uint32_t i;

	mt_buf_init(&buf);
	mt_encode_header(&buf, &fixture_header);
	mt_encode_lifecycle(&buf, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	mt_encode_stacks(&buf, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	mt_encode_events(&buf, fixture_events, 0);
	mt_encode_mappings(&buf, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
	mt_encode_loss(&buf, fixture_loss, MT_ARRAY_SIZE(fixture_loss));
	mt_encode_checkpoint(&buf, &fixture_checkpoint);
	msgpack_unpacked_init(&unpacked);
	while (off < buf.len) {
		cr_assert_eq(msgpack_unpack_next(&unpacked, (char *)buf.data, buf.len, &off),
			     MSGPACK_UNPACK_SUCCESS);
		blocks++;
		cr_assert_eq(unpacked.data.via.array.size, 3);
		body = &unpacked.data.via.array.ptr[2];
		cr_assert_eq(body->type, MSGPACK_OBJECT_MAP);
		for (i = 0; i < body->via.map.size; i++)
			cr_assert_eq(body->via.map.ptr[i].key.type, MSGPACK_OBJECT_STR);
	}
	cr_assert_eq(blocks, 7);
	msgpack_unpacked_destroy(&unpacked);
	mt_buf_release(&buf);
}
