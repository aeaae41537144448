/*
 * tests/bench/bench_unwind.c - stacks of a recording through mt_unwind(), on one core.
 *
 *	bench_unwind FILE [SECONDS]
 *
 * FILE may be a pack: its modules are used then. The first pass opens files and compiles their
 * tables. The others read the file as mt-report does, and what counts is the unwinder alone, on
 * each block that has just been read. Last, the same with all stacks kept in memory, each cold by
 * the time it is its turn. Prints stacks a second of processor time.
 */
#include <time.h>

#include "common/error.h"
#include "report/pack.h"
#include "report/reader.h"
#include "report/session.h"
#include "report/symbolize.h"

#define STACKS_MAX 100000u
#define BYTES_MAX ((size_t)512 << 20)

static struct mt_stack *stacks[STACKS_MAX];
static size_t n_stacks;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A copy of its own, registers and bytes. */
static struct mt_stack *keep(const struct mt_stack *stack)
{
	struct mt_stack *copy = malloc(sizeof(*copy) + stack->n_bytes);

	if (!copy)
		abort();
	*copy = *stack;
	if (stack->n_bytes)
		memcpy(copy + 1, stack->bytes, stack->n_bytes);
	copy->bytes = (const uint8_t *)(copy + 1);
	return copy;
}

static int load_stacks(struct mt_reader *reader)
{
	const struct mt_block *block;
	size_t bytes = 0;
	uint32_t i;
	int err;

	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_STACKS));
	while ((err = mt_reader_next(reader, &block)) > 0) {
		for (i = 0; i < block->n && n_stacks < STACKS_MAX && bytes < BYTES_MAX; i++) {
			stacks[n_stacks++] = keep(&block->stacks[i]);
			bytes += block->stacks[i].n_bytes;
		}
	}
	return err;
}

static size_t unwind_all(struct mt_unwinder *unwinder)
{
	struct mt_unwound unwound[MT_UNWIND_AT_ONCE];
	size_t frames = 0, i, k, n;

	for (i = 0; i < n_stacks; i += n) {
		n = n_stacks - i < MT_UNWIND_AT_ONCE ? n_stacks - i : MT_UNWIND_AT_ONCE;
		mt_unwind_some(unwinder, (const struct mt_stack *const *)stacks + i, n, unwound);
		for (k = 0; k < n; k++)
			frames += unwound[k].n;
	}
	return frames;
}

static void unwind_block(struct mt_unwinder *unwinder, const struct mt_block *block)
{
	const struct mt_stack *some[MT_UNWIND_AT_ONCE];
	struct mt_unwound unwound[MT_UNWIND_AT_ONCE];
	uint32_t i, n;

	for (i = 0; i < block->n; i += n) {
		for (n = 0; n < MT_UNWIND_AT_ONCE && i + n < block->n; n++)
			some[n] = &block->stacks[i + n];
		mt_unwind_some(unwinder, some, n, unwound);
	}
}

/* Seconds in the unwinder for all stacks of the file; < 0: an error. */
static double unwind_file(struct mt_reader *reader, struct mt_unwinder *unwinder)
{
	const struct mt_block *block;
	double took = 0;
	int err;

	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_STACKS));
	while ((err = mt_reader_next(reader, &block)) > 0) {
		took -= seconds();
		unwind_block(unwinder, block);
		took += seconds();
	}
	return err ? -1 : took;
}

static void run_file(struct mt_reader *reader, struct mt_unwinder *unwinder, double limit)
{
	double took = 0, begin = seconds();
	size_t rounds = 0;

	do {
		took += unwind_file(reader, unwinder);
		rounds++;
	} while (seconds() - begin < limit);
	printf("read:       %.0f stacks/s\n", (double)(n_stacks * rounds) / took);
}

static void run(struct mt_unwinder *unwinder, double limit)
{
	double begin = seconds();
	size_t frames = unwind_all(unwinder);
	double took = seconds() - begin;
	size_t rounds = 0;

	printf("%zu stacks, %.1f frames each\n", n_stacks, (double)frames / (double)n_stacks);
	printf("first pass: %.3f s, %.0f stacks/s\n", took, (double)n_stacks / took);
	begin = seconds();
	do {
		unwind_all(unwinder);
		rounds++;
		took = seconds() - begin;
	} while (took < limit);
	printf("kept:       %.0f stacks/s, %.1f ns a frame\n",
	       (double)(n_stacks * rounds) / took, took * 1e9 / (double)(frames * rounds));
}

int main(int argc, char **argv)
{
	struct mt_module_options options = { 0 };
	struct mt_symbolizer *symbolizer = NULL;
	struct mt_unwinder *unwinder = NULL;
	struct mt_session *session = NULL;
	struct mt_reader *reader = NULL;
	struct mt_pack *pack = NULL;
	int err;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bench_unwind FILE [SECONDS]\n");
		return 64;
	}
	err = mt_reader_open(argv[1], &reader);
	if (err)
		goto out_free;
	options.kernel = mt_reader_header(reader)->kernel;
	err = mt_session_load(reader, &session);
	if (!err)
		err = mt_pack_load(reader, &pack);
	options.pack = pack;
	if (!err)
		err = mt_symbolizer_new(session, &options, &symbolizer);
	if (!err)
		err = mt_unwinder_new(mt_reader_header(reader)->arch,
				      mt_reader_header(reader)->code_mask, mt_symbolizer_find_code,
				      symbolizer, &unwinder);
	if (!err)
		err = load_stacks(reader);
	if (!err && n_stacks)
		run(unwinder, argc > 2 ? strtod(argv[2], NULL) : 1);
	if (!err && n_stacks)
		run_file(reader, unwinder, argc > 2 ? strtod(argv[2], NULL) : 1);

out_free:
	if (err)
		fprintf(stderr, "bench_unwind: %s: %s\n", argv[1], mt_strerror(err));
	while (n_stacks)
		free(stacks[--n_stacks]);
	mt_unwinder_free(unwinder);
	mt_symbolizer_free(symbolizer);
	mt_pack_free(pack);
	mt_session_free(session);
	mt_reader_free(reader);
	return err ? 2 : 0;
}
