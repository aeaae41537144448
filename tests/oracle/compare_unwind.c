/*
 * tests/oracle/compare_unwind.c - every stack of a recording, by mt_unwind(), libunwind, libdw.
 *
 *	compare_unwind [-v] FILE
 *
 * On the recording machine. Prints how the stacks ended and how many have the same frames; with
 * -v, the frames of the first few that differ. Exit status 1 if one differs without a reason.
 */
#include <inttypes.h>
#include <time.h>

#include "common/error.h"
#include "report/module.h"
#include "report/reader.h"
#include "report/session.h"
#include "report/symbolize.h"
#include "tests/oracle/compare.h"

#define PCS_MAX MT_UNWIND_FRAMES_MAX
#define ORACLES 2
#define SPACES_MAX 64
#define SHOWN_MAX 5

/* The oracles of one set of mappings. */
struct space {
	uint64_t hash;
	struct mt_oracle_mapping *mappings;
	size_t n;
	struct mt_oracle *oracles[ORACLES];
};

static struct {
	struct mt_reader *reader;
	struct mt_session *session;
	struct mt_symbolizer *symbolizer;
	struct mt_unwinder *unwinder;
	struct space spaces[SPACES_MAX];
	size_t n_spaces;
	size_t stacks;
	size_t frames;
	size_t ends[MT_UNWIND_END_KINDS];
	size_t tally[ORACLES][MT_COMPARE_N];
	double seconds[1 + ORACLES];
	bool verbose;
} c;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Verified files mapped for this stack. */
static size_t list_mappings(const struct mt_stack *stack, struct mt_oracle_mapping *mappings,
			    uint64_t *ret_hash)
{
	const struct mt_placement *placement;
	struct mt_module *module;
	uint64_t hash = 0;
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < mt_session_placements(c.session); i++) {
		placement = mt_session_placement(c.session, i);
		if (mt_session_find(c.session, stack->process, stack->time, placement->start) != i)
			continue;
		module = mt_symbolizer_module(c.symbolizer, placement->file);
		if (!module || mt_module_status(module) != MT_MODULE_VERIFIED)
			continue;
		mappings[n].start = placement->start;
		mappings[n].end = placement->end;
		mappings[n].offset = placement->offset;
		mappings[n].path = mt_session_file(c.session, placement->file)->path;
		hash = (hash ^ placement->start ^ placement->file) * 0x9e3779b97f4a7c15u;
		n++;
	}
	*ret_hash = hash;
	return n;
}

static void release_space(struct space *space)
{
	size_t i;

	for (i = 0; i < ORACLES; i++)
		mt_oracle_free(space->oracles[i]);
	free(space->mappings);
	memset(space, 0, sizeof(*space));
}

static struct space *find_space(const struct mt_stack *stack)
{
	struct space space = { 0 };
	struct space *slot;
	size_t i;

	space.mappings = calloc(mt_session_placements(c.session) + 1, sizeof(*space.mappings));
	if (!space.mappings)
		abort();
	space.n = list_mappings(stack, space.mappings, &space.hash);
	for (i = 0; i < c.n_spaces && i < SPACES_MAX; i++) {
		if (c.spaces[i].hash == space.hash) {
			free(space.mappings);
			return &c.spaces[i];
		}
	}
	slot = &c.spaces[c.n_spaces++ % SPACES_MAX];
	release_space(slot);
	*slot = space;
	if (mt_oracle_libunwind_new(slot->mappings, slot->n, &slot->oracles[0]) ||
	    mt_oracle_libdw_new(slot->mappings, slot->n, &slot->oracles[1]))
		abort();
	return slot;
}

static void show(const char *name, enum mt_compare_kind kind, const struct mt_stack *stack,
		 const struct mt_frame *frames, size_t n, enum mt_unwind_end end,
		 const uint64_t *pcs, size_t n_pcs)
{
	const struct mt_placement *placement;
	size_t i;

	printf("stack %" PRIu32 ", %s: %s\n", stack->id, name, mt_compare_text(kind));
	printf("  ours %zu frames, %s; %s %zu\n", n, mt_unwind_end_id(end), name, n_pcs);
	for (i = 0; i < n || i < n_pcs; i++) {
		printf("  %3zu %16" PRIx64 " %16" PRIx64, i, i < n ? frames[i].pc : 0,
		       i < n_pcs ? pcs[i] : 0);
		if (i < n && frames[i].placement != MT_NONE) {
			placement = mt_session_placement(c.session, frames[i].placement);
			printf(" %u %s+%" PRIx64, frames[i].source,
			       mt_session_file(c.session, placement->file)->path,
			       frames[i].pc - placement->start + placement->offset);
		}
		printf("\n");
	}
}

static void compare(const struct mt_stack *stack)
{
	static uint64_t pcs[PCS_MAX];
	struct space *space = find_space(stack);
	const struct mt_frame *frames;
	enum mt_compare_kind kind;
	enum mt_unwind_end end;
	double begin = now();
	size_t common;
	size_t n_pcs;
	bool missed;
	size_t n;
	size_t i;

	n = mt_unwind(c.unwinder, stack, &frames, &end);
	c.seconds[0] += now() - begin;
	c.stacks++;
	c.frames += n;
	c.ends[end]++;
	for (i = 0; i < ORACLES; i++) {
		begin = now();
		if (mt_oracle_unwind(space->oracles[i], stack, pcs, PCS_MAX, &n_pcs, &missed))
			continue;
		c.seconds[1 + i] += now() - begin;
		kind = mt_compare(frames, n, end, pcs, n_pcs, missed, &common);
		if (c.tally[i][kind]++ < SHOWN_MAX && c.verbose && kind != MT_COMPARE_EQUAL)
			show(mt_oracle_name(space->oracles[i]), kind, stack, frames, n, end, pcs,
			     n_pcs);
	}
}

static int open_all(const char *path)
{
	struct mt_module_options options = { 0 };
	const struct mt_header *header;
	int err = mt_reader_open(path, &c.reader);

	if (err)
		return err;
	header = mt_reader_header(c.reader);
	options.kernel = header->kernel;
	err = mt_session_load(c.reader, &c.session);
	if (!err)
		err = mt_symbolizer_new(c.session, &options, &c.symbolizer);
	if (!err)
		err = mt_unwinder_new(header->arch, header->code_mask, mt_symbolizer_find_code,
				      c.symbolizer, &c.unwinder);
	return err;
}

static int compare_all(void)
{
	const struct mt_block *block;
	uint32_t i;
	int err;

	mt_reader_rewind(c.reader, MT_KIND_BIT(MT_BLOCK_STACKS));
	while ((err = mt_reader_next(c.reader, &block)) > 0)
		for (i = 0; i < block->n; i++)
			compare(&block->stacks[i]);
	return err;
}

static void summarize(void)
{
	static const char *const names[] = { "mt_unwind", "libunwind", "libdw" };
	size_t i;
	size_t k;

	printf("%zu stacks, %zu frames, %zu sets of mappings\n", c.stacks, c.frames, c.n_spaces);
	for (i = 0; i < MT_UNWIND_END_KINDS; i++)
		if (c.ends[i])
			printf("  %7zu %s\n", c.ends[i], mt_unwind_end_id((enum mt_unwind_end)i));
	for (i = 0; i < ORACLES; i++)
		for (k = 0; k < MT_COMPARE_N; k++)
			if (c.tally[i][k])
				printf("%s: %zu %s\n", names[1 + i], c.tally[i][k],
				       mt_compare_text((enum mt_compare_kind)k));
	for (i = 0; i < 1 + ORACLES; i++)
		printf("%s: %.3f s, %.0f stacks/s\n", names[i], c.seconds[i],
		       c.seconds[i] > 0 ? (double)c.stacks / c.seconds[i] : 0);
}

int main(int argc, char **argv)
{
	bool different = false;
	size_t i;
	int err;

	c.verbose = argc > 2 && !strcmp(argv[1], "-v");
	if (argc != (c.verbose ? 3 : 2)) {
		fprintf(stderr, "usage: compare_unwind [-v] FILE\n");
		return 64;
	}
	err = open_all(argv[argc - 1]);
	if (!err)
		err = compare_all();
	if (err) {
		fprintf(stderr, "compare_unwind: %s: %s\n", argv[argc - 1], mt_strerror(err));
		return 2;
	}
	summarize();
	for (i = 0; i < ORACLES; i++)
		different |= c.tally[i][MT_COMPARE_DIFFERENT] > 0;
	for (i = 0; i < SPACES_MAX; i++)
		release_space(&c.spaces[i]);
	mt_unwinder_free(c.unwinder);
	mt_symbolizer_free(c.symbolizer);
	mt_session_free(c.session);
	mt_reader_free(c.reader);
	return different;
}
