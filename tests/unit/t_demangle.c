/* Demangled names, and names that must not be or that are out to hurt. */
#include "report/demangle.h"

#include <criterion/criterion.h>

static void expect(const char *name, const char *want)
{
	char *text = mt_demangle(name);

	if (want) {
		cr_expect_not_null(text, "%s", name);
		if (text)
			cr_expect_str_eq(text, want, "%s gave %s", name, text);
	} else {
		cr_expect_null(text, "%.80s gave %.80s", name, text ? text : "");
	}
	free(text);
}

Test(demangle, cxx)
{
	expect("_ZN3foo3barEi", "foo::bar(int)");
	expect("_Znwm", "operator new(unsigned long)");
	expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
	       "std::vector<int, std::allocator<int> >::push_back(int const&)");
	expect("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()");
	expect("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
	expect("_ZN3fooD1Ev", "foo::~foo()");
	expect("_ZTV3foo", "vtable for foo");
	expect("_GLOBAL__I_main.cc", "global constructors keyed to main.cc");
}

Test(demangle, cxx_clones)
{
	expect("_ZN3foo3barEi.constprop.0", "foo::bar(int) [clone .constprop.0]");
	expect("_ZN3foo3barEi.part.0.cold", "foo::bar(int) [clone .part.0] [clone .cold]");
}

Test(demangle, rust_legacy_loses_the_hash)
{
	expect("_ZN4core3fmt9Formatter3pad17h1a2b3c4d5e6f7a8bE", "core::fmt::Formatter::pad");
	expect("_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone"
	       "17h0123456789abcdefE", "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
	expect("_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE.llvm.1234567890",
	       "core::ops::function::FnOnce::call_once");
}

Test(demangle, rust_v0)
{
	expect("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	expect("_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo", "<mycrate::Example>::foo");
	expect("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
}

Test(demangle, not_mangled)
{
	expect("", NULL);
	expect("main", NULL);
	expect("_start", NULL);
	expect("_", NULL);
	expect("_Z", NULL);
	expect("_R", NULL);
	expect("__libc_malloc", NULL);
	expect("_ZN3foo3barEi@@V1", NULL);
	expect("_ZN9999999999999999999foo", NULL);
	expect("_ZN3fooE\xff\xff", NULL);
}

/* N pointers to int: deep, linear, and longer than libiberty's own limit on names. */
static char *pointers(size_t n)
{
	char *name = malloc(n + 8);

	cr_assert_not_null(name);
	memcpy(name, "_Z1f", 4);
	memset(name + 4, 'P', n);
	memcpy(name + 4 + n, "i", 2);
	return name;
}

/* f(T<T<...>>) with real nesting moderate and length great: a name as templates make them. */
static char *wide(size_t n)
{
	char *name = malloc(n * 24 + 64), *at = name;
	size_t i;

	cr_assert_not_null(name);
	at = stpcpy(at, "_Z1fI");
	for (i = 0; i < n; i++)
		at += snprintf(at, 24, "10Name%06zu", i);
	stpcpy(at, "EvT_");
	return name;
}

Test(demangle, long_names_are_not_cut)
{
	char *name = wide(500), *text;

	cr_assert_gt(strlen(name), 5000);
	text = mt_demangle(name);
	cr_assert_not_null(text);
	cr_assert_eq(strncmp(text, "void f<Name000000, Name000001, ", 31), 0, "%.60s", text);
	cr_assert_not_null(strstr(text, "Name000499>(Name000000)"));
	free(text);
	free(name);
}

Test(demangle, deep_names_do_not_overflow_the_stack)
{
	char *name = pointers(500), *text = mt_demangle(name);
	size_t n;

	cr_assert_not_null(text);
	cr_assert_eq(strlen(text), strlen("f(int)") + 500);
	free(text);
	free(name);
	for (n = 1000; n <= MT_MANGLED_MAX; n = n * 5 / 4) {
		name = pointers(n);
		text = mt_demangle(name);
		/* Refused or whole. */
		cr_assert(!text || strlen(text) == strlen("f(int)") + n);
		free(text);
		free(name);
	}
	name = pointers(MT_MANGLED_MAX);
	expect(name, NULL);
	free(name);
}

/* f(A<int, int>, A<that, that>, ...): each level doubles what is printed. */
static void doubling(char *name, size_t size, int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = snprintf(name, size, "_Z1f1AIiiE");
	int i;

	for (i = 0; i < levels; i++)
		n += snprintf(name + n, size - n, "S_IS%c_S%c_E", digits[i], digits[i]);
}

Test(demangle, exploding_names_are_given_up, .timeout = 20)
{
	char name[1024];

	doubling(name, sizeof(name), 2);
	expect(name, "f(A<int, int>, A<A<int, int>, A<int, int> >, "
	       "A<A<A<int, int>, A<int, int> >, A<A<int, int>, A<int, int> > >)");
	/* 2^30 times that. */
	doubling(name, sizeof(name), 32);
	expect(name, NULL);
}

/* Every prefix and every one-byte change of a few names. */
Test(demangle, damaged_names)
{
	static const char *const names[] = {
		"_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZZ4mainENKUlvE_clEv",
		"_ZN4core3fmt9Formatter3pad17h1a2b3c4d5e6f7a8bE",
		"_RINvNtC3std3mem8align_ofdE", "_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo",
		"_ZN3foo3barEi.part.0.cold",
	};
	size_t i, k, tried = 0;
	int c;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (k = 0; names[i][k]; k++) {
			char *name = strdup(names[i]);

			name[k] = 0;
			free(mt_demangle(name));
			for (c = 1; c < 256; c++) {
				name[k] = c;
				name[k + 1] = names[i][k + 1];
				free(mt_demangle(name));
				tried++;
			}
			free(name);
		}
	}
	cr_assert_gt(tried, 10000);
}
