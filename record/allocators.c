#include "record/allocators.h"

#include <elf.h>
#include <errno.h>

#include "bpf/mt_ring.h"
#include "common/error.h"
#include "record/allocator_table.h"
#include "record/code_walk.h"
#include "record/elf_image.h"
#include "record/elf_symbols.h"
#include "record/opaque_program.h"

struct finder {
	const struct mt_allocator_table *table;
	const struct mt_allocator_function *functions;
	size_t n;
	struct mt_elf_image image;
	uint64_t *vaddrs;	/* by index in the table; 0 = not in the file */
	enum mt_allocator_kind c_kind;	/* whose malloc is */
	bool has[MT_ALLOCATOR_KINDS];
	struct mt_allocator_scan *scan;
	size_t cap;
};

const char *mt_allocator_kind_name(enum mt_allocator_kind kind)
{
	static const char *const names[MT_ALLOCATOR_KINDS] = {
		[MT_ALLOCATOR_OTHER] = "other", [MT_ALLOCATOR_GLIBC] = "glibc",
		[MT_ALLOCATOR_MUSL] = "musl", [MT_ALLOCATOR_JEMALLOC] = "jemalloc",
		[MT_ALLOCATOR_MIMALLOC] = "mimalloc", [MT_ALLOCATOR_TCMALLOC] = "tcmalloc",
		[MT_ALLOCATOR_USER] = "user",
	};

	return names[kind];
}

static uint64_t vaddr_of(const struct finder *f, const char *name)
{
	int index = mt_allocator_table_find(f->table, name);

	return index < 0 ? 0 : f->vaddrs[index];
}

/* Are both in the file, and one by another name, or only a jump to the other? */
static bool same_function(const struct finder *f, const char *name, const char *other)
{
	uint64_t a = vaddr_of(f, name), b = vaddr_of(f, other), target;

	if (!a || !b)
		return false;
	return a == b || (mt_code_only_jumps(&f->image, a, &target) && target == b);
}

static enum mt_allocator_kind kind_of_c(const struct finder *f)
{
	if (same_function(f, "malloc", "mi_malloc"))
		return MT_ALLOCATOR_MIMALLOC;
	if (same_function(f, "malloc", "tc_malloc") ||
	    same_function(f, "malloc", "TCMallocInternalMalloc"))
		return MT_ALLOCATOR_TCMALLOC;
	if (vaddr_of(f, "mallctl") || same_function(f, "malloc", "je_malloc") ||
	    same_function(f, "malloc", "_rjem_malloc"))
		return MT_ALLOCATOR_JEMALLOC;
	if (vaddr_of(f, "__libc_malloc_impl") || vaddr_of(f, "__dls3"))
		return MT_ALLOCATOR_MUSL;
	if (same_function(f, "malloc", "__libc_malloc") &&
	    (vaddr_of(f, "malloc_info") || vaddr_of(f, "__malloc_info")))
		return MT_ALLOCATOR_GLIBC;
	return MT_ALLOCATOR_OTHER;
}

/* Older glibc's dynamic linker has a malloc for its own start, whose blocks are never freed. */
static bool is_dynamic_linker(const struct finder *f)
{
	return vaddr_of(f, "_dl_mcount") && !vaddr_of(f, "__libc_start_main");
}

static void find_kinds(struct finder *f)
{
	size_t i;

	f->c_kind = kind_of_c(f);
	f->has[f->c_kind] = true;
	for (i = 0; i < f->n; i++) {
		if (!f->vaddrs[i])
			continue;
		if (f->functions[i].family == MT_FAMILY_JEMALLOC)
			f->has[MT_ALLOCATOR_JEMALLOC] = true;
		else if (f->functions[i].family == MT_FAMILY_MIMALLOC)
			f->has[MT_ALLOCATOR_MIMALLOC] = true;
		else if (f->functions[i].family == MT_FAMILY_TCMALLOC)
			f->has[MT_ALLOCATOR_TCMALLOC] = true;
	}
}

static enum mt_allocator_kind operators_kind(const struct finder *f)
{
	if (f->c_kind >= MT_ALLOCATOR_JEMALLOC)
		return f->c_kind;
	if (f->has[MT_ALLOCATOR_JEMALLOC])
		return MT_ALLOCATOR_JEMALLOC;
	return f->has[MT_ALLOCATOR_MIMALLOC] ? MT_ALLOCATOR_MIMALLOC : MT_ALLOCATOR_TCMALLOC;
}

static bool has_own_operators(const struct finder *f)
{
	return f->has[MT_ALLOCATOR_JEMALLOC] || f->has[MT_ALLOCATOR_MIMALLOC] ||
	       f->has[MT_ALLOCATOR_TCMALLOC];
}

/* Is a function that the file has one to probe? */
static bool is_wanted(const struct finder *f, size_t i)
{
	switch (f->functions[i].family) {
	case MT_FAMILY_MARKER:
		return false;
	case MT_FAMILY_LIBC:
		/* Musl's calls by these names are its own business, and unseen if it is shared. */
		return !vaddr_of(f, "__libc_malloc_impl");
	case MT_FAMILY_OPERATOR:
		/* libstdc++'s and libc++'s call malloc. */
		return has_own_operators(f);
	}
	return true;
}

static enum mt_allocator_kind kind_of(const struct finder *f, size_t i)
{
	switch (f->functions[i].family) {
	case MT_FAMILY_C:
		return f->c_kind;
	case MT_FAMILY_LIBC:
		return f->c_kind == MT_ALLOCATOR_OTHER ? MT_ALLOCATOR_GLIBC : f->c_kind;
	case MT_FAMILY_OPERATOR:
		return operators_kind(f);
	case MT_FAMILY_JEMALLOC:
		return MT_ALLOCATOR_JEMALLOC;
	case MT_FAMILY_MIMALLOC:
		return MT_ALLOCATOR_MIMALLOC;
	case MT_FAMILY_TCMALLOC:
		return MT_ALLOCATOR_TCMALLOC;
	case MT_FAMILY_USER:
		return MT_ALLOCATOR_USER;
	}
	return MT_ALLOCATOR_OTHER;
}

/* Of several names for one place: the user's, then the C library's, then the first. */
static bool is_better(const struct finder *f, size_t i, size_t than)
{
	const struct mt_allocator_function *a = &f->functions[i], *b = &f->functions[than];

	if ((a->family == MT_FAMILY_USER) != (b->family == MT_FAMILY_USER))
		return a->family == MT_FAMILY_USER;
	if ((a->family == MT_FAMILY_C) != (b->family == MT_FAMILY_C))
		return a->family == MT_FAMILY_C;
	return i < than;
}

/* The wanted function at a place, by its index; -1: none. */
static int function_at(const struct finder *f, uint64_t vaddr)
{
	int best = -1;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->vaddrs[i] == vaddr && is_wanted(f, i) &&
		    (best < 0 || is_better(f, i, (size_t)best)))
			best = (int)i;
	return best;
}

static void add_gap(struct finder *f, const char *function, const char *reason)
{
	struct mt_allocator_scan *scan = f->scan;

	/* One place is the whole file's, of which there is one at most. */
	if (scan->n_gaps < MT_SCAN_GAPS_MAX - (*function != 0))
		scan->gaps[scan->n_gaps++] = (struct mt_allocator_gap){ function, reason };
}

static int add_probe(struct finder *f, size_t i, uint64_t vaddr, uint64_t cookie,
		     enum mt_probe_role role)
{
	struct mt_allocator_scan *scan = f->scan;
	size_t cap = f->cap ? 2 * f->cap : 32, k;
	int64_t offset = mt_elf_image_offset(&f->image, vaddr, PF_X);
	struct mt_probe *probes;

	if (offset < 0)
		return 0;
	/* Functions can end in the same place. */
	for (k = 0; role == MT_PROBE_RET_SITE && k < scan->n; k++)
		if (scan->probes[k].role == role && scan->probes[k].offset == (uint64_t)offset)
			return 0;
	if (scan->n == f->cap) {
		probes = reallocarray(scan->probes, cap, sizeof(*probes));
		if (!probes)
			return -ENOMEM;
		scan->probes = probes;
		f->cap = cap;
	}
	scan->probes[scan->n++] = (struct mt_probe){
		.function = f->functions[i].name, .offset = (uint64_t)offset, .cookie = cookie,
		.fixed_size = f->functions[i].fixed_size, .kind = kind_of(f, i), .role = role,
	};
	scan->n_functions += role != MT_PROBE_RET_SITE && role != MT_PROBE_LEAVE;
	return 0;
}

static bool frees(const struct finder *f, int index)
{
	return index >= 0 && MT_COOKIE_KIND(f->functions[index].cookie) == MT_RING_FREE;
}

/* Can a call of this free lead to another free that has a probe, by a jump at its end or a call? */
static bool may_forward(const struct finder *f, uint64_t vaddr)
{
	struct mt_code_walk walk;
	size_t i;
	int index;

	mt_code_walk(&f->image, vaddr, false, &walk);
	for (i = 0; i < walk.n_jumps; i++)
		if (frees(f, function_at(f, walk.jumps[i])))
			return true;
	for (i = 0; i < walk.n_imports; i++)
		if (frees(f, mt_allocator_table_find(f->table, walk.imports[i])))
			return true;
	for (i = 0; i < walk.n_calls; i++) {
		index = walk.calls[i].vaddr ? function_at(f, walk.calls[i].vaddr) :
			mt_allocator_table_find(f->table, walk.calls[i].name);
		if (frees(f, index))
			return true;
	}
	return walk.unknown || walk.more_calls;
}

/* A function that may throw: its entry, and each instruction that returns from it. */
static int add_throwing(struct finder *f, size_t i, uint64_t vaddr)
{
	uint64_t cookie = f->functions[i].cookie;
	struct mt_code_walk walk;
	size_t k;
	int err;

	mt_code_walk(&f->image, vaddr, true, &walk);
	/* A user's that at times ends in another file: what it calls there must count then. */
	if (walk.unknown || !walk.n_returns ||
	    (walk.n_imports && f->functions[i].family == MT_FAMILY_USER && !frees(f, (int)i))) {
		add_gap(f, f->functions[i].name, "cannot tell where this C++ function returns");
		return 0;
	}
	err = add_probe(f, i, vaddr, cookie, MT_PROBE_ENTRY);
	for (k = 0; k < walk.n_returns && !err; k++)
		err = add_probe(f, i, walk.returns[k], cookie, MT_PROBE_RET_SITE);
	return err;
}

static int add_free(struct finder *f, size_t i, uint64_t vaddr)
{
	uint64_t cookie = f->functions[i].cookie;

	/* Somebody's own free may be a wrapper around another one. */
	if (kind_of(f, i) == MT_ALLOCATOR_OTHER)
		cookie |= MT_CALL_NESTS;
	if (cookie & MT_CALL_NESTS)
		return add_probe(f, i, vaddr, cookie, MT_PROBE_CALL);
	if (may_forward(f, vaddr))
		cookie |= MT_CALL_FORWARDS;
	return add_probe(f, i, vaddr, cookie, MT_PROBE_FREE);
}

/* Does calling this function, which does the same, reach a probe anyway? */
static bool leads_to_probe(const struct finder *f, size_t i, uint64_t vaddr)
{
	uint64_t target;
	int other;

	if (f->functions[i].family == MT_FAMILY_USER ||
	    !mt_code_only_jumps(&f->image, vaddr, &target) || target == vaddr)
		return false;
	other = function_at(f, target);
	return other >= 0 && f->functions[other].cookie == f->functions[i].cookie;
}

static int add_function(struct finder *f, size_t i)
{
	const struct mt_allocator_function *function = &f->functions[i];
	uint64_t vaddr = f->vaddrs[i];

	if (function->family == MT_FAMILY_LEAVE)
		return add_probe(f, i, vaddr, 0, MT_PROBE_LEAVE);
	if (leads_to_probe(f, i, vaddr))
		return 0;
	if (function->cookie & MT_CALL_RET_SITES)
		return add_throwing(f, i, vaddr);
	if (MT_COOKIE_KIND(function->cookie) == MT_RING_FREE)
		return add_free(f, i, vaddr);
	return add_probe(f, i, vaddr, function->cookie, MT_PROBE_CALL);
}

static int compare_vaddr(const void *a, const void *b, void *arg)
{
	const struct finder *f = arg;
	size_t ia = *(const size_t *)a, ib = *(const size_t *)b;
	uint64_t va = f->vaddrs[ia], vb = f->vaddrs[ib];

	if (va != vb)
		return va < vb ? -1 : 1;
	return is_better(f, ia, ib) ? -1 : 1;
}

/* One function for each place, the best of its names. */
static int add_functions(struct finder *f)
{
	size_t *order = calloc(f->n, sizeof(*order)), n = 0, i;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < f->n; i++)
		if (f->vaddrs[i] && is_wanted(f, i))
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), compare_vaddr, f);
	for (i = 0; i < n && !err; i++)
		if (!i || f->vaddrs[order[i]] != f->vaddrs[order[i - 1]])
			err = add_function(f, order[i]);
	free(order);
	return err;
}

static int scan_image(struct finder *f, bool *found)
{
	const char *unseen;
	bool has_symbols;
	size_t i;
	int err;

	has_symbols = mt_elf_find_functions(&f->image, mt_allocator_table_names(f->table), f->n,
					    f->vaddrs);
	for (i = 0; found && i < f->n; i++)
		found[i] |= f->vaddrs[i] != 0;
	if (is_dynamic_linker(f))
		return 0;
	find_kinds(f);
	err = add_functions(f);
	unseen = mt_program_unseen(&f->image, has_symbols, f->scan->n_functions);
	if (!err && unseen)
		add_gap(f, "", unseen);
	return err;
}

int mt_allocators_scan(const struct mt_allocator_table *table, int fd, bool *found,
		       struct mt_allocator_scan *ret_scan)
{
	struct mt_allocator_scan scan = {};
	struct finder f = {
		.table = table, .functions = mt_allocator_table_functions(table),
		.n = mt_allocator_table_size(table), .scan = &scan,
	};
	int err;

	err = mt_elf_image_open(fd, &f.image);
	if (err)
		return err;
	f.vaddrs = calloc(f.n, sizeof(*f.vaddrs));
	err = f.vaddrs ? scan_image(&f, found) : -ENOMEM;
	free(f.vaddrs);
	mt_elf_image_close(&f.image);
	if (err) {
		mt_allocator_scan_release(&scan);
		return err;
	}
	*ret_scan = scan;
	return 0;
}

void mt_allocator_scan_release(struct mt_allocator_scan *scan)
{
	free(scan->probes);
	memset(scan, 0, sizeof(*scan));
}
