/*
 * tests/oracle/check_identity.c - do stacks of one identity unwind to the same calls?
 *
 *	check_identity FILE
 *
 * For recordings made with --stack-identity every, which have every capture and its identity.
 * Prints captures, identities, call paths and how many identities stand for several paths, with
 * the first few of these. Exit status 1 if there is one.
 */
#include <inttypes.h>

#include "common/error.h"
#include "report/analysis.h"

#define SHOWN_MAX 5

struct capture {
	uint64_t identity;
	uint32_t id;
	uint32_t path;
};

static struct mt_analysis analysis;
static struct capture *captures;
static size_t n_captures, cap_captures;

static int by_identity(const void *va, const void *vb)
{
	const struct capture *a = va, *b = vb;

	if (a->identity != b->identity)
		return a->identity < b->identity ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int add(const struct mt_stack *stack)
{
	struct capture *grown;
	size_t more = cap_captures ? 2 * cap_captures : 4096;

	if (n_captures == cap_captures) {
		grown = reallocarray(captures, more, sizeof(*grown));
		if (!grown)
			return -1;
		captures = grown;
		cap_captures = more;
	}
	captures[n_captures++] = (struct capture){
		stack->identity, stack->id, mt_paths_of_stack(analysis.paths, stack->id),
	};
	return 0;
}

static int read_captures(void)
{
	const struct mt_block *block;
	uint32_t i;
	int err;

	mt_reader_rewind(analysis.reader, MT_KIND_BIT(MT_BLOCK_STACKS));
	for (;;) {
		err = mt_reader_next(analysis.reader, &block);
		if (err <= 0)
			return err;
		for (i = 0; i < block->n; i++)
			if (add(&block->stacks[i]))
				return -1;
	}
}

static void show(const struct capture *capture)
{
	const struct mt_path *path = mt_paths_at(analysis.paths, capture->path);
	const struct mt_path_node *node;
	const struct mt_call *call;
	uint32_t at = path->leaf;

	printf("  stack %" PRIu32 ", identity %016" PRIx64 ", %" PRIu32 " calls, end %d:\n",
	       capture->id, capture->identity, path->n_calls, (int)path->end);
	for (; at != MT_PATHS_NONE; at = node->parent) {
		node = mt_paths_node(analysis.paths, at);
		call = mt_paths_call(analysis.paths, node->call);
		printf("    %s+0x%" PRIx64 "\n", call->file == MT_PATHS_NONE ? "?" :
		       mt_session_file(analysis.session, call->file)->path, call->offset);
	}
}

int main(int argc, char **argv)
{
	const struct mt_module_options options = { 0 };
	size_t i, identities = 0, first = 0, unsound = 0;
	uint32_t seen = MT_PATHS_NONE;
	int err;

	if (argc != 2) {
		fputs("usage: check_identity FILE\n", stderr);
		return 64;
	}
	err = mt_analysis_load(argv[1], MT_NEED_PATHS, &options, 0, NULL, NULL, NULL, &analysis);
	if (!err)
		err = read_captures();
	if (err) {
		fprintf(stderr, "check_identity: %s: %s\n", argv[1], mt_strerror(err));
		return 2;
	}
	if (n_captures)
		qsort(captures, n_captures, sizeof(*captures), by_identity);
	for (i = 0; i < n_captures; i++) {
		if (!i || captures[i].identity != captures[first].identity) {
			first = i;
			seen = captures[i].path;
			identities++;
		}
		if (captures[i].path == seen)
			continue;
		/* Once for each identity. */
		seen = captures[i].path;
		if (unsound++ < SHOWN_MAX) {
			show(&captures[first]);
			show(&captures[i]);
		}
	}
	printf("%zu captures, %zu identities, %" PRIu32 " call paths, %zu unsound\n", n_captures,
	       identities, mt_paths_count(analysis.paths), unsound);
	free(captures);
	mt_analysis_release(&analysis);
	return unsound ? 1 : 0;
}
