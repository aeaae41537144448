#include "report/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

void mt_json_init(struct mt_json *json, FILE *out, bool pretty)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
	json->pretty = pretty;
}

int mt_json_finish(struct mt_json *json)
{
	assert(json->depth == 0 && json->level[0].used && !json->after_key);

	putc_unlocked('\n', json->out);
	/* The stream may be used for the next line's object. */
	json->level[0].used = false;
	return ferror(json->out) ? -EIO : 0;
}

static void new_line(struct mt_json *json)
{
	unsigned int i;

	if (!json->pretty)
		return;
	putc_unlocked('\n', json->out);
	for (i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

/* What must stand between the value before and the one that follows. */
static void separate(struct mt_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	assert(!json->level[json->depth].object);
	assert(json->depth || !json->level[0].used);
	if (json->level[json->depth].used)
		putc_unlocked(',', json->out);
	json->level[json->depth].used = true;
	if (json->depth)
		new_line(json);
}

static void begin(struct mt_json *json, bool object)
{
	separate(json);
	assert(json->depth + 1 < MT_JSON_DEPTH_MAX);
	putc_unlocked(object ? '{' : '[', json->out);
	json->depth++;
	json->level[json->depth].object = object;
	json->level[json->depth].used = false;
}

static void end(struct mt_json *json, bool object)
{
	bool used;

	assert(json->depth && json->level[json->depth].object == object && !json->after_key);
	used = json->level[json->depth].used;
	json->depth--;
	if (used)
		new_line(json);
	putc_unlocked(object ? '}' : ']', json->out);
}

void mt_json_object_begin(struct mt_json *json)
{
	begin(json, true);
}

void mt_json_object_end(struct mt_json *json)
{
	end(json, true);
}

void mt_json_array_begin(struct mt_json *json)
{
	begin(json, false);
}

void mt_json_array_end(struct mt_json *json)
{
	end(json, false);
}

/* A byte of a sequence's second half, narrowed for the second by what the first one was. */
static bool continues(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

size_t mt_utf8_sequence(const char *text, size_t n, size_t *ret_skip)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	*ret_skip = 1;
	if (!n)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;

	/* No overlong forms, no surrogates, nothing above U+10FFFF. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;

	for (i = 1; i < len; i++) {
		if (i >= n || !continues(s[i], low, high)) {
			*ret_skip = i;
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

static void put_escaped(FILE *out, unsigned char c)
{
	static const char shorts[] = "btn\0fr";	/* for 8 to 13; vertical tab has none */

	if (c == '"' || c == '\\') {
		putc_unlocked('\\', out);
		putc_unlocked(c, out);
	} else if (c >= 8 && c <= 13 && shorts[c - 8]) {
		putc_unlocked('\\', out);
		putc_unlocked(shorts[c - 8], out);
	} else {
		fprintf(out, "\\u%04x", c);
	}
}

static void put_text(FILE *out, const char *text, size_t n)
{
	size_t plain = 0, len, skip;

	while (plain < n) {
		size_t from = plain;
		unsigned char c = 0;

		/* The longest stretch that needs nothing done. */
		while (plain < n) {
			c = text[plain];
			if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
				break;
			plain++;
		}
		if (plain > from)
			fwrite_unlocked(text + from, 1, plain - from, out);
		if (plain == n)
			break;
		if (c < 0x80) {
			put_escaped(out, c);
			plain++;
			continue;
		}
		len = mt_utf8_sequence(text + plain, n - plain, &skip);
		if (len) {
			fwrite_unlocked(text + plain, 1, len, out);
			plain += len;
		} else {
			fputs("\xef\xbf\xbd", out);
			plain += skip;
		}
	}
}

static void put_quoted(struct mt_json *json, const char *text, size_t n)
{
	putc_unlocked('"', json->out);
	put_text(json->out, text, n);
	putc_unlocked('"', json->out);
}

static void begin_key(struct mt_json *json)
{
	assert(json->depth && json->level[json->depth].object && !json->after_key);
	if (json->level[json->depth].used)
		putc_unlocked(',', json->out);
	json->level[json->depth].used = true;
	new_line(json);
}

static void end_key(struct mt_json *json)
{
	putc_unlocked(':', json->out);
	if (json->pretty)
		putc_unlocked(' ', json->out);
	json->after_key = true;
}

void mt_json_key(struct mt_json *json, const char *key)
{
	begin_key(json);
	put_quoted(json, key, strlen(key));
	end_key(json);
}

void mt_json_key_number(struct mt_json *json, uint64_t key)
{
	begin_key(json);
	fprintf(json->out, "\"%" PRIu64 "\"", key);
	end_key(json);
}

void mt_json_string(struct mt_json *json, const char *text)
{
	if (text)
		mt_json_string_n(json, text, strlen(text));
	else
		mt_json_null(json);
}

void mt_json_string_n(struct mt_json *json, const char *text, size_t n)
{
	separate(json);
	put_quoted(json, text, n);
}

void mt_json_string_joined(struct mt_json *json, const char *head, const char *tail)
{
	separate(json);
	putc_unlocked('"', json->out);
	put_text(json->out, head, strlen(head));
	put_text(json->out, tail, strlen(tail));
	putc_unlocked('"', json->out);
}

void mt_json_u64(struct mt_json *json, uint64_t value)
{
	char digits[20];
	size_t n = sizeof(digits);

	separate(json);
	/* Hundreds of thousands of these go into one file: fprintf would dominate. */
	do {
		digits[--n] = '0' + value % 10;
		value /= 10;
	} while (value);
	fwrite_unlocked(digits + n, 1, sizeof(digits) - n, json->out);
}

void mt_json_i64(struct mt_json *json, int64_t value)
{
	separate(json);
	fprintf(json->out, "%" PRId64, value);
}

void mt_json_bool(struct mt_json *json, bool value)
{
	separate(json);
	fputs(value ? "true" : "false", json->out);
}

void mt_json_null(struct mt_json *json)
{
	separate(json);
	fputs("null", json->out);
}

void mt_json_fixed(struct mt_json *json, uint64_t value, unsigned int decimals)
{
	uint64_t unit = 1;
	unsigned int i;

	assert(decimals <= 18);
	for (i = 0; i < decimals; i++)
		unit *= 10;
	separate(json);
	fprintf(json->out, "%" PRIu64, value / unit);
	if (decimals)
		fprintf(json->out, ".%0*" PRIu64, (int)decimals, value % unit);
}

void mt_json_hex(struct mt_json *json, uint64_t value)
{
	separate(json);
	fprintf(json->out, "\"0x%" PRIx64 "\"", value);
}

void mt_json_bytes(struct mt_json *json, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	separate(json);
	putc_unlocked('"', json->out);
	for (i = 0; i < n; i++) {
		putc_unlocked(digits[bytes[i] >> 4], json->out);
		putc_unlocked(digits[bytes[i] & 15], json->out);
	}
	putc_unlocked('"', json->out);
}

void mt_json_member_string(struct mt_json *json, const char *key, const char *text)
{
	mt_json_key(json, key);
	mt_json_string(json, text);
}

void mt_json_member_u64(struct mt_json *json, const char *key, uint64_t value)
{
	mt_json_key(json, key);
	mt_json_u64(json, value);
}

void mt_json_member_u64_or_null(struct mt_json *json, const char *key, uint64_t value)
{
	mt_json_key(json, key);
	if (value)
		mt_json_u64(json, value);
	else
		mt_json_null(json);
}

void mt_json_member_i64(struct mt_json *json, const char *key, int64_t value)
{
	mt_json_key(json, key);
	mt_json_i64(json, value);
}

void mt_json_member_bool(struct mt_json *json, const char *key, bool value)
{
	mt_json_key(json, key);
	mt_json_bool(json, value);
}
