/*
 * cxx_calls.cc - every form of operator new and delete, with exceptions, and a new_handler that
 * frees memory first and throws then, and one that is left by longjmp. The account leaves out
 * what the C++ runtime takes and gives back for exceptions. -DNO_FAILURE: this operator new ends
 * the program rather than call a handler or throw, so that it is not asked for too much.
 * -DROUNDED: it asks for multiples of the alignment, as libstdc++'s does.
 */
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" {
#include "../workloads/expect.h"
}

struct alignas(64) wide {
	char bytes[192];
};

static NOINLINE void *got(void *p, std::size_t size)
{
	must(p != nullptr, "an allocation failed");
	expect_new(size);
	return p;
}

#ifdef ROUNDED
static std::size_t asked(std::size_t size) { return (size + 127) / 128 * 128; }
#else
static std::size_t asked(std::size_t size) { return size; }
#endif

static NOINLINE void forms(int n)
{
	const std::align_val_t align{128};

	for (int i = 0; i < n; i++) {
		std::size_t s = 1 + i % 900;

		::operator delete(got(::operator new(s), s));
		expect_free(s);
		::operator delete[](got(::operator new[](s), s));
		expect_free(s);
		::operator delete(got(::operator new(s), s), s);
		expect_free(s);
		::operator delete[](got(::operator new[](s), s), s);
		expect_free(s);
		::operator delete(got(::operator new(s, std::nothrow), s), std::nothrow);
		expect_free(s);
		::operator delete[](got(::operator new[](s, std::nothrow), s), std::nothrow);
		expect_free(s);
		::operator delete(got(::operator new(s, align), asked(s)), align);
		expect_free(asked(s));
		::operator delete[](got(::operator new[](s, align), asked(s)), align);
		expect_free(asked(s));
		::operator delete(got(::operator new(s, align), asked(s)), s, align);
		expect_free(asked(s));
		::operator delete[](got(::operator new[](s, align), asked(s)), s, align);
		expect_free(asked(s));
		::operator delete(got(::operator new(s, align, std::nothrow), asked(s)), align,
				  std::nothrow);
		expect_free(asked(s));
		::operator delete[](got(::operator new[](s, align, std::nothrow), asked(s)), align,
				    std::nothrow);
		expect_free(asked(s));
	}
	::operator delete(nullptr);
	wide *w = new wide;
	got(w, sizeof(wide));
	delete w;
	expect_free(sizeof(wide));
}

#ifndef NO_FAILURE
static volatile std::size_t huge = std::size_t(1) << 47;

template <typename Call> static NOINLINE void must_throw(Call call, const char *what)
{
	bool thrown = false;

	try {
		call();
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	must(thrown, what);
}

static NOINLINE void throwing(int n)
{
	const std::align_val_t align{128};

	for (int i = 0; i < n; i++) {
		must_throw([] { ::operator delete(::operator new(huge)); }, "new did not throw");
		must_throw([] { ::operator delete[](::operator new[](huge)); },
			   "new[] did not throw");
		must_throw([=] { ::operator delete(::operator new(huge, align), align); },
			   "aligned new did not throw");
		must(::operator new(huge, std::nothrow) == nullptr, "nothrow new succeeded");
		/* What is allocated right after, from the same depth of stack and below. */
		got(::operator new(11), 11);
	}
}

static int handled;
static void *reserve;

/* Gives back what it had put aside, and takes it again the next time. */
static void handler()
{
	handled++;
	if (reserve) {
		expect_free(5000);
		std::free(reserve);
		reserve = nullptr;
		return;
	}
	throw std::bad_alloc();
}

static NOINLINE void handlers(int n)
{
	for (int i = 0; i < n; i++) {
		reserve = got(std::malloc(5000), 5000);
		std::set_new_handler(handler);
		must_throw([] { ::operator delete(::operator new(huge)); },
			   "new with a handler did not throw");
		std::set_new_handler(nullptr);
		must(reserve == nullptr, "the handler was not called");
		::operator delete(got(::operator new(77), 77));
		expect_free(77);
	}
	must(handled == 2 * n, "the handler was not called twice a time");
}

static std::jmp_buf out;

static void leave()
{
	handled++;
	std::longjmp(out, 1);
}

/* What the thread allocates next is seen as ever. */
static NOINLINE void jumps(int n)
{
	handled = 0;
	for (volatile int i = 0; i < n; i++) {
		std::set_new_handler(leave);
		if (!setjmp(out)) {
			::operator delete(::operator new(huge));
			must(0, "new of too much succeeded");
		}
		std::set_new_handler(nullptr);
		::operator delete(got(::operator new(55), 55));
		expect_free(55);
		got(std::malloc(66), 66);
		got(::operator new(44), 44);
	}
	must(handled == n, "the handler was not called");
}
#endif

extern "C" NOINLINE void work()
{
	forms(101);
#ifndef NO_FAILURE
	throwing(7);
	handlers(5);
	jumps(13);
#endif
}

int main()
{
	work();
	expect_print();
	return 0;
}
