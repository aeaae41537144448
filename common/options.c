#include "common/options.h"

#include "common/suggest.h"

#include <errno.h>
#include <inttypes.h>

int mt_parse_count(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *p;

	if (!*text)
		return -EINVAL;
	for (p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	*ret_value = value;
	return 0;
}

int mt_parse_size(const char *text, uint64_t *ret_value)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text + digits, *at;
	unsigned int shift = 0;
	char number[24];
	uint64_t value;
	int err;

	if (!digits)
		return -EINVAL;
	if (digits >= sizeof(number))
		return -ERANGE;
	if (*unit) {
		at = strchr(units, *unit >= 'a' ? *unit - 'a' + 'A' : *unit);
		if (!at || (unit[1] && strcmp(unit + 1, "iB")))
			return -EINVAL;
		shift = 10 * (unsigned int)(at - units + 1);
	}

	memcpy(number, text, digits);
	number[digits] = '\0';
	err = mt_parse_count(number, &value);
	if (err)
		return err;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_value = value << shift;
	return 0;
}

static bool takes_value(const struct mt_option *option)
{
	return option->kind >= MT_OPTION_STRING;
}

static const struct mt_option *find_long(const struct mt_option *options, const char *name,
					 size_t len)
{
	for (; options->kind != MT_OPTION_END; options++)
		if (options->kind != MT_OPTION_HEADING && !strncmp(options->name, name, len) &&
		    !options->name[len])
			return options;
	return NULL;
}

static const struct mt_option *find_alias(const struct mt_option *options, char alias)
{
	for (; options->kind != MT_OPTION_END; options++)
		if (options->kind != MT_OPTION_HEADING && options->alias == alias)
			return options;
	return NULL;
}

static int fail_unknown(const struct mt_option *options, const char *given, size_t len,
			char *error)
{
	char name[MT_SUGGEST_MAX + 1];
	struct mt_suggest suggest;

	snprintf(name, sizeof(name), "%.*s", (int)(len < MT_SUGGEST_MAX ? len : MT_SUGGEST_MAX),
		 given + strspn(given, "-"));
	name[strcspn(name, "=")] = '\0';
	mt_suggest_init(&suggest, name);
	for (; options->kind != MT_OPTION_END; options++)
		if (options->kind != MT_OPTION_HEADING)
			mt_suggest_offer(&suggest, options->name);

	if (suggest.best)
		snprintf(error, MT_OPTIONS_ERROR_MAX, "unknown option '%.*s'; did you mean --%s?",
			 (int)len, given, suggest.best);
	else
		snprintf(error, MT_OPTIONS_ERROR_MAX, "unknown option '%.*s'", (int)len, given);
	return -EINVAL;
}

static int fail_number(const struct mt_option *option, const char *text, int err, char *error)
{
	bool size = option->kind == MT_OPTION_SIZE;

	if (err == -EINVAL)
		snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s: '%.80s' is not a %s", option->name,
			 text, size ? "size (bytes, or with K, M or G)" : "number");
	else if (option->max)
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--%s: %.80s is out of range (%" PRIu64 " to %" PRIu64 ")", option->name,
			 text, option->min, option->max);
	else
		snprintf(error, MT_OPTIONS_ERROR_MAX,
			 "--%s: %.80s is out of range (at least %" PRIu64 ")", option->name, text,
			 option->min);
	return -EINVAL;
}

static int set_choice(const struct mt_option *option, const char *text, char *error)
{
	size_t len = 0;
	int i, n;

	for (i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], text)) {
			*(int *)option->value = i;
			return 0;
		}
	}

	n = snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s: '%.80s' is none of", option->name, text);
	for (i = 0; option->choices[i] && n > 0; i++) {
		len += (size_t)n;
		if (len >= MT_OPTIONS_ERROR_MAX)
			break;
		n = snprintf(error + len, MT_OPTIONS_ERROR_MAX - len, "%s %s", i ? "," : "",
			     option->choices[i]);
	}
	return -EINVAL;
}

static int add_value(const struct mt_option *option, const char *text, char *error)
{
	struct mt_option_list *list = option->value;

	if (list->n == MT_OPTION_LIST_MAX) {
		snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s is given more than %d times",
			 option->name, MT_OPTION_LIST_MAX);
		return -EINVAL;
	}
	list->values[list->n++] = text;
	return 0;
}

static int set_value(const struct mt_option *option, const char *text, char *error)
{
	uint64_t value;
	int err;

	switch (option->kind) {
	case MT_OPTION_STRING:
	case MT_OPTION_LIST:
		if (!*text) {
			snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s: the value is empty",
				 option->name);
			return -EINVAL;
		}
		if (option->kind == MT_OPTION_LIST)
			return add_value(option, text, error);
		*(const char **)option->value = text;
		return 0;
	case MT_OPTION_CHOICE:
		return set_choice(option, text, error);
	case MT_OPTION_SIZE:
		err = mt_parse_size(text, &value);
		break;
	default:
		err = mt_parse_count(text, &value);
		break;
	}

	if (!err && (value < option->min || (option->max && value > option->max)))
		err = -ERANGE;
	if (err)
		return fail_number(option, text, err, error);
	*(uint64_t *)option->value = value;
	return 0;
}

static void set_flag(const struct mt_option *option)
{
	if (option->kind == MT_OPTION_REPEAT)
		++*(unsigned int *)option->value;
	else
		*(bool *)option->value = true;
}

/* The argument after this one, if it can be a value: `-o -- cmd` forgot one. */
static const char *next_value(int argc, char **argv, int *at)
{
	if (*at + 1 >= argc || !strncmp(argv[*at + 1], "--", 2))
		return NULL;
	return argv[++*at];
}

static int fail_no_value(const struct mt_option *option, char *error)
{
	snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s needs a value: --%s=%s", option->name,
		 option->name, option->arg ? option->arg : "VALUE");
	return -EINVAL;
}

/* value, and where the option has two the argument at hand. */
static int set_values(const struct mt_option *option, const char *value, int argc, char **argv,
		      int *at, char *error)
{
	const char **pair = option->value, *second;

	if (option->kind != MT_OPTION_PAIR)
		return set_value(option, value, error);
	second = next_value(argc, argv, at);
	if (!second || !*value || !*second) {
		snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s needs two values: --%s %s",
			 option->name, option->name, option->arg);
		return -EINVAL;
	}
	pair[0] = value;
	pair[1] = second;
	return 0;
}

static int parse_long(const struct mt_option *options, int argc, char **argv, int *at, char *error)
{
	const char *given = argv[*at], *value;
	size_t len = strcspn(given, "=");
	const struct mt_option *option = find_long(options, given + 2, len - 2);

	if (!option)
		return fail_unknown(options, given, len, error);

	value = given[len] ? given + len + 1 : NULL;
	if (!takes_value(option)) {
		if (value) {
			snprintf(error, MT_OPTIONS_ERROR_MAX, "--%s takes no value", option->name);
			return -EINVAL;
		}
		set_flag(option);
		return 0;
	}
	if (!value)
		value = next_value(argc, argv, at);
	if (!value)
		return fail_no_value(option, error);
	return set_values(option, value, argc, argv, at, error);
}

static int parse_cluster(const struct mt_option *options, int argc, char **argv, int *at,
			 char *error)
{
	const char *given = argv[*at], *p, *value;
	const struct mt_option *option;

	/* -json: a long option with a dash too few is far likelier than this cluster. */
	if (given[2] && find_long(options, given + 1, strcspn(given + 1, "=")))
		return fail_unknown(options, given, strcspn(given, "="), error);

	for (p = given + 1; *p; p++) {
		option = find_alias(options, *p);
		if (!option)
			return fail_unknown(options, given, strlen(given), error);
		if (!takes_value(option)) {
			set_flag(option);
			continue;
		}
		value = p[1] ? p + 1 : next_value(argc, argv, at);
		if (!value)
			return fail_no_value(option, error);
		return set_values(option, value, argc, argv, at, error);
	}
	return 0;
}

int mt_options_parse(const struct mt_option *options, unsigned int flags, int argc, char **argv,
		     char error[MT_OPTIONS_ERROR_MAX])
{
	int i, err, operands = 0;

	for (i = 0; i < argc; i++) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (flags & MT_OPTIONS_STOP)
				break;
			argv[operands++] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (argv[i][1] == '-')
			err = parse_long(options, argc, argv, &i, error);
		else
			err = parse_cluster(options, argc, argv, &i, error);
		if (err)
			return err;
	}
	while (i < argc)
		argv[operands++] = argv[i++];
	return operands;
}
