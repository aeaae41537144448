#include "report/ranking.h"

#include "report/elide.h"
#include "report/intern.h"

#include <errno.h>

uint64_t mt_weight(const struct mt_totals *totals, enum mt_by by)
{
	switch (by) {
	case MT_BY_COUNT:
		return totals->allocations;
	case MT_BY_PEAK:
		return totals->peak_bytes;
	case MT_BY_LIVE:
		return totals->live_bytes;
	default:
		return totals->allocated_bytes;
	}
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct mt_ranked_path *x = a, *y = b;
	uint64_t wx = mt_weight(&x->totals, *(enum mt_by *)arg);
	uint64_t wy = mt_weight(&y->totals, *(enum mt_by *)arg);

	if (wx != wy)
		return wx > wy ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->path < y->path ? -1 : x->path > y->path;
}

int mt_rank_paths(const struct mt_profile *profile, const struct mt_paths *paths, enum mt_by by,
		  struct mt_ranked_path **ret_rows, size_t *ret_n)
{
	uint32_t n_paths = mt_paths_count(paths), i, id, path;
	size_t n = (size_t)n_paths + 2, kept = 0, row;
	struct mt_ranked_path *rows = calloc(n, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (row = 0; row < n_paths; row++)
		rows[row].path = (uint32_t)row;
	rows[n_paths] = (struct mt_ranked_path){ MT_RANKED_NO_STACK, MT_PATHS_NONE, { 0 } };
	rows[n_paths + 1] = (struct mt_ranked_path){ MT_RANKED_UNDEFINED, MT_PATHS_NONE, { 0 } };

	for (i = 0; i < mt_profile_stacks(profile); i++) {
		id = mt_profile_stack_id(profile, i);
		path = id ? mt_paths_of_stack(paths, id) : MT_PATHS_NONE;
		row = path != MT_PATHS_NONE ? path : (size_t)n_paths + (id != 0);
		mt_totals_add(&rows[row].totals, mt_profile_stack(profile, id));
	}
	for (row = 0; row < n; row++)
		if (rows[row].totals.allocations)
			rows[kept++] = rows[row];
	qsort_r(rows, kept, sizeof(*rows), by_weight, &by);
	*ret_rows = rows;
	*ret_n = kept;
	return 0;
}

bool mt_is_allocator(const char *function)
{
	static const char *const names[] = {
		"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign",
		"posix_memalign", "valloc", "pvalloc", "__rust_alloc", "__rust_alloc_zeroed",
		"__rust_realloc", "__rdl_alloc", "__rdl_realloc", "alloc::alloc::alloc",
		"alloc::alloc::exchange_malloc", "mmap", "mmap64", "mremap", "brk", "sbrk",
	};
	static const char *const prefixes[] = { "__libc_", "__GI___libc_", "__GI_" };
	size_t i;

	if (!strncmp(function, "operator new", 12))
		return true;
	for (i = 0; i < MT_ARRAY_SIZE(prefixes); i++) {
		if (!strncmp(function, prefixes[i], strlen(prefixes[i]))) {
			function += strlen(prefixes[i]);
			break;
		}
	}
	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}

/* Functions found so far, and where each call's begin in a list of their numbers. */
struct functions {
	const struct mt_paths *paths;
	const struct mt_names *names;
	struct mt_ranked_function *rows;
	uint32_t *slots;	/* hash of row + 1 */
	uint32_t *seen;		/* per row: the last path that counted it, + 1 */
	uint32_t *of_call;	/* first number of a call in numbers, UINT32_MAX: not looked up */
	uint32_t *numbers;
	size_t n, cap, slots_cap, n_numbers, numbers_cap;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_function(const struct mt_location *a, const struct mt_location *b)
{
	return same_text(a->function, b->function) && same_text(a->module, b->module) &&
	       (a->function || a->offset == b->offset);
}

static uint32_t *function_slot(struct functions *f, const struct mt_location *location)
{
	uint64_t hash = MT_HASH_SEED;
	size_t i;

	if (location->function)
		hash = mt_hash_bytes(hash, location->function, strlen(location->function));
	else
		hash = mt_hash_bytes(hash, &location->offset, sizeof(location->offset));
	i = hash & (f->slots_cap - 1);
	while (f->slots[i] && !same_function(&f->rows[f->slots[i] - 1].location, location))
		i = (i + 1) & (f->slots_cap - 1);
	return &f->slots[i];
}

static int grow_functions(struct functions *f)
{
	size_t cap = f->cap ? f->cap * 2 : 512, i;
	struct mt_ranked_function *rows = realloc(f->rows, cap * sizeof(*rows));
	uint32_t *seen;

	if (!rows)
		return -ENOMEM;
	f->rows = rows;
	seen = realloc(f->seen, cap * sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	f->seen = seen;
	f->cap = cap;
	free(f->slots);
	f->slots_cap = cap * 2;
	f->slots = calloc(f->slots_cap, sizeof(*f->slots));
	if (!f->slots)
		return -ENOMEM;
	for (i = 0; i < f->n; i++)
		*function_slot(f, &f->rows[i].location) = (uint32_t)i + 1;
	return 0;
}

static int find_function(struct functions *f, const struct mt_location *location,
			 uint32_t *ret_row)
{
	struct mt_ranked_function *row;
	uint32_t *slot;
	int err;

	if (f->n == f->cap) {
		err = grow_functions(f);
		if (err)
			return err;
	}
	slot = function_slot(f, location);
	if (!*slot) {
		row = &f->rows[f->n];
		memset(row, 0, sizeof(*row));
		row->location.function = location->function;
		row->location.module = location->module;
		row->location.offset = location->function ? 0 : location->offset;
		row->passes = location->function &&
			      mt_is_library_function(location->function, location->linkage);
		f->seen[f->n] = 0;
		*slot = (uint32_t)++f->n;
	}
	*ret_row = *slot - 1;
	return 0;
}

/* Numbers of a call's functions, innermost first. */
static int functions_of(struct functions *f, uint32_t call, const uint32_t **ret_numbers,
			size_t *ret_n)
{
	const struct mt_location *locations;
	uint32_t *numbers;
	size_t n, i, cap;
	int err;

	locations = mt_names_of(f->names, call, &n);
	if (f->of_call[call] == UINT32_MAX) {
		if (f->numbers_cap - f->n_numbers < n) {
			cap = 2 * f->numbers_cap + n + 512;
			numbers = realloc(f->numbers, cap * sizeof(*numbers));
			if (!numbers)
				return -ENOMEM;
			f->numbers = numbers;
			f->numbers_cap = cap;
		}
		for (i = 0; i < n; i++) {
			err = find_function(f, &locations[i], &f->numbers[f->n_numbers + i]);
			if (err)
				return err;
		}
		f->of_call[call] = (uint32_t)f->n_numbers;
		f->n_numbers += n;
	}
	*ret_numbers = f->numbers + f->of_call[call];
	*ret_n = n;
	return 0;
}

/* The innermost call of a stack is where the probe is: in the allocator. */
static bool calls_allocator(const struct functions *f, const struct mt_call *call,
			    uint32_t function)
{
	const char *name = f->rows[function].location.function;

	return !(call->frame.exact && call->frame.source == MT_FRAME_REGISTERS) &&
	       !(name && mt_is_allocator(name));
}

static int count_path(struct functions *f, const struct mt_ranked_path *row, uint32_t mark)
{
	uint32_t node = mt_paths_at(f->paths, row->path)->leaf, self = UINT32_MAX;
	bool found = false, outside = false;
	const struct mt_path_node *at;
	const uint32_t *numbers;
	size_t n, i;
	int err;

	for (; node != MT_PATHS_NONE; node = at->parent) {
		at = mt_paths_node(f->paths, node);
		err = functions_of(f, at->call, &numbers, &n);
		if (err)
			return err;
		for (i = 0; i < n; i++) {
			if (!found || (!outside && !f->rows[numbers[i]].passes)) {
				self = numbers[i];
				found = calls_allocator(f, mt_paths_call(f->paths, at->call), self);
				outside = found && !f->rows[self].passes;
			}
			if (f->seen[numbers[i]] == mark)
				continue;
			f->seen[numbers[i]] = mark;
			mt_totals_add(&f->rows[numbers[i]].inclusive, &row->totals);
		}
	}
	if (self != UINT32_MAX)
		mt_totals_add(&f->rows[self].self, &row->totals);
	return 0;
}

int mt_rank_functions(const struct mt_ranked_path *rows, size_t n, const struct mt_paths *paths,
		      const struct mt_names *names, struct mt_ranked_function **ret_functions,
		      size_t *ret_n)
{
	struct functions f = { .paths = paths, .names = names };
	size_t calls = mt_paths_calls(paths), i;
	int err = -ENOMEM;

	f.of_call = malloc((calls + 1) * sizeof(*f.of_call));
	if (!f.of_call)
		return -ENOMEM;
	memset(f.of_call, 0xff, (calls + 1) * sizeof(*f.of_call));
	err = grow_functions(&f);
	for (i = 0; !err && i < n; i++)
		if (rows[i].kind == MT_RANKED_PATH)
			err = count_path(&f, &rows[i], (uint32_t)i + 1);

	free(f.slots);
	free(f.seen);
	free(f.of_call);
	free(f.numbers);
	if (err) {
		free(f.rows);
		return err;
	}
	*ret_functions = f.rows;
	*ret_n = f.n;
	return 0;
}

struct order {
	enum mt_by by;
	bool inclusive;
};

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_function_weight(const void *a, const void *b, void *arg)
{
	const struct mt_ranked_function *x = a, *y = b;
	const struct order *order = arg;
	uint64_t wx[2], wy[2];
	int i, text;

	wx[order->inclusive] = mt_weight(&x->self, order->by);
	wy[order->inclusive] = mt_weight(&y->self, order->by);
	wx[!order->inclusive] = mt_weight(&x->inclusive, order->by);
	wy[!order->inclusive] = mt_weight(&y->inclusive, order->by);
	for (i = 0; i < 2; i++)
		if (wx[i] != wy[i])
			return wx[i] > wy[i] ? -1 : 1;
	text = compare_text(x->location.function, y->location.function);
	if (!text)
		text = compare_text(x->location.module, y->location.module);
	if (text)
		return text;
	return x->location.offset < y->location.offset ? -1 :
	       x->location.offset > y->location.offset;
}

void mt_sort_functions(struct mt_ranked_function *functions, size_t n, enum mt_by by,
		       bool inclusive)
{
	struct order order = { by, inclusive };

	qsort_r(functions, n, sizeof(*functions), by_function_weight, &order);
}
