#include "report/elide.h"

#include <criterion/criterion.h>

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static void expect(const char *name, size_t max, const char *want)
{
	char *got = mt_elide(name, max);

	cr_expect_str_eq(got, want);
	free(got);
}

Test(elide, what_fits_stays)
{
	expect("", 16, "");
	expect("main", 16, "main");
	expect("f(int, long, a)", 16, "f(int, long, a)");
	expect("f<" STRING ">()", 200, "f<std::string>()");
	expect("a<b<" STRING " > >()", 200, "a<b<std::string> >()");
	expect("f<std::__cxx11::basic_string<char>()", 200,
	       "f<std::__cxx11::basic_string<char>()");
}

Test(elide, innermost_brackets_go_first)
{
	static const char name[] = "a::map<int, pair<long, list<unsigned> > >::put(list<long>)";

	expect(name, 57, "a::map<int, pair<long, list<...> > >::put(list<long>)");
	expect(name, 52, "a::map<int, pair<...> >::put(list<...>)");
	expect(name, 38, "a::map<int, pair<...> >::put(...)");
	expect(name, 32, "a::map<...>::put(...)");
	expect(name, 20, "a::map<....:put(...)");
	expect("std::vector<" STRING ">::push_back(" STRING "&&)", 100,
	       "std::vector<std::string>::push_back(std::string&&)");
}

Test(elide, brackets_of_operators_are_none)
{
	expect("std::operator<< <std::char_traits<char> >(std::ostream&)", 40,
	       "std::operator<< <...>(...)");
	expect("bool a::operator< <long long>(b<char const*>, int)", 30,
	       "bool a::operator< <...>(...)");
	expect("ptr<long long>::operator->(unsigned long) const", 40,
	       "ptr<long long>::operator->(...) const");
	expect("fn<long long>::operator()(unsigned long) const", 36,
	       "fn<long long>::operator()(...) const");
	expect("v<long long>::operator>>=(unsigned long, unsigned)", 28,
	       "v<...>::operator>>=(...)");
	expect("my_operator<long long int, long long int>(int)", 30, "my_operator<...>(int)");
	expect("main::{lambda(unsigned long)#1}::operator()(int) const", 50,
	       "main::{lambda(...)#1}::operator()(int) const");
	expect("a::(anonymous namespace)::f(unsigned long, unsigned)", 40,
	       "a::(anonymous namespace)::f(...)");
	expect("a<fn(unsigned long) -> core::Option<long>>::call", 20, "a<...>::call");
}

Test(elide, brackets_that_do_not_match)
{
	expect("f<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<", 16, "f<<<<<...<<<<<<<");
	expect("f>>>>>>>>>>)))))))))))))))))))>", 16, "f>>>>>...))))))>");
	expect("f(a < b, unsigned long)::g(int)", 24, "f(...)::g(int)");
	expect("f<(a > b), unsigned long>::g(int)", 24, "f<...>::g(int)");
	expect("f(unsigned long>, unsigned long", 16, "f(unsi...ed long");
	expect("operatoroperatoroperator", 16, "operat...perator");
	expect("operator<operator<operator<", 16, "operat...erator<");
}

Test(elide, characters_stay_whole)
{
	expect("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 16,
	       "\xc3\xa9\xc3\xa9\xc3\xa9...\xc3\xa9\xc3\xa9\xc3\xa9");
}

/* Every name of up to 7 of these marks, and a long one: no more than max bytes, nothing else. */
Test(elide, any_order_of_marks)
{
	static const char *const marks[] = { "<", ">", "(", ")", "->", "operator", " ", "abcde" };
	char name[128], *got;
	unsigned int i, j, n, code;

	for (i = 0; i < 1u << 21; i += 13) {
		for (j = n = 0, code = i; j < 7; j++, code /= 8)
			n += snprintf(name + n, sizeof(name) - n, "%s", marks[code % 8]);
		got = mt_elide(name, 16);
		cr_assert_leq(strlen(got), 16, "%s", name);
		free(got);
	}
}

Test(elide, a_very_long_name)
{
	size_t len = 3 << 20;
	char *name = malloc(len + 1), *got;

	memset(name, '<', len);
	name[len] = '\0';
	got = mt_elide(name, 60);
	cr_expect_eq(strlen(got), 60);
	free(got);
	name[60000] = '\0';
	got = mt_elide(name, 60);
	cr_expect_eq(strlen(got), 60);
	free(got);
	free(name);
}

Test(elide, who_wrote_a_function)
{
	static const char *const library[] = {
		"std::__new_allocator<a::b>::allocate(unsigned long, void const*)",
		"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&)",
		"bool std::regex_match<a::b>(a::b)", "std::vector<int>::operator std::any<int>()",
		"decltype(auto) std::invoke<a::b>(a::b)",
		"__gnu_cxx::new_allocator<a>::allocate(a)",
	};
	static const char *const own[] = {
		"std::vector<std::string> app::load<int>(int)",
		"std::string operator+(a, a)",
		"malloc",
		"main", "", "stdx::f()", "app::std::f()", "alloc::f()",
		"core::Log::add(int)",
		"void (anonymous namespace)::f<std::string>(std::string)", "std", "f(std::string)",
		"operator new(unsigned long)",
	};
	size_t i;

	for (i = 0; i < sizeof(library) / sizeof(*library); i++)
		cr_expect(mt_is_library_function(library[i], NULL), "%s", library[i]);
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		cr_expect_not(mt_is_library_function(own[i], NULL), "%s", own[i]);
	cr_expect(mt_is_library_function("alloc::raw_vec::finish_grow",
					 "_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE"));
	cr_expect(mt_is_library_function("<alloc::vec::Vec<T> as core::clone::Clone>::clone",
					 "_RNvXs_5alloc"));
	cr_expect_not(mt_is_library_function("<app::T as core::clone::Clone>::clone",
					     "_RNvX3app"));
	cr_expect_not(mt_is_library_function("core::f()", "_ZN4core1fEv"));
}
