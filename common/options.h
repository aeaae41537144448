/*
 * common/options.h - command lines: a table of typed options bound to variables.
 *
 * Long options take their value as `--opt value` or `--opt=value`, aliases as `-o value`
 * or `-ovalue`; flags may be clustered (-qv). `--` ends the options. Options and
 * operands may be mixed unless MT_OPTIONS_STOP is given. Long options are
 * never abbreviated: a script must not change its meaning when an option is added.
 * Nothing here prints or exits, apart from mt_options_help() to the stream it is given.
 */
#ifndef MT_OPTIONS_H
#define MT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MT_OPTIONS_ERROR_MAX 256

enum mt_option_kind {
	MT_OPTION_END,		/* ends the table */
	MT_OPTION_HEADING,	/* help: a title line over what follows */
	MT_OPTION_FLAG,		/* bool *: set to true */
	MT_OPTION_REPEAT,	/* unsigned int *: how often it was given (-vv) */
	MT_OPTION_STRING,	/* const char **: borrowed from argv, never empty */
	MT_OPTION_LIST,		/* struct mt_option_list *: every value given, as above */
	MT_OPTION_PAIR,		/* const char *[2]: this value and the argument after it */
	MT_OPTION_COUNT,	/* uint64_t *: decimal, within min..max */
	MT_OPTION_SIZE,		/* uint64_t *: bytes, also as K, M, G, T or KiB...; min..max */
	MT_OPTION_CHOICE,	/* int *: index into choices */
};

#define MT_OPTION_LIST_MAX 64

struct mt_option_list {
	const char *values[MT_OPTION_LIST_MAX];
	unsigned int n;
};

struct mt_option {
	enum mt_option_kind kind;
	const char *name;	/* without dashes; heading: its text */
	char alias;		/* 0: none */
	void *value;		/* as kind says; keeps its content when the option is absent */
	const char *arg;	/* name of the value in help and errors, e.g. "BYTES" */
	const char *help;	/* NULL: left out of the help */
	uint64_t min, max;	/* count, size: inclusive; max 0 means no upper bound */
	const char *const *choices;	/* NULL-terminated */
};

enum mt_options_flags {
	MT_OPTIONS_STOP = 1,	/* the first operand ends the options: mt-record's command */
};

/*
 * Parse argv[0..argc) (without the program's name). On success the operands are moved
 * to argv[0..n) in their order and n is returned. On failure returns -EINVAL and error
 * holds one line without a newline; variables may have been written.
 */
int mt_options_parse(const struct mt_option *options, unsigned int flags, int argc, char **argv,
		     char error[MT_OPTIONS_ERROR_MAX]);

/* Option lines for --help, indented, wrapped at 80 columns. */
void mt_options_help(const struct mt_option *options, FILE *out);

/* Parsers of values, for those that do not come from a table. 0, -EINVAL or -ERANGE. */
int mt_parse_count(const char *text, uint64_t *ret_value);
int mt_parse_size(const char *text, uint64_t *ret_value);

#endif
