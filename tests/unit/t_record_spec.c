#include "record/allocator_spec.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "bpf/mt_ring.h"

static struct mt_allocator_specs specs;
static char error[MT_OPTIONS_ERROR_MAX];

static int parse(const char *text)
{
	mt_allocator_specs_release(&specs);
	error[0] = '\0';
	return mt_allocator_specs_parse(&specs, text, error);
}

static void release(void)
{
	mt_allocator_specs_release(&specs);
}

TestSuite(spec, .fini = release);

#define NESTS MT_CALL_NESTS
#define THROWS MT_CALL_RET_SITES

Test(spec, arguments_stand_where_the_standard_function_has_them)
{
	static const struct { const char *text; uint64_t cookie; uint64_t fixed; } want[] = {
		{ "f=malloc(2)", MT_COOKIE(MT_RING_MALLOC, 2, 0, 0, 0, 0), 0 },
		{ "f=calloc(2,3)", MT_COOKIE(MT_RING_CALLOC, 3, 2, 0, 0, 0), 0 },
		{ "f=calloc(2)", MT_COOKIE(MT_RING_CALLOC, 2, 0, 0, 0, 0), 0 },
		{ "f=realloc(2,3)", MT_COOKIE(MT_RING_REALLOC, 3, 0, 2, 0, 0), 0 },
		{ "f=reallocarray(1,2,3)", MT_COOKIE(MT_RING_REALLOC, 3, 2, 1, 0, 0), 0 },
		{ "f=reallocf(1,2)",
		  MT_COOKIE(MT_RING_REALLOC, 2, 0, 1, 0, 0) | MT_CALL_FREES_ALWAYS, 0 },
		{ "f=aligned_alloc(1,2)", MT_COOKIE(MT_RING_ALIGNED, 2, 0, 0, 1, 0), 0 },
		{ "f=memalign(5,6)", MT_COOKIE(MT_RING_ALIGNED, 6, 0, 0, 5, 0), 0 },
		{ "f=posix_memalign(1,2,3)", MT_COOKIE(MT_RING_ALIGNED, 3, 0, 0, 2, 1), 0 },
		{ "f=posix_memalign(1,-,2)", MT_COOKIE(MT_RING_ALIGNED, 2, 0, 0, 0, 1), 0 },
		{ "f=free(2)", MT_COOKIE(MT_RING_FREE, 0, 0, 2, 0, 0) | NESTS, 0 },
		{ "f=malloc(size=2,out=3)", MT_COOKIE(MT_RING_MALLOC, 2, 0, 0, 0, 3), 0 },
		{ "f=malloc(2, count=1, align=4)", MT_COOKIE(MT_RING_MALLOC, 2, 1, 0, 4, 0), 0 },
		{ "f=realloc(size=1,ptr=2)", MT_COOKIE(MT_RING_REALLOC, 1, 0, 2, 0, 0), 0 },
		{ "f=calloc(size=1,2)", MT_COOKIE(MT_RING_CALLOC, 1, 2, 0, 0, 0), 0 },
		{ "f=malloc(#48)", MT_COOKIE(MT_RING_MALLOC, 0, 0, 0, 0, 0), 48 },
		{ "f=malloc(size=#4096,out=1)", MT_COOKIE(MT_RING_MALLOC, 0, 0, 0, 0, 1), 4096 },
		{ " f = malloc ( 2 ) ", MT_COOKIE(MT_RING_MALLOC, 2, 0, 0, 0, 0), 0 },
		{ "f=malloc(2):throws", MT_COOKIE(MT_RING_MALLOC, 2, 0, 0, 0, 0) | THROWS, 0 },
		{ "f=calloc(2):throws ", MT_COOKIE(MT_RING_CALLOC, 2, 0, 0, 0, 0) | THROWS, 0 },
		{ "f=free(2):throws",
		  MT_COOKIE(MT_RING_FREE, 0, 0, 2, 0, 0) | NESTS | THROWS, 0 },
		{ "_ZN4Pool3getEm=malloc(2)",
		  MT_COOKIE(MT_RING_MALLOC, 2, 0, 0, 0, 0) | THROWS, 0 },
		{ "_ZN4Pool3putEPv=free(2)",
		  MT_COOKIE(MT_RING_FREE, 0, 0, 2, 0, 0) | NESTS | THROWS, 0 },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(want); i++) {
		cr_assert_eq(parse(want[i].text), 0, "%s: %s", want[i].text, error);
		cr_assert_eq(specs.n, 1);
		cr_assert_eq(specs.items[0].cookie, want[i].cookie, "%s: %#lx", want[i].text,
			     (unsigned long)specs.items[0].cookie);
		cr_assert_eq(specs.items[0].fixed_size, want[i].fixed, "%s", want[i].text);
	}
}

Test(spec, several_functions_add_up)
{
	cr_assert_eq(parse("pool_alloc=malloc(2) pool_free=free(2)\npool_grow=realloc(2,3)"), 0);
	cr_assert_eq(mt_allocator_specs_parse(&specs, "x.y$1@z=free(1)", error), 0);
	cr_assert_eq(specs.n, 4);
	cr_assert_str_eq(specs.items[0].function, "pool_alloc");
	cr_assert_str_eq(specs.items[2].function, "pool_grow");
	cr_assert_str_eq(specs.items[3].function, "x.y$1@z");
}

Test(spec, mistakes_are_told_with_their_place)
{
	static const struct { const char *text; const char *say; } wrong[] = {
		{ "", "column 1: a function's name is expected" },
		{ "1f=malloc(1)", "column 1: a function's name is expected" },
		{ "f", "column 2: '=' is expected after f" },
		{ "f malloc(1)", "column 3: '=' is expected after f" },
		{ "f=mallok(1)", "column 3: 'mallok' is none of malloc, calloc" },
		{ "f=malloc", "column 9: '(' is expected after malloc" },
		{ "f=malloc()", "column 10: the number of an argument is expected, 1 to 6" },
		{ "f=malloc(0)", "column 10: '0' is no argument; they are numbered 1 to 6" },
		{ "f=malloc(7)", "column 10: '7' is no argument" },
		{ "f=malloc(12)", "column 10: '12' is no argument" },
		{ "f=malloc(1,2)", "column 12: malloc has no further argument" },
		{ "f=malloc(1", "column 11: ',' or ')' is expected" },
		{ "f=malloc(ptr=1)", "column 10: malloc has no ptr" },
		{ "f=malloc(sise=1)", "column 10: 'sise' is none of size, count, ptr, align, out" },
		{ "f=malloc(size=1,size=2)", "column 17: size is told twice" },
		{ "f=malloc(size 1)", "column 15: '=' is expected after size" },
		{ "f=malloc(out=1)", "column 10: malloc: which argument is the size is not told" },
		{ "f=malloc(-)", "column 10: size has to be told" },
		{ "f=realloc(2)", "column 11: realloc: which argument is the size is not told" },
		{ "f=realloc(1,#8)", "column 13: only the size of new blocks can be fixed" },
		{ "f=malloc(#)", "column 11: a size in bytes is expected after '#'" },
		{ "f=malloc(#0)", "column 10: a fixed size is 1 to 4294967296 bytes" },
		{ "f=malloc(#99999999999999999999)",
		  "column 10: a fixed size is 1 to 4294967296 bytes" },
		{ "f=calloc(1,#8)", "column 10: a fixed size and a count do not go together" },
		{ "f=malloc(1)g=free(1)", "column 12: a space is expected between functions" },
		{ "f=malloc(1):", "column 13: 'throws' is all that can stand after ':'" },
		{ "f=malloc(1):throw", "column 13: 'throws' is all that can stand after ':'" },
		{ "f=malloc(1):throws:", "column 19: a space is expected between functions" },
		{ "f=malloc(1) f=free(1)", "column 13: f is told twice" },
		{ "f=malloc(1),g=free(1)", "column 12: a space is expected between functions" },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(wrong); i++) {
		cr_assert_eq(parse(wrong[i].text), -EINVAL, "%s", wrong[i].text);
		cr_assert_eq(strncmp(error, "--allocator: ", 13), 0, "%s", error);
		cr_assert_eq(strncmp(error + 13, wrong[i].say, strlen(wrong[i].say)), 0, "%s: %s",
			     wrong[i].text, error);
		cr_assert_null(strchr(error, '\n'));
	}
}

Test(spec, long_input_has_its_limits)
{
	char text[MT_SPEC_NAME_MAX + 32], many[24 * MT_SPECS_MAX + 64];
	size_t len = 0;
	int i;

	memset(text, 'a', MT_SPEC_NAME_MAX);
	memcpy(text + MT_SPEC_NAME_MAX, "=free(1)", 9);
	cr_assert_eq(parse(text), -EINVAL);
	cr_assert_not_null(strstr(error, "longer than"), "%s", error);
	cr_assert_eq(parse(text + 1), 0, "%s", error);

	for (i = 0; i <= MT_SPECS_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "f%d=free(1) ", i);
	cr_assert_eq(parse(many), -EINVAL);
	cr_assert_not_null(strstr(error, "more than"), "%s", error);
}
