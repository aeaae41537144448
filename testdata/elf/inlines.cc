// Calls inlined three deep, whose names, files and lines the tests of report/ know.
#include <cstdlib>

namespace {

inline void *innermost(std::size_t n)
{
	return std::malloc(n);			// line 8
}

} // namespace

namespace inl {

template <typename T> struct pool {
	static inline T *make(std::size_t n)
	{
		return static_cast<T *>(innermost(n * sizeof(T)));	// line 18
	}
};

static inline long *middle(std::size_t n)
{
	return pool<long>::make(n + 1);		// line 24
}

__attribute__((noinline)) long *outer(std::size_t n)
{
	long *p = middle(n * 2);		// line 29

	if (p)
		p[0] = n;
	return p;
}

__attribute__((noinline)) static long hidden(long n)
{
	long *p = outer(n);

	return p ? p[0] + n : 0;
}

struct base {
	virtual ~base();
	virtual long run(long n);
};

base::~base()
{
}

long base::run(long n)
{
	auto twice = [](long k) __attribute__((noinline)) { return hidden(k) + hidden(k + 1); };

	return twice(n);
}

} // namespace inl

extern "C" long inlines_entry(long n)
{
	inl::base b;
	inl::base *p = &b;

	asm volatile("" : "+r"(p));
	return p->run(n);
}
