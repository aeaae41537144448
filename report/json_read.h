/*
 * report/json_read.h - JSON text of unknown origin, read in the order in which it stands.
 *
 * The text is the caller's, and is written to: strings are unpacked where they stand. What is not
 * as asked for, or is no JSON, fails the reader for good: everything answers nothing from then on,
 * so that only the end need be checked.
 *
 *	mt_json_in_init(&in, text, n);
 *	if (mt_json_in_object(&in))
 *		while ((key = mt_json_in_member(&in)))
 *			if (!strcmp(key, "size"))
 *				size = mt_json_in_u64(&in);
 *			else
 *				mt_json_in_skip(&in);
 *	whole = mt_json_in_done(&in);
 */
#ifndef MT_JSON_READ_H
#define MT_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_JSON_IN_DEPTH_MAX 64u

struct mt_json_in {
	char *at;
	char *end;
	uint64_t objects;	/* by level: an object, not an array */
	uint64_t begun;		/* by level: it has an element before this one */
	unsigned int depth;
	bool failed;
};

/* text[0..n) is valid until the reader and its strings are not needed any more. */
void mt_json_in_init(struct mt_json_in *in, char *text, size_t n);

/* Go into an object or an array. */
bool mt_json_in_object(struct mt_json_in *in);
bool mt_json_in_array(struct mt_json_in *in);
/* The name of the object's next member; NULL at its end, which is left then, or failed. */
const char *mt_json_in_member(struct mt_json_in *in);
/* Is there another element of the array? Its end is left. */
bool mt_json_in_element(struct mt_json_in *in);

/* A string, with a NUL at its end and nowhere else; NULL: failed. */
const char *mt_json_in_string(struct mt_json_in *in);
/* Digits only, of at most 64 bits; 0: also if failed. */
uint64_t mt_json_in_u64(struct mt_json_in *in);
/* Take null if that is next. */
bool mt_json_in_null(struct mt_json_in *in);
/* Any value. */
void mt_json_in_skip(struct mt_json_in *in);

/* Nothing failed, and nothing but white space is left. */
bool mt_json_in_done(struct mt_json_in *in);

#endif
