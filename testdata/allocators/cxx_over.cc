/*
 * cxx_over.cc - operator new and delete over an allocator that has none, as programs write them:
 * -DMALLOC=je_malloc -DALIGNED=je_aligned_alloc -DFREE=je_free. The forms that are not here call
 * these, by libstdc++; with -DALL_FORMS they do here, for an allocator that has them too.
 */
#include <cstddef>
#include <new>

extern "C" {
void *MALLOC(std::size_t size);
void *ALIGNED(std::size_t align, std::size_t size);
void FREE(void *p);
}

template <typename Get> static void *get_or_throw(Get get)
{
	for (;;) {
		void *p = get();
		if (p)
			return p;
		std::new_handler handler = std::get_new_handler();
		if (!handler)
			throw std::bad_alloc();
		handler();
	}
}

void *operator new(std::size_t size)
{
	return get_or_throw([=] { return MALLOC(size ? size : 1); });
}

void *operator new(std::size_t size, std::align_val_t align)
{
	const std::size_t a = static_cast<std::size_t>(align);

	return get_or_throw([=] { return ALIGNED(a, (size + a - 1) / a * a); });
}

void operator delete(void *p) noexcept { FREE(p); }
void operator delete(void *p, std::size_t) noexcept { FREE(p); }
void operator delete(void *p, std::align_val_t) noexcept { FREE(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { FREE(p); }

#ifdef ALL_FORMS
template <typename... Args> static void *get_or_null(Args... args)
{
	try {
		return ::operator new(args...);
	} catch (const std::bad_alloc &) {
		return nullptr;
	}
}

void *operator new[](std::size_t size) { return ::operator new(size); }
void *operator new[](std::size_t size, std::align_val_t align)
{
	return ::operator new(size, align);
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return get_or_null(size); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept
{
	return get_or_null(size);
}

void *operator new(std::size_t size, std::align_val_t align, const std::nothrow_t &) noexcept
{
	return get_or_null(size, align);
}
void *operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t &) noexcept
{
	return get_or_null(size, align);
}
#endif
