/*
 * tests/bench/bench_symbolize.c - addresses of an ELF file to functions, files and lines.
 *
 *	bench_symbolize FILE [ADDRESSES]
 *
 * Takes that many addresses (50000), spread evenly over its functions. Prints seconds of
 * processor time for its unwind tables, for opening symbols and lines, for the addresses
 * the first time and once more, and how many have what. Then the same as mt-report does it, by a
 * cache on disk: which is empty the first time, and known to nobody but the disk the second.
 */
#include "common/error.h"
#include "report/address_names.h"
#include "report/cache.h"
#include "report/cfi.h"
#include "report/dwarf_lines.h"
#include "report/module.h"
#include "report/session.h"
#include "report/symbols.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

struct counts {
	size_t addresses, named, located, frames;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void name_all(const struct mt_symbols *symbols, struct mt_lines *lines, uint64_t step,
		     struct counts *counts)
{
	struct mt_line_frame frames[MT_LINE_FRAMES_MAX];
	const struct mt_symbol *symbol;
	uint64_t at = 0, pc;
	size_t i, n;

	memset(counts, 0, sizeof(*counts));
	for (i = 0; i < mt_symbols_count(symbols); i++) {
		symbol = mt_symbols_at(symbols, i);
		for (; symbol->function && at < symbol->size; at += step) {
			pc = symbol->addr + at;
			n = lines ? mt_lines_find(lines, pc, frames) : 0;
			counts->addresses++;
			counts->named += mt_symbols_find(symbols, pc) != NULL;
			counts->located += n && frames[0].file;
			counts->frames += n ? n : 1;
		}
		if (symbol->function)
			at -= symbol->size;
	}
}

static int run(struct mt_module *module, uint64_t n)
{
	struct mt_symbols *symbols = NULL;
	struct mt_lines *lines = NULL;
	struct mt_cfi *cfi = NULL;
	struct counts counts;
	uint64_t bytes = 0;
	double begin = seconds();
	size_t i;
	int err;

	err = mt_cfi_compile(module, &cfi);
	printf("unwind tables: %.3f s, %zu rows\n", seconds() - begin, cfi ? mt_cfi_rows(cfi) : 0);
	begin = seconds();
	err = mt_symbols_load(module, &symbols);
	if (err)
		goto out;
	printf("symbols:       %.3f s, %zu\n", seconds() - begin, mt_symbols_count(symbols));
	begin = seconds();
	if (mt_lines_load(module, &lines))
		lines = NULL;
	printf("lines:         %.3f s\n", seconds() - begin);
	for (i = 0; i < mt_symbols_count(symbols); i++)
		if (mt_symbols_at(symbols, i)->function)
			bytes += mt_symbols_at(symbols, i)->size;
	for (i = 0; i < 2; i++) {
		begin = seconds();
		name_all(symbols, lines, bytes / n + 1, &counts);
		printf("%s     %.3f s, %zu addresses, %zu named, %zu located, %zu frames\n",
		       i ? "once more:" : "addresses:", seconds() - begin, counts.addresses,
		       counts.named, counts.located, counts.frames);
	}
out:
	mt_lines_free(lines);
	mt_symbols_free(symbols);
	mt_cfi_free(cfi);
	return err;
}

static int find_all(struct mt_module *module, struct mt_cache *cache, const uint64_t *pcs, size_t n,
		    size_t *ret_locations)
{
	const struct mt_location *locations;
	struct mt_address_names *names;
	size_t i, n_locations, sum = 0;
	int err = mt_address_names_new(module, mt_module_path(module), cache, &names);

	if (err)
		return err;
	for (i = 0; i < n && !err; i++) {
		err = mt_address_names_find(names, pcs[i], true, true, &locations, &n_locations);
		sum += err ? 0 : n_locations;
	}
	mt_address_names_save(names);
	mt_address_names_free(names);
	*ret_locations = sum;
	return err;
}

/* Addresses of the functions as above, n of them. */
static size_t choose(const struct mt_symbols *symbols, uint64_t step, uint64_t *pcs, size_t max)
{
	const struct mt_symbol *symbol;
	uint64_t at = 0;
	size_t i, n = 0;

	for (i = 0; i < mt_symbols_count(symbols); i++) {
		symbol = mt_symbols_at(symbols, i);
		if (!symbol->function)
			continue;
		for (; at < symbol->size && n < max; at += step)
			pcs[n++] = symbol->addr + at;
		at -= at < symbol->size ? 0 : symbol->size;
	}
	return n;
}

/* A program's run: open, find what the cache has not, keep it. */
static int run_once(const struct mt_file *file, const char *dir, const char *what,
		    const uint64_t *pcs, size_t n)
{
	struct mt_module_options options = { 0 };
	struct mt_module *module;
	double begin = seconds();
	size_t locations;
	int err = mt_cache_open(dir, &options.cache);

	if (err)
		return err;
	err = mt_module_open(file, &options, &module);
	if (!err) {
		err = find_all(module, options.cache, pcs, n, &locations);
		mt_module_free(module);
	}
	mt_cache_free(options.cache);
	if (!err)
		printf("%s %.3f s, %zu addresses, %zu frames\n", what, seconds() - begin, n,
		       locations);
	return err;
}

static int run_twice(const struct mt_file *file, struct mt_module *module, size_t max)
{
	char dir[] = "/tmp/bench_symbolize.XXXXXX", command[64];
	uint64_t *pcs = calloc(max + 1, sizeof(*pcs)), bytes = 0;
	struct mt_symbols *symbols = NULL;
	size_t i, n = 0;
	int err = pcs && mkdtemp(dir) ? mt_symbols_load(module, &symbols) : -ENOMEM;

	for (i = 0; !err && i < mt_symbols_count(symbols); i++)
		if (mt_symbols_at(symbols, i)->function)
			bytes += mt_symbols_at(symbols, i)->size;
	if (!err)
		n = choose(symbols, bytes / max + 1, pcs, max);
	mt_symbols_free(symbols);
	if (!err)
		err = run_once(file, dir, "first time:   ", pcs, n);
	if (!err)
		err = run_once(file, dir, "second time:  ", pcs, n);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		err = err ? err : -EIO;
	free(pcs);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 50000;
	char path[PATH_MAX];
	struct mt_file file = { 0 };
	struct mt_module *module;
	struct stat st;
	int err;

	if (argc < 2 || argc > 3 || !n || !realpath(argv[1], path) || stat(path, &st)) {
		fprintf(stderr, "usage: bench_symbolize FILE [ADDRESSES]\n");
		return 64;
	}
	file.path = path;
	file.dev_major = major(st.st_dev);
	file.dev_minor = minor(st.st_dev);
	file.ino = st.st_ino;
	err = mt_module_open(&file, NULL, &module);
	if (!err)
		err = run(module, n);
	if (!err)
		err = run_twice(&file, module, n);
	if (err)
		fprintf(stderr, "bench_symbolize: %s: %s\n", argv[1], mt_strerror(err));
	mt_module_free(module);
	return err ? 2 : 0;
}
