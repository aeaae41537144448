#include "report/elide.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Beyond it a name is only cut: names that people wrote are shorter. */
#define NAME_MAX_READ 65536
/* Brackets inside of so many others are left out at once, not level by level. */
#define DEPTH_MAX 16
#define DOTS "..."

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static size_t starts_with(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? 0 : n;
}

/*
 * Bytes at name[at] whose brackets are none: of operator<, operator() and the like, of the
 * arrow, and of (anonymous namespace), which is a name. 0: there are none.
 */
static size_t verbatim(const char *name, size_t at)
{
	static const char *const operators[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">",
	};
	const char *p = name + at;
	size_t word = starts_with(p, "operator"), n, i;

	if (word && (!at || !in_word(p[-1])) && !in_word(p[word])) {
		n = word + (p[word] == ' ');
		for (i = 0; i < sizeof(operators) / sizeof(*operators); i++)
			if (starts_with(p + n, operators[i]))
				return n + strlen(operators[i]);
		return word;
	}
	n = starts_with(p, "(anonymous namespace)");
	return n ? n : starts_with(p, "->");
}

/* The pairs of brackets: close[i] is where the one at i is closed, 0 if never, and its depth. */
struct brackets {
	uint32_t *close, *depth;
	uint32_t *open;		/* those not closed yet */
	uint32_t deepest;
};

/*
 * How many are open up to the one that name[at] closes; 0: none. A parenthesis also ends what
 * is open inside of it: a < there was a comparison. n_round: how many ( are among them.
 */
static uint32_t closes(const struct brackets *b, const char *name, size_t at, uint32_t n_open,
		       uint32_t n_round)
{
	uint32_t i = n_open;

	if (name[at] == '>')
		return i && name[b->open[i - 1]] == '<' ? i : 0;
	if (!n_round)
		return 0;
	while (name[b->open[i - 1]] != '(')
		i--;
	return i;
}

static void find_brackets(struct brackets *b, const char *name, size_t len)
{
	uint32_t n_open = 0, n_round = 0, match;
	size_t i, skip;

	for (i = 0; i < len; i += skip) {
		skip = verbatim(name, i);
		if (skip)
			continue;
		skip = 1;
		if (name[i] == '<' || name[i] == '(')
			b->open[n_open++] = (uint32_t)i;
		n_round += name[i] == '(';
		if (name[i] != '>' && name[i] != ')')
			continue;
		match = closes(b, name, i, n_open, n_round);
		if (!match)
			continue;
		n_round -= name[i] == ')';
		n_open = match - 1;
		b->close[b->open[n_open]] = (uint32_t)i;
	}
	/* Depths only now: what is never closed holds nothing. */
	for (n_open = 0, i = 0; i < len; i++) {
		while (n_open && i > b->close[b->open[n_open - 1]])
			n_open--;
		if (!b->close[i])
			continue;
		b->depth[i] = n_open;
		if (n_open > b->deepest)
			b->deepest = n_open;
		b->open[n_open++] = (uint32_t)i;
	}
}

/* Without what is in < > from depth angle on, and in ( ) from depth round on. */
static size_t leave_out(const struct brackets *b, const char *name, size_t len, uint32_t angle,
			uint32_t round, char *out)
{
	size_t i, n = 0, inside;

	for (i = 0; i < len; i++) {
		out[n++] = name[i];
		inside = b->close[i] ? b->close[i] - i - 1 : 0;
		if (inside <= strlen(DOTS) || b->depth[i] < (name[i] == '<' ? angle : round))
			continue;
		memcpy(out + n, DOTS, strlen(DOTS));
		n += strlen(DOTS);
		i += inside;
	}
	out[n] = '\0';
	return n;
}

/* The name everybody knows std::string by. */
static size_t name_strings(const char *name, char *out)
{
	static const char full[] = "std::__cxx11::basic_string<char, std::char_traits<char>, "
				   "std::allocator<char> >";
	const char *found;
	size_t n = 0;

	while ((found = strstr(name, full))) {
		memcpy(out + n, name, found - name);
		n += found - name;
		memcpy(out + n, "std::string", strlen("std::string"));
		n += strlen("std::string");
		name = found + strlen(full);
		/* "> >" is for two that follow each other. */
		name += starts_with(name, " >") != 0;
	}
	memcpy(out + n, name, strlen(name) + 1);
	return n + strlen(name);
}

/* Never within a character of UTF-8. */
static void cut_middle(char *text, size_t len, size_t max)
{
	size_t head = (max - strlen(DOTS)) / 2, tail = len - (max - strlen(DOTS) - head);

	while (head && (text[head] & 0xc0) == 0x80)
		head--;
	while (tail < len && (text[tail] & 0xc0) == 0x80)
		tail++;
	memcpy(text + head, DOTS, strlen(DOTS));
	memmove(text + head + strlen(DOTS), text + tail, len - tail + 1);
}

/* text is the name, and becomes its shorter form; returns the length. */
static size_t shorten(char *text, size_t len, size_t max, char *scratch)
{
	struct brackets b = { .close = calloc(3 * len, sizeof(*b.close)) };
	uint32_t depth;
	size_t n = len;

	if (!b.close)
		return len;	/* it will be cut */
	b.depth = b.close + len;
	b.open = b.depth + len;
	find_brackets(&b, text, len);
	for (depth = b.deepest < DEPTH_MAX ? b.deepest : DEPTH_MAX; n > max && depth > 0; depth--)
		n = leave_out(&b, text, len, depth, depth, scratch);
	/* A function's parameters tell less than the type it belongs to. */
	if (n > max)
		n = leave_out(&b, text, len, 1, 0, scratch);
	if (n > max)
		n = leave_out(&b, text, len, 0, 0, scratch);
	memcpy(text, scratch, n + 1);
	free(b.close);
	return n;
}

char *mt_elide(const char *name, size_t max)
{
	size_t len = strlen(name);
	char *text, *scratch;

	text = malloc(len + 1);
	scratch = malloc(len + 1);
	if (!text || !scratch) {
		free(text);
		free(scratch);
		return NULL;
	}
	len = name_strings(name, text);
	if (len > max && len <= NAME_MAX_READ)
		len = shorten(text, len, max, scratch);
	if (len > max)
		cut_middle(text, len, max);
	free(scratch);
	return text;
}

/* Where the qualified name begins, after the type that a template function returns. */
static const char *qualified(const char *name)
{
	size_t i = 0, begin = 0, skip, len = strlen(name);
	uint32_t depth = 0;

	for (; i < len; i += skip) {
		skip = verbatim(name, i);
		if (skip && !depth && name[i] == 'o')
			break;
		if (skip)
			continue;
		skip = 1;
		if (name[i] == '(' && !depth && i != starts_with(name, "decltype"))
			break;
		if (name[i] == '<' || name[i] == '(')
			depth++;
		else if ((name[i] == '>' || name[i] == ')') && depth)
			depth--;
		else if (name[i] == ' ' && !depth)
			begin = i + 1;
	}
	return name + begin;
}

static bool is_rust(const char *linkage)
{
	size_t len = strlen(linkage);

	if (starts_with(linkage, "_R"))
		return true;
	/* The hash that ends every name of the older scheme: 17h, sixteen digits, E. */
	return starts_with(linkage, "_ZN") && len > 20 && starts_with(linkage + len - 20, "17h") &&
	       strspn(linkage + len - 17, "0123456789abcdef") == 16;
}

bool mt_is_library_function(const char *function, const char *linkage)
{
	if (linkage && is_rust(linkage)) {
		/* <T as trait>::method and <T>::method belong to where the type is from. */
		function += strspn(function, "<&*");
		return starts_with(function, "alloc::") || starts_with(function, "core::") ||
		       starts_with(function, "std::");
	}
	function = qualified(function);
	return starts_with(function, "std::") || starts_with(function, "__gnu_cxx::");
}
