/*
 * tests/bench/bench_symbolize.c - addresses of an ELF file to functions, files and lines.
 *
 *	bench_symbolize FILE [ADDRESSES]
 *
 * Takes that many addresses (50000), spread evenly over its functions. Prints seconds of
 * processor time for its unwind tables, for opening symbols and lines, for the addresses
 * the first time and once more, and how many have what.
 */
#include "common/error.h"
#include "report/cfi.h"
#include "report/dwarf_lines.h"
#include "report/module.h"
#include "report/session.h"
#include "report/symbols.h"

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

int main(int argc, char **argv)
{
	struct mt_file file = { 0 };
	struct mt_module *module;
	struct stat st;
	int err;

	if (argc < 2 || argc > 3 || stat(argv[1], &st)) {
		fprintf(stderr, "usage: bench_symbolize FILE [ADDRESSES]\n");
		return 64;
	}
	file.path = argv[1];
	file.dev_major = major(st.st_dev);
	file.dev_minor = minor(st.st_dev);
	file.ino = st.st_ino;
	err = mt_module_open(&file, NULL, &module);
	if (!err)
		err = run(module, argc > 2 ? strtoull(argv[2], NULL, 10) : 50000);
	if (err)
		fprintf(stderr, "bench_symbolize: %s: %s\n", argv[1], mt_strerror(err));
	mt_module_free(module);
	return err ? 2 : 0;
}
