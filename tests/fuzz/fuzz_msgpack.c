/* The MessagePack cursor on any bytes; runs of integers must read as single ones do. */
#include "common/msgpack_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VALUES_MAX 64

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_runs(const uint8_t *data, size_t size, uint32_t n)
{
	struct mt_mp_cursor run = { data, data + size }, single = run;
	uint64_t values[VALUES_MAX], value;
	int err, single_err = 0;
	int64_t signed_value;
	uint32_t i;

	err = mt_mp_read_uints(&run, values, n);
	for (i = 0; i < n && !single_err; i++) {
		single_err = mt_mp_read_uint(&single, &value);
		check(err || single_err || values[i] == value);
	}
	check(err == single_err && (err || run.pos == single.pos));

	run = (struct mt_mp_cursor){ data, data + size };
	single = run;
	err = mt_mp_read_ints(&run, values, n);
	for (i = 0, single_err = 0; i < n && !single_err; i++) {
		single_err = mt_mp_read_int(&single, &signed_value);
		check(err || single_err || values[i] == (uint64_t)signed_value);
	}
	check(err == single_err && (err || run.pos == single.pos));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mt_mp_cursor start = { data, data + size };
	struct mt_mp_cursor cur = start;
	const uint8_t *bytes, *before;
	uint64_t value;
	int64_t signed_value;
	bool flag;
	uint32_t n, sum = 0;

	for (;;) {	/* value by value, each in every way */
		before = cur.pos;
		cur = (struct mt_mp_cursor){ before, start.end };
		if (!mt_mp_read_array(&cur, &n))
			check(n <= (size_t)(start.end - cur.pos));
		cur = (struct mt_mp_cursor){ before, start.end };
		if (!mt_mp_read_map(&cur, &n))
			check(n <= (size_t)(start.end - cur.pos) / 2);
		cur = (struct mt_mp_cursor){ before, start.end };
		if (!mt_mp_read_bytes(&cur, &bytes, &n)) {
			check(bytes >= data && bytes + n == cur.pos && cur.pos <= start.end);
			while (n)
				sum += bytes[--n];
		}
		cur = (struct mt_mp_cursor){ before, start.end };
		(void)mt_mp_read_uint(&cur, &value);
		cur = (struct mt_mp_cursor){ before, start.end };
		(void)mt_mp_read_int(&cur, &signed_value);
		cur = (struct mt_mp_cursor){ before, start.end };
		(void)mt_mp_read_bool(&cur, &flag);
		cur = (struct mt_mp_cursor){ before, start.end };
		(void)mt_mp_read_nil(&cur);
		for (n = 1; n <= VALUES_MAX; n *= 4)
			check_runs(before, (size_t)(start.end - before), n);

		cur = (struct mt_mp_cursor){ before, start.end };
		if (mt_mp_skip(&cur))
			break;
		check(cur.pos > before && cur.pos <= start.end);
	}
	return sum == UINT32_MAX;
}
