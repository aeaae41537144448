#include "report/cmd.h"

#include "common/error.h"
#include "report/reader.h"

#include <inttypes.h>

struct counts {
	uint64_t events, stacks, blocks;
};

static int count(struct mt_reader *reader, struct counts *counts)
{
	const struct mt_block *block;
	int err;

	mt_reader_rewind(reader, ~0u);
	for (;;) {
		err = mt_reader_next(reader, &block);
		if (err <= 0)
			return err;
		counts->blocks++;
		if (block->kind == MT_BLOCK_EVENTS)
			counts->events += block->n;
		if (block->kind == MT_BLOCK_STACKS)
			counts->stacks += block->n;
	}
}

/* What the end of the file says is compared with what was read. */
static int check_trailer(const struct mt_trailer *trailer, const struct counts *counts,
			 struct mt_problems *problems)
{
	int err = 0;

	if (trailer->events != counts->events)
		err = mt_problems_add(problems, "the file should have %" PRIu64
				      " events and has %" PRIu64, trailer->events, counts->events);
	if (!err && trailer->stacks != counts->stacks)
		err = mt_problems_add(problems, "the file should have %" PRIu64
				      " stacks and has %" PRIu64, trailer->stacks, counts->stacks);
	return err;
}

static void put_end(const char *file, const struct mt_reader_end *end, FILE *out)
{
	mt_text_put_clean(file, out);
	switch (end->kind) {
	case MT_END_COMPLETE:
		fputs(end->no_index ? ": contents whole, but the seek table is damaged or missing" :
				      ": whole", out);
		break;
	case MT_END_NO_TRAILER:
		fprintf(out, ": not finished: it ends after a frame, at byte %" PRIu64
			", but has no trailer", end->offset);
		break;
	case MT_END_CUT:
		fprintf(out, ": cut: usable up to byte %" PRIu64 " of %" PRIu64, end->offset,
			end->file_size);
		break;
	case MT_END_DAMAGED:
		fprintf(out, ": damaged: usable up to byte %" PRIu64 " of %" PRIu64, end->offset,
			end->file_size);
		break;
	}
}

int mt_cmd_check(const struct mt_report_opts *opts)
{
	struct mt_problems problems = { 0 };
	struct counts counts = { 0 };
	struct mt_reader_end end;
	struct mt_workers *workers;
	struct mt_reader *reader;
	int err, code;

	err = mt_workers_new((unsigned int)opts->threads, &workers);
	if (err)
		return mt_cmd_fail(opts->file, err);
	err = mt_reader_open(opts->file, &reader);
	if (err) {
		mt_workers_free(workers);
		return mt_cmd_fail(opts->file, err);
	}
	mt_cmd_watch(reader, "checking");
	err = mt_reader_use(reader, workers);
	if (!err)
		err = count(reader, &counts);
	mt_cmd_watch(reader, NULL);
	mt_reader_end(reader, &end);
	if (!err && end.kind == MT_END_COMPLETE)
		err = check_trailer(mt_reader_trailer(reader), &counts, &problems);
	if (err) {
		code = mt_cmd_fail(opts->file, err);
		goto out;
	}

	put_end(opts->file, &end, stdout);
	printf("; %" PRIu32 " frames, %" PRIu64 " blocks, %" PRIu64 " events, %" PRIu64
	       " stack definitions\n", end.frames, counts.blocks, counts.events, counts.stacks);
	if (end.unknown_blocks || end.unknown_columns)
		printf("%s: from a later version: %" PRIu32 " blocks and %" PRIu32
		       " columns, keys or rows were passed over\n", opts->file, end.unknown_blocks,
		       end.unknown_columns);
	code = mt_cmd_finish(&problems, false);
	if ((end.kind != MT_END_COMPLETE || end.no_index) && code == MT_EXIT_COMPLETE)
		code = MT_EXIT_PARTIAL;
out:
	mt_problems_release(&problems);
	mt_reader_free(reader);
	mt_workers_free(workers);
	return code;
}
