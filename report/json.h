/*
 * report/json.h - JSON text, written as it is made.
 *
 * Deterministic: members stand in the order they are given, integers are exact to 64
 * bits, and no floating point is involved. Text that is not UTF-8 (paths,
 * symbols) has each damaged sequence replaced by U+FFFD, so that what comes out is
 * always valid JSON. Nesting errors are assertions: they are the caller's bugs.
 */
#ifndef MT_JSON_H
#define MT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MT_JSON_DEPTH_MAX 32

struct mt_json {
	FILE *out;
	bool pretty;		/* one member a line, indented by two */
	unsigned int depth;
	bool after_key;
	struct {
		bool object;
		bool used;	/* something was written at this level */
	} level[MT_JSON_DEPTH_MAX];
};

/* Borrows out. Compact, on one line, unless pretty. No allocation, nothing to release. */
void mt_json_init(struct mt_json *json, FILE *out, bool pretty);

/*
 * The value must be whole by now. Adds the newline that ends a text file or a line of
 * several objects. 0, or -EIO if anything could not be written.
 */
int mt_json_finish(struct mt_json *json);

void mt_json_object_begin(struct mt_json *json);
void mt_json_object_end(struct mt_json *json);
void mt_json_array_begin(struct mt_json *json);
void mt_json_array_end(struct mt_json *json);

/* Inside an object: the name of the next value. */
void mt_json_key(struct mt_json *json, const char *key);
/* A name made of a number, like a process id. */
void mt_json_key_number(struct mt_json *json, uint64_t key);

/* NULL is written as null. */
void mt_json_string(struct mt_json *json, const char *text);
void mt_json_string_n(struct mt_json *json, const char *text, size_t n);
/* Two parts as one string. */
void mt_json_string_joined(struct mt_json *json, const char *head, const char *tail);
void mt_json_u64(struct mt_json *json, uint64_t value);
void mt_json_i64(struct mt_json *json, int64_t value);
void mt_json_bool(struct mt_json *json, bool value);
void mt_json_null(struct mt_json *json);
/* value / 10^decimals, exactly: (1234, 2) is 12.34. decimals <= 18. */
void mt_json_fixed(struct mt_json *json, uint64_t value, unsigned int decimals);
/* "0x" and lower-case digits, as a string. */
void mt_json_hex(struct mt_json *json, uint64_t value);
/* Bytes as a string of two lower-case digits each. */
void mt_json_bytes(struct mt_json *json, const uint8_t *bytes, size_t n);

/* Name and value at once. */
void mt_json_member_string(struct mt_json *json, const char *key, const char *text);
void mt_json_member_u64(struct mt_json *json, const char *key, uint64_t value);
/* null if it is 0. */
void mt_json_member_u64_or_null(struct mt_json *json, const char *key, uint64_t value);
void mt_json_member_i64(struct mt_json *json, const char *key, int64_t value);
void mt_json_member_bool(struct mt_json *json, const char *key, bool value);

/*
 * Length of the valid UTF-8 sequence text[0..n) starts with, or 0 if it starts with none;
 * *ret_skip is then how many bytes one replacement character stands for.
 */
size_t mt_utf8_sequence(const char *text, size_t n, size_t *ret_skip);

#endif
