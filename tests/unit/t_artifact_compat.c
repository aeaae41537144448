/* Blocks that our encoder never writes: newer ones, wrong ones, over-large ones. */
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/msgpack_write.h"
#include "tests/unit/artifact_fixture.h"

static uint8_t bytes[1 << 16], *p;
static struct mt_block block;

static void setup(void)
{
	p = bytes;
	mt_block_init(&block);
}

static void teardown(void)
{
	mt_block_release(&block);
}

TestSuite(compat, .init = setup, .fini = teardown);

static void str(const char *string)
{
	p = mt_mp_put_str(p, string, (uint32_t)strlen(string));
}

static void begin(const char *kind, uint64_t version, uint32_t pairs)
{
	p = bytes;
	p = mt_mp_put_array(p, 3);
	str(kind);
	p = mt_mp_put_uint(p, version);
	p = mt_mp_put_map(p, pairs);
}

static void number(const char *key, uint64_t value)
{
	str(key);
	p = mt_mp_put_uint(p, value);
}

static void column(const char *key, uint32_t n, ...)
{
	va_list args;

	str(key);
	p = mt_mp_put_array(p, n);
	va_start(args, n);
	while (n--)
		p = mt_mp_put_int(p, va_arg(args, int64_t));
	va_end(args);
}

#define I(x) ((int64_t)(x))

/* A column of an events block: one plane, of the bytes of a string. */
static void plane(const char *key, const char *content, uint32_t n)
{
	str(key);
	p = mt_mp_put_array(p, 1);
	p = mt_mp_put_bin(p, content, n);
}

static void planes(const char *key, uint32_t n_planes, uint32_t n)
{
	static const uint8_t zeros[16];

	str(key);
	p = mt_mp_put_array(p, n_planes);
	while (n_planes--)
		p = mt_mp_put_bin(p, zeros, n);
}

static int decode(void)
{
	size_t len = (size_t)(p - bytes), used = 0;
	uint8_t *exact = malloc(len);
	int err;

	memcpy(exact, bytes, len);
	err = mt_block_decode(&block, exact, len, ~0u, &used);
	free(exact);
	if (!err)
		cr_assert_eq(used, len);
	return err;
}

Test(compat, unknown_kind_and_newer_version_are_passed_over)
{
	begin("weather", 1, 1);
	column("rain", 2, I(1), I(-1));
	cr_assert_eq(decode(), 0);
	cr_assert_eq(block.kind, MT_BLOCK_UNKNOWN);

	begin("events", 2, 1);
	str("n");
	str("many");
	cr_assert_eq(decode(), 0);
	cr_assert_eq(block.kind, MT_BLOCK_UNKNOWN);
	cr_assert_eq(block.n, 0);
}

/* Columns in reverse order, unknown ones between, and a type that came later. */
Test(compat, events_of_a_later_writer)
{
	begin("events", 1, 9);
	plane("size", "\012\024", 2);
	column("colour", 1, I(5));
	plane("addr", "\001\003\002", 3);
	planes("thread", 0, 3);		/* all 0 */
	plane("stack", "\007\010", 2);
	plane("time", "\000\012\001", 3);	/* 0, +5, -1 */
	str("type");			/* of two planes: 1, 0x302, 2 */
	p = mt_mp_put_array(p, 2);
	p = mt_mp_put_bin(p, "\001\002\002", 3);
	p = mt_mp_put_bin(p, "\000\003\000", 3);
	number("base_time", 100);
	number("n", 3);
	cr_assert_eq(decode(), 0);
	cr_assert_eq(block.kind, MT_BLOCK_EVENTS);
	cr_assert_eq(block.n, 2);
	cr_assert_eq(block.dropped, 1);
	cr_assert_eq(block.skipped, 2);
	check_event(&block.events[0], &(struct mt_event){
		.type = MT_EV_MALLOC, .time = 100, .begin = 100, .addr = 1, .size = 10,
		.stack = 7 });
	check_event(&block.events[1], &(struct mt_event){
		.type = MT_EV_CALLOC, .time = 104, .begin = 104, .addr = 2, .size = 20,
		.stack = 8 });
}

Test(compat, lifecycle_of_a_later_writer)
{
	begin("lifecycle", 1, 6);
	number("n", 3);
	column("status", 1, I(-5));
	column("time", 3, I(10), I(1), I(1));
	column("phase", 1, I(3));
	column("process", 3, I(4), I(5), I(6));
	column("type", 3, I(UINT32_MAX), I(MT_LC_EXIT), I(MT_LC_TYPES));
	cr_assert_eq(decode(), 0);
	cr_assert_eq(block.n, 1);
	cr_assert_eq(block.dropped, 2);
	cr_assert_eq(block.skipped, 3);
	check_lifecycle(block.lifecycle, &(struct mt_lifecycle){
		.type = MT_LC_EXIT, .time = 11, .process = 5, .status = -5, .name = "",
		.path = "" });
}

Test(compat, keys_of_a_later_writer)
{
	begin("checkpoint", 1, 7);
	number("lost", 6);
	number("max_lag", 5);
	number("max_stamp", 4);
	str("mood");
	p = mt_mp_put_nil(p);
	number("stacks", 3);
	number("events", 2);
	number("time", 1);
	cr_assert_eq(decode(), 0);
	cr_assert_eq(block.skipped, 1);
	cr_assert_eq(block.checkpoint->time, 1);
	cr_assert_eq(block.checkpoint->lost, 6);
}

static void loss_with(int64_t count, uint32_t rows)
{
	begin("loss", 1, 6);
	number("n", rows);
	str("source");
	p = mt_mp_put_array(p, 1);
	str("events");
	str("cause");
	p = mt_mp_put_array(p, 1);
	str("kernel");
	column("count", 1, count);
	column("first", 1, I(0));
	column("last", 1, I(0));
}

Test(compat, wrong_blocks_are_corrupt)
{
	loss_with(1, 1);
	cr_assert_eq(decode(), 0);
	loss_with(-1, 1);	/* negative */
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	loss_with(1, 2);	/* columns shorter than n */
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	loss_with(1, 0);	/* longer */
	cr_assert_eq(decode(), -MT_E_CORRUPT);

	begin("loss", 1, 1);	/* columns missing */
	number("n", 1);
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	begin("loss", 1, 0);	/* n missing */
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	begin("loss", 1, 2);	/* n twice */
	number("n", 0);
	number("n", 0);
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	begin("loss", 1, 3);	/* a column twice */
	number("n", 0);
	column("count", 0);
	column("count", 0);
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	begin("loss", 0, 1);	/* there is no version 0 */
	number("n", 0);
	cr_assert_eq(decode(), -MT_E_CORRUPT);
	p = mt_mp_put_array(bytes, 2);	/* no block */
	str("loss");
	p = mt_mp_put_uint(p, 1);
	cr_assert_eq(decode(), -MT_E_CORRUPT);
}

static int one_event(char type, uint32_t thread_planes, uint32_t stack_planes, uint32_t n_sizes)
{
	begin("events", 1, 8);
	number("n", 1);
	number("base_time", 0);
	plane("type", &type, 1);
	planes("time", 8, 1);
	planes("thread", thread_planes, 1);
	planes("addr", 8, 1);
	planes("size", 8, n_sizes);
	planes("stack", stack_planes, n_sizes);
	return decode();
}

Test(compat, wrong_events_are_corrupt)
{
	cr_assert_eq(one_event(MT_EV_MALLOC, 4, 4, 1), 0);
	cr_assert_eq(block.n, 1);
	cr_assert_eq(one_event(MT_EV_FREE, 4, 4, 0), 0);
	cr_assert_eq(block.n, 1);
	cr_assert_eq(one_event(MT_EV_TYPES, 4, 4, 0), 0);
	cr_assert_eq(block.n, 0);
	cr_assert_eq(one_event(MT_EV_MALLOC, 5, 4, 1), -MT_E_CORRUPT);
	cr_assert_eq(one_event(MT_EV_MALLOC, 4, 5, 1), -MT_E_CORRUPT);
	cr_assert_eq(one_event(MT_EV_MALLOC, 4, 4, 0), -MT_E_CORRUPT);	/* too few */
	cr_assert_eq(one_event(MT_EV_MALLOC, 4, 4, 2), -MT_E_CORRUPT);	/* too many */
	cr_assert_eq(one_event(MT_EV_FREE, 4, 4, 1), -MT_E_CORRUPT);	/* has no size */
	cr_assert_eq(one_event(MT_EV_REALLOC, 4, 4, 1), -MT_E_CORRUPT);	/* no old_addr */
}

Test(compat, strings_are_checked)
{
	static const uint8_t zero[3] = { 'a', 0, 'b' };

	begin("loss", 1, 2);
	number("n", 1);
	str("source");
	p = mt_mp_put_array(p, 1);
	p = mt_mp_put_bin(p, zero, sizeof(zero));
	cr_assert_eq(decode(), -MT_E_CORRUPT);
}

/* Limits are met before memory is taken: none of these counts has its data behind it. */
Test(compat, ceilings)
{
	static const char *const kinds[] = { "events", "lifecycle", "mappings", "loss", "files",
					     "stacks" };
	static const uint32_t limits[] = {
		MT_BLOCK_EVENTS_MAX, MT_BLOCK_ROWS_MAX, MT_BLOCK_ROWS_MAX, MT_BLOCK_ROWS_MAX,
		MT_BLOCK_ROWS_MAX, MT_BLOCK_STACKS_MAX,
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		begin(kinds[i], 1, 2);
		number("n", (uint64_t)limits[i] + 1);
		number("base_time", 0);
		cr_assert_eq(decode(), -MT_E_LIMIT);
		begin(kinds[i], 1, 2);
		number("n", limits[i]);
		number("base_time", 0);
		cr_assert_eq(decode(), -MT_E_CORRUPT);
		begin(kinds[i], 1, 2);
		number("n", UINT64_MAX);
		number("base_time", 0);
		cr_assert_lt(decode(), -MT_E_FIRST);
	}
}

Test(compat, stack_ceilings)
{
	struct mt_stack stack = { .id = 1, .bytes = bytes };
	struct mt_buf buf;
	size_t used;

	mt_buf_init(&buf);
	stack.n_bytes = MT_STACK_BYTES_MAX;
	cr_assert_eq(mt_encode_stacks(&buf, &stack, 1), 0);
	cr_assert_eq(mt_block_decode(&block, buf.data, buf.len, ~0u, &used), 0);
	cr_assert_eq(block.stacks[0].n_bytes, MT_STACK_BYTES_MAX);

	used = buf.len;
	stack.n_bytes = MT_STACK_BYTES_MAX + 1;
	cr_assert_eq(mt_encode_stacks(&buf, &stack, 1), -MT_E_LIMIT);
	stack.n_bytes = 0;
	stack.n_regs = MT_REGS_MAX + 1;
	cr_assert_eq(mt_encode_stacks(&buf, &stack, 1), -MT_E_LIMIT);
	stack.n_regs = 0;
	stack.n_fp = MT_FP_CHAIN_MAX + 1;
	cr_assert_eq(mt_encode_stacks(&buf, &stack, 1), -MT_E_LIMIT);
	cr_assert_eq(buf.len, used);
	mt_buf_release(&buf);
}

/* The same, written by somebody who does not mind. */
Test(compat, stack_ceilings_when_read)
{
	uint32_t i;

	begin("stacks", 1, 2);
	number("n", 1);
	str("fp");
	p = mt_mp_put_array(p, 1);
	p = mt_mp_put_array(p, MT_FP_CHAIN_MAX + 1);
	for (i = 0; i <= MT_FP_CHAIN_MAX; i++)
		p = mt_mp_put_uint(p, i);
	/* The other columns are missing, which is noticed first: all must be there. */
	cr_assert_eq(decode(), -MT_E_CORRUPT);

	begin("stacks", 1, 11);
	number("n", 1);
	column("id", 1, I(1));
	column("process", 1, I(1));
	column("thread", 1, I(1));
	column("time", 1, I(1));
	column("identity", 1, I(1));
	column("flags", 1, I(1));
	column("above", 1, I(1));
	str("regs");
	p = mt_mp_put_array(p, 1);
	p = mt_mp_put_array(p, 0);
	str("bytes");
	p = mt_mp_put_array(p, 1);
	p = mt_mp_put_bin(p, bytes, 0);
	str("fp");
	p = mt_mp_put_array(p, 1);
	p = mt_mp_put_array(p, MT_FP_CHAIN_MAX + 1);
	for (i = 0; i <= MT_FP_CHAIN_MAX; i++)
		p = mt_mp_put_uint(p, i);
	cr_assert_eq(decode(), -MT_E_LIMIT);
}
