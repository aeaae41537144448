/*
 * every_call.c - calls each allocator function it can find a prime number of times, and writes down
 * every call that took effect: what, which block, how much.
 *
 *	every_call TRUTH [now | wait | fork] [LIBRARY]
 *
 * wait: only once there is something to read on standard input. fork: in a child. LIBRARY:
 * opened with dlopen(), before the wait or the fork, called, closed, and again at another place.
 *
 * Functions are found by name with dlsym(), so that one program takes whatever allocator it was
 * linked with or had preloaded. -DSTATIC: by weak references instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define NOINLINE __attribute__((noinline))

/* What the arguments of a function are. */
enum shape {
	MALLOC,			/* size */
	ZALLOC,			/* size; counts as calloc */
	MALLOC_FLAGS,		/* size, flags */
	MALLOC_N,		/* count, size */
	CALLOC,			/* count, size */
	NEW_NOTHROW,		/* size, nothrow */
	ALIGNED,		/* align, size */
	NEW_ALIGNED,		/* size, align */
	NEW_ALIGNED_NOTHROW,	/* size, align, nothrow */
	OUT,			/* &block, align, size */
	PAGE,			/* size */
	REALLOC,		/* block, size */
	REALLOC_FLAGS,		/* block, size, flags */
	REALLOC_N,		/* block, count, size */
	REALLOC_AT,		/* &block, count, size */
	RECALLOC,		/* block, old count, count, size */
	IN_PLACE,		/* block, size, extra, flags */
	STRING,			/* string */
	FREE,			/* block */
	FREE_SIZE,		/* block, size */
	FREE_FLAGS,		/* block, flags */
	FREE_ALIGN,		/* block, align */
	FREE_SIZE_SECOND,	/* block, size, align or flags */
	FREE_ALIGN_SIZE,	/* block, align, size */
	FREE_NOTHROW,		/* block, nothrow */
	FREE_ALIGN_NOTHROW,	/* block, align, nothrow */
};

/* id, name, shape, and whose block it takes or what frees it: the family's malloc and free. */
#define C_FAMILY(X, id, p)                                     \
	X(id##_malloc, p "malloc", MALLOC, p)                  \
	X(id##_calloc, p "calloc", CALLOC, p)                  \
	X(id##_realloc, p "realloc", REALLOC, p)               \
	X(id##_aligned_alloc, p "aligned_alloc", ALIGNED, p)   \
	X(id##_memalign, p "memalign", ALIGNED, p)             \
	X(id##_posix_memalign, p "posix_memalign", OUT, p)     \
	X(id##_valloc, p "valloc", PAGE, p)                    \
	X(id##_pvalloc, p "pvalloc", PAGE, p)                  \
	X(id##_reallocarray, p "reallocarray", REALLOC_N, p)   \
	X(id##_reallocarr, p "reallocarr", REALLOC_AT, p)      \
	X(id##_reallocf, p "reallocf", REALLOC, p)             \
	X(id##_recallocarray, p "recallocarray", RECALLOC, p)  \
	X(id##_mallocx, p "mallocx", MALLOC_FLAGS, p)          \
	X(id##_rallocx, p "rallocx", REALLOC_FLAGS, p)         \
	X(id##_xallocx, p "xallocx", IN_PLACE, p)              \
	X(id##_free, p "free", FREE, p)                        \
	X(id##_cfree, p "cfree", FREE, p)                      \
	X(id##_free_sized, p "free_sized", FREE_SIZE, p)       \
	X(id##_free_aligned_sized, p "free_aligned_sized", FREE_ALIGN_SIZE, p) \
	X(id##_freezero, p "freezero", FREE_SIZE, p)           \
	X(id##_dallocx, p "dallocx", FREE_FLAGS, p)            \
	X(id##_sdallocx, p "sdallocx", FREE_SIZE_SECOND, p)

#define TC_FAMILY(X)                                                                \
	X(tc_new, "tc_new", MALLOC, "tc_")                                          \
	X(tc_new_nothrow, "tc_new_nothrow", NEW_NOTHROW, "tc_")                     \
	X(tc_new_aligned, "tc_new_aligned", NEW_ALIGNED, "tc_")                     \
	X(tc_new_aligned_nothrow, "tc_new_aligned_nothrow", NEW_ALIGNED_NOTHROW, "tc_") \
	X(tc_newarray, "tc_newarray", MALLOC, "tc_")                                \
	X(tc_newarray_nothrow, "tc_newarray_nothrow", NEW_NOTHROW, "tc_")           \
	X(tc_newarray_aligned, "tc_newarray_aligned", NEW_ALIGNED, "tc_")           \
	X(tc_skip, "tc_malloc_skip_new_handler", MALLOC, "tc_")                     \
	X(tc_delete, "tc_delete", FREE, "tc_")                                      \
	X(tc_delete_sized, "tc_delete_sized", FREE_SIZE, "tc_")                     \
	X(tc_delete_nothrow, "tc_delete_nothrow", FREE_NOTHROW, "tc_")              \
	X(tc_delete_aligned, "tc_delete_aligned", FREE_ALIGN, "tc_")                \
	X(tc_delete_sized_aligned, "tc_delete_sized_aligned", FREE_SIZE_SECOND, "tc_") \
	X(tc_deletearray, "tc_deletearray", FREE, "tc_")                            \
	X(tc_deletearray_sized, "tc_deletearray_sized", FREE_SIZE, "tc_")

#define TCI(name) "TCMallocInternal" name
#define TC_INTERNAL(X)                                                \
	X(tci_Malloc, TCI("Malloc"), MALLOC, TCI(""))                 \
	X(tci_Calloc, TCI("Calloc"), CALLOC, TCI(""))                 \
	X(tci_Realloc, TCI("Realloc"), REALLOC, TCI(""))              \
	X(tci_ReallocArray, TCI("ReallocArray"), REALLOC_N, TCI(""))  \
	X(tci_AlignedAlloc, TCI("AlignedAlloc"), ALIGNED, TCI(""))    \
	X(tci_Memalign, TCI("Memalign"), ALIGNED, TCI(""))            \
	X(tci_PosixMemalign, TCI("PosixMemalign"), OUT, TCI(""))      \
	X(tci_Valloc, TCI("Valloc"), PAGE, TCI(""))                   \
	X(tci_Pvalloc, TCI("Pvalloc"), PAGE, TCI(""))                 \
	X(tci_New, TCI("New"), MALLOC, TCI(""))                       \
	X(tci_NewAligned, TCI("NewAligned"), NEW_ALIGNED, TCI(""))    \
	X(tci_NewArray, TCI("NewArray"), MALLOC, TCI(""))             \
	X(tci_NewNothrow, TCI("NewNothrow"), NEW_NOTHROW, TCI(""))    \
	X(tci_Free, TCI("Free"), FREE, TCI(""))                       \
	X(tci_Cfree, TCI("Cfree"), FREE, TCI(""))                     \
	X(tci_FreeSized, TCI("FreeSized"), FREE_SIZE, TCI(""))        \
	X(tci_FreeAlignedSized, TCI("FreeAlignedSized"), FREE_ALIGN_SIZE, TCI("")) \
	X(tci_Sdallocx, TCI("Sdallocx"), FREE_SIZE_SECOND, TCI(""))   \
	X(tci_Delete, TCI("Delete"), FREE, TCI(""))                   \
	X(tci_DeleteSized, TCI("DeleteSized"), FREE_SIZE, TCI(""))    \
	X(tci_DeleteArray, TCI("DeleteArray"), FREE, TCI(""))

#define MI_FAMILY(X)                                                           \
	X(mi_zalloc, "mi_zalloc", ZALLOC, "mi_")                               \
	X(mi_malloc_small, "mi_malloc_small", MALLOC, "mi_")                   \
	X(mi_zalloc_small, "mi_zalloc_small", ZALLOC, "mi_")                   \
	X(mi_mallocn, "mi_mallocn", MALLOC_N, "mi_")                           \
	X(mi_reallocn, "mi_reallocn", REALLOC_N, "mi_")                        \
	X(mi_rezalloc, "mi_rezalloc", REALLOC, "mi_")                          \
	X(mi_recalloc, "mi_recalloc", REALLOC_N, "mi_")                        \
	X(mi_malloc_aligned, "mi_malloc_aligned", NEW_ALIGNED, "mi_")          \
	X(mi_zalloc_aligned, "mi_zalloc_aligned", NEW_ALIGNED, "mi_")          \
	X(mi_strdup, "mi_strdup", STRING, "mi_")                               \
	X(mi_new, "mi_new", MALLOC, "mi_")                                     \
	X(mi_new_n, "mi_new_n", MALLOC_N, "mi_")                               \
	X(mi_new_nothrow, "mi_new_nothrow", MALLOC, "mi_")                     \
	X(mi_new_aligned, "mi_new_aligned", NEW_ALIGNED, "mi_")                \
	X(mi_new_realloc, "mi_new_realloc", REALLOC, "mi_")                    \
	X(mi_free_size, "mi_free_size", FREE_SIZE, "mi_")                      \
	X(mi_free_aligned, "mi_free_aligned", FREE_ALIGN, "mi_")               \
	X(mi_free_size_aligned, "mi_free_size_aligned", FREE_SIZE_SECOND, "mi_")

#define OPERATORS(X)                                                                        \
	X(op_new, "_Znwm", MALLOC, "op")                                                    \
	X(op_new_nothrow, "_ZnwmRKSt9nothrow_t", NEW_NOTHROW, "op")                         \
	X(op_new_aligned, "_ZnwmSt11align_val_t", NEW_ALIGNED, "op")                        \
	X(op_new_both, "_ZnwmSt11align_val_tRKSt9nothrow_t", NEW_ALIGNED_NOTHROW, "op")     \
	X(op_array, "_Znam", MALLOC, "op")                                                  \
	X(op_array_nothrow, "_ZnamRKSt9nothrow_t", NEW_NOTHROW, "op")                       \
	X(op_array_aligned, "_ZnamSt11align_val_t", NEW_ALIGNED, "op")                      \
	X(op_delete, "_ZdlPv", FREE, "op")                                                  \
	X(op_delete_sized, "_ZdlPvm", FREE_SIZE, "op")                                      \
	X(op_delete_nothrow, "_ZdlPvRKSt9nothrow_t", FREE_NOTHROW, "op")                    \
	X(op_delete_aligned, "_ZdlPvSt11align_val_t", FREE_ALIGN, "op")                     \
	X(op_delete_sized_aligned, "_ZdlPvmSt11align_val_t", FREE_SIZE_SECOND, "op")        \
	X(op_delete_array, "_ZdaPv", FREE, "op")                                            \
	X(op_delete_array_sized, "_ZdaPvm", FREE_SIZE, "op")                                \
	X(op_delete_array_both, "_ZdaPvSt11align_val_tRKSt9nothrow_t", FREE_ALIGN_NOTHROW, "op")

#define ALL(X)                        \
	C_FAMILY(X, c, "")            \
	C_FAMILY(X, je, "je_")        \
	C_FAMILY(X, rjem, "_rjem_")   \
	C_FAMILY(X, tc, "tc_")        \
	C_FAMILY(X, mi, "mi_")        \
	TC_FAMILY(X)                  \
	TC_INTERNAL(X)                \
	MI_FAMILY(X)                  \
	OPERATORS(X)

#ifdef STATIC
#define DECLARE(id, name, shape, family) \
	extern void weak_##id(void) __asm__(name) __attribute__((weak));
ALL(DECLARE)
#define ADDRESS(id) (void *)weak_##id
#else
#define ADDRESS(id) NULL
#endif

union function {
	void *address;
	void *(*p_n)(size_t);
	void *(*p_nn)(size_t, size_t);
	void *(*p_nnp)(size_t, size_t, const void *);
	void *(*p_nf)(size_t, int);
	void *(*p_np)(size_t, const void *);
	int (*i_pnn)(void *, size_t, size_t);
	void *(*p_pn)(void *, size_t);
	void *(*p_pnf)(void *, size_t, int);
	void *(*p_pnn)(void *, size_t, size_t);
	void *(*p_pnnn)(void *, size_t, size_t, size_t);
	size_t (*n_pnnf)(void *, size_t, size_t, int);
	void *(*p_s)(const char *);
	void (*v_p)(void *);
	void (*v_pn)(void *, size_t);
	void (*v_pf)(void *, int);
	void (*v_pnn)(void *, size_t, size_t);
	void (*v_pp)(void *, const void *);
	void (*v_pnp)(void *, size_t, const void *);
};

static struct member {
	const char *name;
	enum shape shape;
	const char *family;
	union function f;
} members[] = {
#define MEMBER(id, name, shape, family) { name, shape, family, { ADDRESS(id) } },
	ALL(MEMBER)
};

#define N_MEMBERS (sizeof(members) / sizeof(*members))

static const char nothrow;
static volatile size_t huge = (size_t)1 << 62;

static struct event {
	const char *type;
	const char *member;
	uint64_t addr;
	uint64_t size;
	uint64_t align;
	uint64_t old;
} events[65536];
static unsigned int n_events;
static char said[16384];	/* for the end: writing can allocate */
static size_t said_size;

static void fail(const char *what, const char *name)
{
	dprintf(2, "every_call: %s: %s\n", name, what);
	_exit(99);
}

static void note(const struct member *m, const char *type, const void *p, size_t size, size_t align,
		 uintptr_t old)
{
	if (n_events == sizeof(events) / sizeof(*events))
		fail("too many calls", m->name);
	events[n_events++] = (struct event){ type, m->name, (uintptr_t)p, size, align, old };
}

static NOINLINE void release(const struct member *m, void *p, size_t size, size_t align)
{
	switch (m->shape) {
	case FREE: m->f.v_p(p); break;
	case FREE_SIZE: m->f.v_pn(p, size); break;
	case FREE_FLAGS: m->f.v_pf(p, 0); break;
	case FREE_ALIGN: m->f.v_pn(p, align); break;
	case FREE_SIZE_SECOND: m->f.v_pnn(p, size, strstr(m->name, "allocx") ? 0 : align); break;
	case FREE_ALIGN_SIZE: m->f.v_pnn(p, align, size); break;
	case FREE_NOTHROW: m->f.v_pp(p, &nothrow); break;
	case FREE_ALIGN_NOTHROW: m->f.v_pnp(p, align, &nothrow); break;
	default: fail("does not free", m->name);
	}
	note(m, "free", p, 0, 0, 0);
}

static NOINLINE void *allocate(const struct member *m, size_t size, size_t align)
{
	void *p = NULL;

	switch (m->shape) {
	case MALLOC: return m->f.p_n(size);
	case ZALLOC: return m->f.p_n(size);
	case MALLOC_FLAGS: return m->f.p_nf(size, 0);
	case MALLOC_N:
	case CALLOC: return m->f.p_nn(size / 8, 8);
	case NEW_NOTHROW: return m->f.p_np(size, &nothrow);
	case ALIGNED: return m->f.p_nn(align, size);
	case NEW_ALIGNED: return m->f.p_nn(size, align);
	case NEW_ALIGNED_NOTHROW: return m->f.p_nnp(size, align, &nothrow);
	case OUT: return m->f.i_pnn(&p, align, size) ? NULL : p;
	case PAGE: return m->f.p_n(size);
	default: fail("does not allocate", m->name);
	}
	return NULL;
}

static const char *type_of(enum shape shape)
{
	switch (shape) {
	case CALLOC:
	case ZALLOC: return "calloc";
	case ALIGNED:
	case NEW_ALIGNED:
	case NEW_ALIGNED_NOTHROW:
	case OUT:
	case PAGE: return "aligned";
	default: return "malloc";
	}
}

static int throws(const struct member *m)
{
	/* So do those of libstdc++ that are not to, to catch it themselves. */
	return !strncmp(m->name, "_Zn", 3) ||
	       (m->shape != NEW_NOTHROW && m->shape != NEW_ALIGNED_NOTHROW &&
		(strstr(m->name, "new") || strstr(m->name, "New")) && !strstr(m->name, "skip"));
}

static NOINLINE void *reallocate(const struct member *m, void *p, size_t size)
{
	switch (m->shape) {
	case REALLOC: return m->f.p_pn(p, size);
	case REALLOC_FLAGS: return m->f.p_pnf(p, size, 0);
	case REALLOC_N: return m->f.p_pnn(p, size / 8, 8);
	case RECALLOC: return m->f.p_pnnn(p, 1, size / 8, 8);
	case REALLOC_AT: return m->f.i_pnn(&p, size / 8, 8) ? NULL : p;
	case IN_PLACE: return m->f.n_pnnf(p, size, 0, 0) >= size ? p : NULL;
	default: fail("does not reallocate", m->name);
	}
	return NULL;
}

static const struct member *find(const char *family, const char *name)
{
	char full[64];
	size_t i;

	snprintf(full, sizeof(full), "%s%s", family, name);
	if (!strcmp(family, "op"))
		snprintf(full, sizeof(full), "%s", strcmp(name, "malloc") ? "_ZdlPv" : "_Znwm");
	for (i = 0; i < N_MEMBERS; i++)
		if (!strcmp(members[i].name, full) && members[i].f.address)
			return &members[i];
	return NULL;
}

/* A call that must fail, which is no event: but frees what reallocf was given. */
static void try_huge(const struct member *m, void *p)
{
	if (throws(m) || m->shape == RECALLOC || m->shape == IN_PLACE || strstr(m->name, "_small"))
		return;
	if (m->shape >= REALLOC ? reallocate(m, p, huge) != NULL : allocate(m, huge, 64) != NULL)
		fail("a call for too much succeeded", m->name);
	if (strstr(m->name, "reallocf"))
		note(m, "free", p, 0, 0, 0);
}

static NOINLINE void use_allocation(const struct member *m, const struct member *release_with,
				    int n)
{
	size_t size, align;
	void *p;
	int i;

	for (i = 0; i < n; i++) {
		size = 128 * (size_t)(1 + i % 7);
		align = m->shape == PAGE || strcmp(type_of(m->shape), "aligned") ? 0 : 64;
		p = allocate(m, size, 64);
		if (!p)
			fail("failed", m->name);
		memset(p, 0x5a, size);
		note(m, type_of(m->shape), p, size, align, 0);
		release(release_with, p, size, 64);
	}
	try_huge(m, NULL);
}

static NOINLINE void use_realloc(const struct member *m, const struct member *first,
				 const struct member *release_with, int n)
{
	size_t size = 64;
	uintptr_t old;
	void *p, *next;
	int i;

	p = allocate(first, size, 0);
	note(first, "malloc", p, size, 0, 0);
	for (i = 0; i < n; i++) {
		size = m->shape == IN_PLACE ? 64 : 64 + 8 * ((size_t)i * i % 4000);
		old = (uintptr_t)p;
		next = reallocate(m, p, size);
		if (!next)
			fail("failed", m->name);
		p = next;
		note(m, "realloc", p, size, 0, old);
	}
	try_huge(m, p);
	if (!strstr(m->name, "reallocf"))
		release(release_with, p, size, 64);
}

static NOINLINE void use_string(const struct member *m, const struct member *release_with, int n)
{
	static const char text[] = "thirty-one characters and an end";
	void *p;
	int i;

	for (i = 0; i < n; i++) {
		p = m->f.p_s(text);
		if (!p)
			fail("failed", m->name);
		note(m, "malloc", p, sizeof(text), 0, 0);
		release(release_with, p, sizeof(text), 64);
	}
}

static NOINLINE void use_release(const struct member *m, const struct member *first, int n)
{
	int i, aligned = m->shape == FREE_ALIGN || m->shape == FREE_ALIGN_SIZE ||
			 m->shape == FREE_ALIGN_NOTHROW || m->shape == FREE_SIZE_SECOND;
	const char *name = !strcmp(first->name, "_Znwm") ? "_ZnwmSt11align_val_t" :
			   !strcmp(first->name, "mi_malloc") ? "mi_malloc_aligned" : NULL;
	const struct member *other = NULL;
	size_t k, size;
	void *p;

	if (strstr(m->name, "allocx"))
		aligned = 0;
	for (k = 0; aligned && k < N_MEMBERS; k++)
		if (!strcmp(members[k].family, m->family) && members[k].f.address &&
		    (members[k].shape == ALIGNED ||
		     (name && !strcmp(members[k].name, name)) ||
		     (!name && members[k].shape == NEW_ALIGNED)))
			other = &members[k];
	if (other)
		first = other;
	else
		aligned = 0;
	for (i = 0; i < n; i++) {
		size = 128 * (size_t)(1 + i % 7);
		p = allocate(first, size, 64);
		if (!p)
			fail("failed", first->name);
		note(first, type_of(first->shape), p, size, aligned ? 64 : 0, 0);
		release(m, p, size, 64);
	}
	if (m->shape == FREE && strncmp(m->name, "TC", 2))
		m->f.v_p(NULL);
}

static int next_prime(int n)
{
	int d;

	for (n++;; n++) {
		for (d = 2; d * d <= n && n % d; d++)
			;
		if (d * d > n)
			return n;
	}
}

static int skipped(const struct member *m)
{
	return !m->f.address || !find(m->family, "malloc") == !find(m->family, "Malloc") ||
	       !find(m->family, "free") == !find(m->family, "Free");
}

NOINLINE void work(void)
{
	const struct member *first, *last;
	int n = 10;
	size_t i;

	for (i = 0; i < N_MEMBERS; i++) {
		const struct member *m = &members[i];

		if (!strcmp(m->family, "op") ? !m->f.address || !find("op", "malloc") : skipped(m))
			continue;
		n = next_prime(n > 100 ? 10 : n);
		first = find(m->family, strncmp(m->family, "TC", 2) ? "malloc" : "Malloc");
		last = find(m->family, strncmp(m->family, "TC", 2) ? "free" : "Free");
		if (m->shape >= FREE)
			use_release(m, first, n);
		else if (m->shape == STRING)
			use_string(m, last, n);
		else if (m->shape >= REALLOC)
			use_realloc(m, first, last, n);
		else
			use_allocation(m, last, n);
		said_size += (size_t)snprintf(said + said_size, sizeof(said) - said_size, "%s %d\n",
					      m->name, n);
	}
}

#ifndef STATIC
static void *base_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* base: of the only library whose functions are taken, NULL for all. */
static void resolve(void *handle, const void *base)
{
	const struct member *first;
	void *address;
	size_t i;

	for (i = 0; i < N_MEMBERS; i++) {
		address = dlsym(handle, members[i].name);
		members[i].f.address = base && address && base_of(address) != base ? NULL : address;
	}
	/* What another library than malloc's has is its own, unless it only calls this one. */
	first = find("", "malloc");
	for (i = 0; first && i < N_MEMBERS; i++)
		if (members[i].f.address && !*members[i].family &&
		    strcmp(members[i].name, "reallocarray") &&
		    base_of(members[i].f.address) != base_of(first->f.address))
			members[i].f.address = NULL;
}

static void *open_library(const char *path, void **ret_base)
{
	/* Bound to itself: else its operator delete would take the program's free. */
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	struct link_map *map;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
		fail(dlerror(), path);
	*ret_base = (void *)map->l_addr;
	resolve(handle, *ret_base);
	return handle;
}

/* Open, as handle at was; then again, elsewhere. */
static void work_with(const char *path, void *handle, void *was)
{
	void *is;
	int stays;

	work();
	note(&members[0], "gap", NULL, 0, 0, 0);
	dlclose(handle);
	stays = dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL;
	if (!stays && mmap(was, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			   -1, 0) != was)
		fail("its place is taken", path);
	open_library(path, &is);
	said_size += (size_t)snprintf(said + said_size, sizeof(said) - said_size, "# moved %d\n",
				      was != is);
	work();
}
#endif

static void tell(const char *path)
{
	FILE *out = fopen(path, "w");
	unsigned int i;

	if (!out)
		fail("cannot be written", path);
	fprintf(out, "tid %d\n", (int)syscall(SYS_gettid));
	for (i = 0; i < n_events; i++)
		fprintf(out, "%s %s %llu %llu %llu %llu\n", events[i].type, events[i].member,
			(unsigned long long)events[i].addr, (unsigned long long)events[i].size,
			(unsigned long long)events[i].align, (unsigned long long)events[i].old);
	if (fclose(out))
		fail("cannot be written", path);
}

/* Whether the work is this process's; else its child has done it, and status is ours. */
static int is_ours(const char *how, int *ret_status)
{
	char byte;
	int status;
	pid_t pid;

	if (!strcmp(how, "wait") && read(0, &byte, 1) < 0) {
		*ret_status = 98;
		return 0;
	}
	pid = strcmp(how, "fork") ? 0 : fork();
	if (!pid)
		return 1;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		*ret_status = 98;
	else
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 97;
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "now";
	int status;

#ifndef STATIC
	const char *library = argc > 3 ? argv[3] : NULL;
	void *base = NULL, *handle = library ? open_library(library, &base) : NULL;

	if (!is_ours(how, &status))
		return status;
	if (library) {
		work_with(library, handle, base);
	} else {
		resolve(RTLD_DEFAULT, NULL);
		work();
	}
#else
	if (!is_ours(how, &status))
		return status;
	work();
#endif
	tell(argv[1]);
	return write(1, said, said_size) != (ssize_t)said_size;
}
