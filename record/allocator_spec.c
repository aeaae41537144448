#include "record/allocator_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

#include "bpf/mt_ring.h"

#define ARGUMENT_MAX 6
#define ROLES_MAX 3
#define FIXED_SIZE_MAX (1ull << 32)

enum role { ROLE_NONE, ROLE_SIZE, ROLE_COUNT, ROLE_PTR, ROLE_ALIGN, ROLE_OUT, ROLES };

static const char *const role_names[ROLES] = {
	[ROLE_SIZE] = "size", [ROLE_COUNT] = "count", [ROLE_PTR] = "ptr",
	[ROLE_ALIGN] = "align", [ROLE_OUT] = "out",
};

/* The standard functions: what their arguments are, in order, and which must be told. */
struct shape {
	const char *name;
	uint8_t kind;
	uint8_t order[ROLES_MAX];
	uint8_t needed;		/* bits of 1 << role */
	uint8_t allowed;
};

#define BIT(role) (1u << ROLE_##role)
#define ALLOCATES (BIT(SIZE) | BIT(COUNT) | BIT(ALIGN) | BIT(OUT))

static const struct shape shapes[] = {
	{ "malloc", MT_RING_MALLOC, { ROLE_SIZE }, BIT(SIZE), ALLOCATES },
	{ "calloc", MT_RING_CALLOC, { ROLE_COUNT, ROLE_SIZE }, BIT(SIZE),
	  BIT(COUNT) | BIT(SIZE) | BIT(OUT) },
	{ "realloc", MT_RING_REALLOC, { ROLE_PTR, ROLE_SIZE }, BIT(PTR) | BIT(SIZE),
	  BIT(PTR) | BIT(SIZE) | BIT(COUNT) },
	{ "reallocarray", MT_RING_REALLOC, { ROLE_PTR, ROLE_COUNT, ROLE_SIZE },
	  BIT(PTR) | BIT(COUNT) | BIT(SIZE), BIT(PTR) | BIT(COUNT) | BIT(SIZE) },
	{ "reallocf", MT_RING_REALLOC, { ROLE_PTR, ROLE_SIZE }, BIT(PTR) | BIT(SIZE),
	  BIT(PTR) | BIT(SIZE) | BIT(COUNT) },
	{ "aligned_alloc", MT_RING_ALIGNED, { ROLE_ALIGN, ROLE_SIZE }, BIT(SIZE), ALLOCATES },
	{ "memalign", MT_RING_ALIGNED, { ROLE_ALIGN, ROLE_SIZE }, BIT(SIZE), ALLOCATES },
	{ "posix_memalign", MT_RING_ALIGNED, { ROLE_OUT, ROLE_ALIGN, ROLE_SIZE },
	  BIT(OUT) | BIT(SIZE), ALLOCATES },
	{ "free", MT_RING_FREE, { ROLE_PTR }, BIT(PTR), BIT(PTR) },
};

struct parser {
	const char *text;
	const char *pos;
	char *error;
};

struct item {
	struct mt_allocator_spec spec;
	const struct shape *shape;
	uint8_t arguments[ROLES];	/* number, 0 = not given */
	uint8_t given;			/* bits of 1 << role */
	bool throws;
};

static int __attribute__((format(printf, 3, 4))) fail(struct parser *p, const char *at,
						      const char *format, ...)
{
	va_list args;
	int n;

	n = snprintf(p->error, MT_OPTIONS_ERROR_MAX, "--allocator: column %td: ", at - p->text + 1);
	va_start(args, format);
	vsnprintf(p->error + n, MT_OPTIONS_ERROR_MAX - (size_t)n, format, args);
	va_end(args);
	return -EINVAL;
}

static void skip_space(struct parser *p)
{
	while (isspace((unsigned char)*p->pos))
		p->pos++;
}

static bool accept(struct parser *p, char c)
{
	skip_space(p);
	if (*p->pos != c)
		return false;
	p->pos++;
	return true;
}

static size_t word_len(const char *pos)
{
	size_t len = 0;

	while (isalnum((unsigned char)pos[len]) || (pos[len] && strchr("_.$@", pos[len])))
		len++;
	return len;
}

static int parse_function(struct parser *p, struct item *item)
{
	size_t len = word_len(p->pos);

	if (!len || isdigit((unsigned char)*p->pos))
		return fail(p, p->pos, "a function's name is expected, "
			    "such as pool_alloc=malloc(2)");
	if (len >= MT_SPEC_NAME_MAX)
		return fail(p, p->pos, "the name is longer than %d characters",
			    MT_SPEC_NAME_MAX - 1);
	memcpy(item->spec.function, p->pos, len);
	item->spec.function[len] = '\0';
	p->pos += len;
	if (!accept(p, '='))
		return fail(p, p->pos, "'=' is expected after %.60s", item->spec.function);
	return 0;
}

static int parse_kind(struct parser *p, struct item *item)
{
	size_t len, i;

	skip_space(p);
	len = word_len(p->pos);
	for (i = 0; i < MT_ARRAY_SIZE(shapes); i++) {
		if (strlen(shapes[i].name) == len && !memcmp(shapes[i].name, p->pos, len)) {
			item->shape = &shapes[i];
			p->pos += len;
			if (!accept(p, '('))
				return fail(p, p->pos, "'(' is expected after %s", shapes[i].name);
			return 0;
		}
	}
	return fail(p, p->pos, "'%.*s' is none of malloc, calloc, realloc, reallocarray, reallocf, "
		    "aligned_alloc, memalign, posix_memalign, free",
		    (int)(len < 40 ? len : 40), p->pos);
}

/* "size=" and so on; without one, the next argument of the standard function that is not told. */
static int parse_role(struct parser *p, struct item *item, enum role *ret_role)
{
	const struct shape *shape = item->shape;
	size_t len = word_len(p->pos);
	unsigned int i;

	if (!len || isdigit((unsigned char)*p->pos)) {
		for (i = 0; i < ROLES_MAX && shape->order[i]; i++) {
			if (!(item->given >> shape->order[i] & 1)) {
				*ret_role = shape->order[i];
				return 0;
			}
		}
		return fail(p, p->pos, "%s has no further argument", shape->name);
	}
	for (i = ROLE_NONE + 1; i < ROLES; i++)
		if (strlen(role_names[i]) == len && !memcmp(role_names[i], p->pos, len))
			break;
	if (i == ROLES)
		return fail(p, p->pos, "'%.*s' is none of size, count, ptr, align, out",
			    (int)(len < 40 ? len : 40), p->pos);
	if (!(shape->allowed >> i & 1))
		return fail(p, p->pos, "%s has no %s", shape->name, role_names[i]);
	if (item->given >> i & 1)
		return fail(p, p->pos, "%s is told twice", role_names[i]);
	p->pos += len;
	if (!accept(p, '='))
		return fail(p, p->pos, "'=' is expected after %s", role_names[i]);
	*ret_role = i;
	return 0;
}

static int parse_fixed(struct parser *p, struct item *item, enum role role)
{
	const char *start = p->pos++;
	uint64_t value = 0;

	if (role != ROLE_SIZE || item->shape->kind == MT_RING_REALLOC)
		return fail(p, start, "only the size of new blocks can be fixed");
	if (!isdigit((unsigned char)*p->pos))
		return fail(p, p->pos, "a size in bytes is expected after '#'");
	for (; isdigit((unsigned char)*p->pos) && value <= FIXED_SIZE_MAX; p->pos++)
		value = value * 10 + (uint64_t)(*p->pos - '0');
	if (!value || value > FIXED_SIZE_MAX)
		return fail(p, start, "a fixed size is 1 to %llu bytes", FIXED_SIZE_MAX);
	item->spec.fixed_size = value;
	return 0;
}

static int parse_argument(struct parser *p, struct item *item)
{
	enum role role = ROLE_NONE;
	const char *start;
	int err;

	skip_space(p);
	err = parse_role(p, item, &role);
	if (err)
		return err;
	skip_space(p);
	item->given |= (uint8_t)(1u << role);
	/* Not known, though the standard function has it. */
	if (*p->pos == '-') {
		if (item->shape->needed >> role & 1)
			return fail(p, p->pos, "%s has to be told", role_names[role]);
		p->pos++;
		return 0;
	}
	if (*p->pos == '#')
		return parse_fixed(p, item, role);
	start = p->pos;
	if (!isdigit((unsigned char)*start))
		return fail(p, start, "the number of an argument is expected, 1 to %d",
			    ARGUMENT_MAX);
	while (isdigit((unsigned char)*p->pos))
		p->pos++;
	if (p->pos - start != 1 || *start == '0' || *start > '0' + ARGUMENT_MAX)
		return fail(p, start, "'%.*s' is no argument; they are numbered 1 to %d",
			    (int)(p->pos - start < 20 ? p->pos - start : 20), start, ARGUMENT_MAX);
	item->arguments[role] = (uint8_t)(*start - '0');
	return 0;
}

/* ":throws", if it is there, and the end. */
static int parse_end(struct parser *p, struct item *item)
{
	static const char throws[] = "throws";
	size_t len;

	if (*p->pos == ':') {
		len = word_len(++p->pos);
		if (len != strlen(throws) || memcmp(p->pos, throws, len))
			return fail(p, p->pos, "'throws' is all that can stand after ':'");
		p->pos += len;
		item->throws = true;
	}
	if (*p->pos && !isspace((unsigned char)*p->pos))
		return fail(p, p->pos, "a space is expected between functions");
	return 0;
}

static int parse_arguments(struct parser *p, struct item *item)
{
	const char *start = p->pos;
	unsigned int i;
	int err;

	/* calloc(2): zeroed memory of one size. */
	if (item->shape->kind == MT_RING_CALLOC && !memchr(start, ',', strcspn(start, ")")))
		item->given |= BIT(COUNT);
	do {
		err = parse_argument(p, item);
		if (err)
			return err;
	} while (accept(p, ','));
	if (!accept(p, ')'))
		return fail(p, p->pos, "',' or ')' is expected");
	for (i = ROLE_NONE + 1; i < ROLES; i++)
		if (item->shape->needed >> i & 1 && !(item->given >> i & 1))
			return fail(p, start, "%s: which argument is the %s is not told",
				    item->shape->name, role_names[i]);
	if (item->spec.fixed_size && item->arguments[ROLE_COUNT])
		return fail(p, start, "a fixed size and a count do not go together");
	return parse_end(p, item);
}

static void finish_item(struct item *item)
{
	const uint8_t *n = item->arguments;
	uint64_t cookie;

	cookie = MT_COOKIE(item->shape->kind, n[ROLE_SIZE], n[ROLE_COUNT], n[ROLE_PTR],
			   n[ROLE_ALIGN], n[ROLE_OUT]);
	if (item->shape->kind == MT_RING_FREE)
		cookie |= MT_CALL_NESTS;
	if (!strcmp(item->shape->name, "reallocf"))
		cookie |= MT_CALL_FREES_ALWAYS;
	/* A C++ function may throw. */
	if (item->throws || !strncmp(item->spec.function, "_Z", 2))
		cookie |= MT_CALL_RET_SITES;
	item->spec.cookie = cookie;
}

static int add(struct parser *p, const char *at, struct mt_allocator_specs *specs,
	       const struct mt_allocator_spec *spec)
{
	struct mt_allocator_spec *items;
	size_t i;

	for (i = 0; i < specs->n; i++)
		if (!strcmp(specs->items[i].function, spec->function))
			return fail(p, at, "%.60s is told twice", spec->function);
	if (specs->n == MT_SPECS_MAX)
		return fail(p, at, "more than %d functions", MT_SPECS_MAX);
	items = reallocarray(specs->items, specs->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	specs->items = items;
	specs->items[specs->n++] = *spec;
	return 0;
}

int mt_allocator_specs_parse(struct mt_allocator_specs *specs, const char *text,
			     char error[MT_OPTIONS_ERROR_MAX])
{
	struct parser p = { text, text, error };
	const char *start;
	int err = 0;

	do {
		struct item item = {};

		skip_space(&p);
		start = p.pos;
		err = parse_function(&p, &item);
		if (!err)
			err = parse_kind(&p, &item);
		if (!err)
			err = parse_arguments(&p, &item);
		if (err)
			return err;
		finish_item(&item);
		err = add(&p, start, specs, &item.spec);
		if (err)
			return err;
		skip_space(&p);
	} while (*p.pos);
	return 0;
}

void mt_allocator_specs_release(struct mt_allocator_specs *specs)
{
	free(specs->items);
	specs->items = NULL;
	specs->n = 0;
}
