/*
 * report/render_text.h - numbers and names as people read them.
 *
 * Pure: the same input gives the same text, whatever the locale. Formatters return buf.
 */
#ifndef MT_RENDER_TEXT_H
#define MT_RENDER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MT_TEXT_MAX 32

struct mt_header;
struct mt_location;
struct mt_moment;
struct mt_profile_totals;

/* Bytes with a unit from B to EiB and one decimal: "999 B", "1.0 KiB", "65.2 MiB". */
const char *mt_text_bytes(uint64_t bytes, char buf[MT_TEXT_MAX]);
/* Digits in groups of three: "12,345,678". */
const char *mt_text_count(uint64_t count, char buf[MT_TEXT_MAX]);
/* part of whole: "65.2 %"; "-" if whole is 0. Never rounded to all or nothing. */
const char *mt_text_share(uint64_t part, uint64_t whole, char buf[MT_TEXT_MAX]);
/* Nanoseconds as "1.234 s", "3 min 12 s", "2 h 5 min". */
const char *mt_text_time(uint64_t ns, char buf[MT_TEXT_MAX]);
/* CLOCK_REALTIME ns as "2025-01-31 12:00:00 UTC". */
const char *mt_text_date(uint64_t realtime, char buf[MT_TEXT_MAX]);
/* "1 stack", "2 stacks": count and noun; the plural ends in s. */
void mt_text_put_plural(uint64_t count, const char *noun, FILE *out);

/* Of a sampled recording: how it was, and of how many allocations; a word before an estimate. */
void mt_text_put_sampling(const struct mt_header *header, const struct mt_profile_totals *totals,
			  FILE *out);
static inline void mt_text_put_estimate(bool sampled, FILE *out)
{
	if (sampled)
		fputs("about ", out);
}

/* Bytes of the control character that the text begins with, 0 if with none. */
size_t mt_text_control(const char *text);
/* Text without what would break a line or drive a terminal: such characters become ?. */
void mt_text_put_clean(const char *text, FILE *out);

/* The command line, and if a process was attached to, which. */
void mt_text_put_command(const char *command, const struct mt_header *header, FILE *out);

/* A mark's name, with #N if it is not the first one of that name. */
void mt_text_put_mark(const struct mt_moment *moment, FILE *out);

/*
 * Function, in at most max bytes (mt_elide), or path+0xoffset where no name is known, or just
 * the address.
 */
void mt_text_put_name(const struct mt_location *location, size_t max, FILE *out);

/* The part after the last slash. */
const char *mt_text_base(const char *path);
/* The part by which the file can be opened from the directory cwd ("": none is known). */
const char *mt_text_path(const char *path, const char *cwd);

/* Escape codes, all "" if colour is off. */
struct mt_style {
	const char *title, *strong, *dim, *bad, *end;
};
extern const struct mt_style mt_style_plain, mt_style_colour;

#endif
