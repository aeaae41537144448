/*
 * throws.cc - a pool whose functions are C's by their names and throw: std::bad_alloc of their
 * own, and what operator new throws through them. It says how many calls gave a block or took
 * one back. -DJUMPS: pool_get ends with a jump to malloc if it has nothing itself.
 */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#define NOINLINE __attribute__((noinline, noclone))

static char arena[1 << 20];
static std::size_t used;
static volatile int locked;

struct guard {
	guard() { locked = locked + 1; }
	NOINLINE ~guard() { locked = locked - 1; }
};

extern "C" {
NOINLINE void *pool_get(std::size_t size)
{
#ifdef JUMPS
	if (size > 100)
		return std::malloc(size);
	used += 128;
	return arena + used - 128;
#else
	guard hold;

	if (size > std::size_t(1) << 40) {
		char *p = new char[size];
		p[0] = 1;
		return p;
	}
	if (size > 1000)
		throw std::bad_alloc();
	used += (size + 15) / 16 * 16;
	return arena + used - (size + 15) / 16 * 16;
#endif
}

NOINLINE void *pool_zero(std::size_t size, std::size_t count)
{
	char *p = static_cast<char *>(pool_get(size * count));

	for (std::size_t i = 0; i < size * count; i++)
		p[i] = 0;
	return p;
}

NOINLINE void pool_put(void *p)
{
	guard hold;

	if (!p)
		throw 1;
}
}

int main()
{
	int events = 0, thrown = 0;

	for (int i = 0; i < 211; i++) {
#ifdef JUMPS
		if (!pool_get(i % 2 ? 50 : 5000))
			return 1;
		events++;
#else
		void *volatile p = nullptr;

		try {
			p = i % 2 ? pool_zero(8, i % 7 ? 5 : 5000) :
				    pool_get(i % 3 ? 24 : 1ul << 46);
			events++;
		} catch (const std::bad_alloc &) {
			thrown++;
		}
		try {
			pool_put(p);
			events++;
		} catch (int) {
			thrown++;
		}
#endif
	}
	std::printf("{\"user\": %d, \"thrown\": %d, \"locked\": %d}\n", events, thrown, locked);
	return 0;
}
