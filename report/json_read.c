#include "report/json_read.h"

#define SURROGATE_HIGH 0xd800u
#define SURROGATE_LOW 0xdc00u
#define SURROGATE_END 0xe000u
#define REPLACEMENT 0xfffdu

void mt_json_in_init(struct mt_json_in *in, char *text, size_t n)
{
	*in = (struct mt_json_in){ .at = text, .end = text + n };
}

static void fail(struct mt_json_in *in)
{
	in->failed = true;
	in->at = in->end;
}

/* The next character that is no white space; 0 at the end. */
static char peek(struct mt_json_in *in)
{
	while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' ||
				    *in->at == '\t'))
		in->at++;
	return in->at < in->end ? *in->at : 0;
}

static bool take(struct mt_json_in *in, char c)
{
	if (peek(in) != c || in->at == in->end)
		return false;
	in->at++;
	return true;
}

static bool enter(struct mt_json_in *in, bool object)
{
	uint64_t bit;

	if (in->depth == MT_JSON_IN_DEPTH_MAX || !take(in, object ? '{' : '[')) {
		fail(in);
		return false;
	}
	bit = 1ull << in->depth++;
	in->objects = object ? in->objects | bit : in->objects & ~bit;
	in->begun &= ~bit;
	return true;
}

bool mt_json_in_object(struct mt_json_in *in)
{
	return enter(in, true);
}

bool mt_json_in_array(struct mt_json_in *in)
{
	return enter(in, false);
}

/* To the next element of what is open; at its end, out of it. */
static bool next(struct mt_json_in *in, bool object)
{
	uint64_t bit;

	if (in->failed || !in->depth || (bool)(in->objects >> (in->depth - 1) & 1) != object) {
		fail(in);
		return false;
	}
	bit = 1ull << (in->depth - 1);
	if (take(in, object ? '}' : ']')) {
		in->depth--;
		return false;
	}
	if (in->begun & bit && !take(in, ',')) {
		fail(in);
		return false;
	}
	in->begun |= bit;
	return true;
}

const char *mt_json_in_member(struct mt_json_in *in)
{
	const char *name;

	if (!next(in, true))
		return NULL;
	name = mt_json_in_string(in);
	if (!name || !take(in, ':')) {
		fail(in);
		return NULL;
	}
	return name;
}

bool mt_json_in_element(struct mt_json_in *in)
{
	return next(in, false);
}

/* Four digits at in->at. */
static bool read_hex(struct mt_json_in *in, uint32_t *ret_value)
{
	uint32_t value = 0;
	int i;
	char c;

	if (in->end - in->at < 4)
		return false;
	for (i = 0; i < 4; i++) {
		c = *in->at++;
		value <<= 4;
		if (c >= '0' && c <= '9')
			value |= (uint32_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			value |= (uint32_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	*ret_value = value;
	return true;
}

/* What stands behind \u; two of them can be one character. */
static bool read_code(struct mt_json_in *in, uint32_t *ret_code)
{
	uint32_t code, low;
	char *before;

	if (!read_hex(in, &code) || !code)
		return false;
	if (code >= SURROGATE_HIGH && code < SURROGATE_LOW && in->end - in->at >= 6 &&
	    in->at[0] == '\\' && in->at[1] == 'u') {
		before = in->at;
		in->at += 2;
		if (!read_hex(in, &low))
			return false;
		if (low >= SURROGATE_LOW && low < SURROGATE_END) {
			*ret_code = 0x10000 + ((code - SURROGATE_HIGH) << 10) +
				    (low - SURROGATE_LOW);
			return true;
		}
		in->at = before;
	}
	*ret_code = code >= SURROGATE_HIGH && code < SURROGATE_END ? REPLACEMENT : code;
	return true;
}

/* As UTF-8, which is never longer than the escape it was. */
static char *put_code(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*to++ = (char)(0xe0 | code >> 12);
		} else {
			*to++ = (char)(0xf0 | code >> 18);
			*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (code & 0x3f));
	return to;
}

static char *unescape(struct mt_json_in *in, char *to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t code;
	char c;

	if (in->at == in->end)
		return NULL;
	c = *in->at++;
	if (c == 'u')
		return read_code(in, &code) ? put_code(to, code) : NULL;
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return NULL;
	*to = into[found - from];
	return to + 1;
}

const char *mt_json_in_string(struct mt_json_in *in)
{
	char *text, *to;
	char c;

	if (in->failed || !take(in, '"')) {
		fail(in);
		return NULL;
	}
	text = to = in->at;
	while (in->at < in->end) {
		c = *in->at++;
		if (c == '"') {
			*to = 0;
			return text;
		}
		if ((unsigned char)c < 0x20)
			break;
		if (c != '\\')
			*to++ = c;
		else if (!(to = unescape(in, to)))
			break;
	}
	fail(in);
	return NULL;
}

uint64_t mt_json_in_u64(struct mt_json_in *in)
{
	uint64_t value = 0;
	const char *start;

	peek(in);
	for (start = in->at; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*in->at - '0'), &value)) {
			fail(in);
			return 0;
		}
	if (in->at == start || (in->at < in->end && strchr(".eE", *in->at) && *in->at)) {
		fail(in);
		return 0;
	}
	return value;
}

static bool take_word(struct mt_json_in *in, const char *word)
{
	size_t n = strlen(word);

	peek(in);
	if ((size_t)(in->end - in->at) < n || memcmp(in->at, word, n) != 0)
		return false;
	in->at += n;
	return true;
}

bool mt_json_in_null(struct mt_json_in *in)
{
	return take_word(in, "null");
}

static bool skip_number(struct mt_json_in *in)
{
	const char *start = in->at;

	while (in->at < in->end && *in->at && strchr("+-.0123456789eE", *in->at))
		in->at++;
	return in->at > start;
}

void mt_json_in_skip(struct mt_json_in *in)
{
	switch (peek(in)) {
	case '{':
		/* As deep as the reader goes. */
		if (mt_json_in_object(in))
			while (mt_json_in_member(in))
				mt_json_in_skip(in);
		return;
	case '[':
		if (mt_json_in_array(in))
			while (mt_json_in_element(in))
				mt_json_in_skip(in);
		return;
	case '"':
		mt_json_in_string(in);
		return;
	default:
		if (!take_word(in, "true") && !take_word(in, "false") && !mt_json_in_null(in) &&
		    !skip_number(in))
			fail(in);
	}
}

bool mt_json_in_done(struct mt_json_in *in)
{
	return !peek(in) && in->at == in->end && !in->failed && !in->depth;
}
