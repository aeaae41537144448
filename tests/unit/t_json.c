/* JSON text: escaping, damaged UTF-8, exact numbers, layout. */
#include "report/json.h"

#include <criterion/criterion.h>
#include <errno.h>

static struct mt_json json;
static FILE *out;
static char *text;
static size_t text_len;

static void start(bool pretty)
{
	out = open_memstream(&text, &text_len);
	cr_assert_not_null(out);
	mt_json_init(&json, out, pretty);
}

static void expect(const char *want)
{
	cr_assert_eq(mt_json_finish(&json), 0);
	fclose(out);
	cr_assert_str_eq(text, want);
	free(text);
}

static void expect_string(const char *in, size_t n, const char *want)
{
	start(false);
	mt_json_string_n(&json, in, n);
	expect(want);
}

Test(json, structure_compact)
{
	start(false);
	mt_json_object_begin(&json);
	mt_json_member_u64(&json, "a", 1);
	mt_json_key(&json, "b");
	mt_json_array_begin(&json);
	mt_json_array_end(&json);
	mt_json_key(&json, "c");
	mt_json_array_begin(&json);
	mt_json_null(&json);
	mt_json_bool(&json, true);
	mt_json_bool(&json, false);
	mt_json_object_begin(&json);
	mt_json_object_end(&json);
	mt_json_array_end(&json);
	mt_json_key_number(&json, 4711);
	mt_json_string(&json, NULL);
	mt_json_object_end(&json);
	expect("{\"a\":1,\"b\":[],\"c\":[null,true,false,{}],\"4711\":null}\n");
}

Test(json, structure_pretty)
{
	start(true);
	mt_json_object_begin(&json);
	mt_json_member_string(&json, "a", "x");
	mt_json_key(&json, "b");
	mt_json_array_begin(&json);
	mt_json_u64(&json, 1);
	mt_json_u64(&json, 2);
	mt_json_array_end(&json);
	mt_json_key(&json, "c");
	mt_json_object_begin(&json);
	mt_json_object_end(&json);
	mt_json_object_end(&json);
	expect("{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}\n");
}

Test(json, one_object_a_line)
{
	int i;

	start(false);
	for (i = 0; i < 2; i++) {
		mt_json_object_begin(&json);
		mt_json_member_i64(&json, "i", i);
		mt_json_object_end(&json);
		if (!i)
			cr_assert_eq(mt_json_finish(&json), 0);
	}
	expect("{\"i\":0}\n{\"i\":1}\n");
}

Test(json, integers_are_exact)
{
	start(false);
	mt_json_array_begin(&json);
	mt_json_u64(&json, 0);
	mt_json_u64(&json, 9007199254740993);	/* not a double */
	mt_json_u64(&json, UINT64_MAX);
	mt_json_i64(&json, INT64_MIN);
	mt_json_i64(&json, INT64_MAX);
	mt_json_hex(&json, 0xdeadbeef);
	mt_json_array_end(&json);
	expect("[0,9007199254740993,18446744073709551615,-9223372036854775808,"
	       "9223372036854775807,\"0xdeadbeef\"]\n");
}

Test(json, fixed_point)
{
	start(false);
	mt_json_array_begin(&json);
	mt_json_fixed(&json, 1234, 2);
	mt_json_fixed(&json, 5, 3);
	mt_json_fixed(&json, 7, 0);
	mt_json_fixed(&json, UINT64_MAX, 18);
	mt_json_array_end(&json);
	expect("[12.34,0.005,7,18.446744073709551615]\n");
}

Test(json, escapes)
{
	expect_string("a\"b\\c/\b\t\n\v\f\r\x1f\x7f", 14,
		      "\"a\\\"b\\\\c/\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\"\n");
	expect_string("\0x", 2, "\"\\u0000x\"\n");
	expect_string("", 0, "\"\"\n");
}

Test(json, keys_are_escaped_too)
{
	start(false);
	mt_json_object_begin(&json);
	mt_json_member_bool(&json, "a\"\xff", true);
	mt_json_object_end(&json);
	expect("{\"a\\\"\xef\xbf\xbd\":true}\n");
}

Test(json, valid_utf8_passes)
{
#define VALID "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf \xef\xbf\xbf \xf4\x8f\xbf\xbf"
	start(false);
	mt_json_array_begin(&json);
	mt_json_string(&json, VALID);
	mt_json_array_end(&json);
	expect("[\"" VALID "\"]\n");
}

#define FFFD "\xef\xbf\xbd"

Test(json, damaged_utf8_is_replaced)
{
	expect_string("\xff", 1, "\"" FFFD "\"\n");
	expect_string("\x80z", 2, "\"" FFFD "z\"\n");
	/* Overlong, surrogate, above the end: each byte on its own. */
	expect_string("\xc0\xaf", 2, "\"" FFFD FFFD "\"\n");
	expect_string("\xe0\x80\x80", 3, "\"" FFFD FFFD FFFD "\"\n");
	expect_string("\xed\xa0\x80", 3, "\"" FFFD FFFD FFFD "\"\n");
	expect_string("\xf4\x90\x80\x80", 4, "\"" FFFD FFFD FFFD FFFD "\"\n");
	/* A cut sequence is one replacement, and what follows survives. */
	expect_string("\xe2\x82z", 3, "\"" FFFD "z\"\n");
	expect_string("\xf0\x9f\x98", 3, "\"" FFFD "\"\n");
	expect_string("\xc3\"", 2, "\"" FFFD "\\\"\"\n");
}

Test(json, joined_and_bytes)
{
	const uint8_t id[] = { 0x00, 0x1f, 0xfe };

	start(false);
	mt_json_array_begin(&json);
	mt_json_string_joined(&json, "a\"", "b");
	mt_json_bytes(&json, id, sizeof(id));
	mt_json_bytes(&json, id, 0);
	mt_json_array_end(&json);
	expect("[\"a\\\"b\",\"001ffe\",\"\"]\n");
}

Test(json, failed_write_is_reported)
{
	out = fopen("/dev/full", "w");
	cr_assert_not_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	mt_json_init(&json, out, false);
	mt_json_string(&json, "x");
	cr_assert_eq(mt_json_finish(&json), -EIO);
	fclose(out);
}
