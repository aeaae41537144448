#include "report/run_facts.h"

#include "common/error.h"
#include "report/intern.h"

#include <errno.h>

/* Rows are running totals: the latest of a (source, cause) counts. */
static int take_loss(struct mt_run *run, const struct mt_loss *row)
{
	struct mt_loss copy = *row;
	struct mt_loss *grown;
	uint32_t i;

	copy.source = mt_intern_text(run->strings, row->source);
	copy.cause = mt_intern_text(run->strings, row->cause);
	if (!copy.source || !copy.cause)
		return -ENOMEM;
	for (i = 0; i < run->n_losses; i++) {
		if (run->losses[i].source == copy.source && run->losses[i].cause == copy.cause) {
			if (copy.count > run->losses[i].count)
				run->losses[i] = copy;
			return 0;
		}
	}
	if (run->n_losses == MT_RUN_LOSSES_MAX)
		return -MT_E_LIMIT;
	grown = realloc(run->losses, (run->n_losses + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	run->losses = grown;
	run->losses[run->n_losses++] = copy;
	return 0;
}

static int by_source(const void *a, const void *b)
{
	const struct mt_loss *x = a, *y = b;
	int order = strcmp(x->source, y->source);

	return order ? order : strcmp(x->cause, y->cause);
}

static int read_rows(struct mt_run *run, struct mt_reader *reader)
{
	const struct mt_block *block;
	uint32_t i;
	int err;

	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_LOSS) | MT_KIND_BIT(MT_BLOCK_CHECKPOINT) |
				 MT_KIND_BIT(MT_BLOCK_COVERAGE) | MT_KIND_BIT(MT_BLOCK_MARKS));
	for (;;) {
		err = mt_reader_next(reader, &block);
		if (err <= 0)
			return err;
		if (block->kind == MT_BLOCK_CHECKPOINT && block->n &&
		    block->checkpoint->time > run->last_time)
			run->last_time = block->checkpoint->time;
		for (i = 0; block->kind == MT_BLOCK_COVERAGE && i < block->n; i++) {
			err = mt_coverage_facts_take(&run->coverage, &block->coverage[i],
						     run->strings);
			if (err)
				return err;
		}
		for (i = 0; block->kind == MT_BLOCK_MARKS && i < block->n; i++) {
			err = mt_mark_facts_take(&run->marks, &block->marks[i], run->strings);
			if (err)
				return err;
		}
		if (block->kind != MT_BLOCK_LOSS)
			continue;
		for (i = 0; i < block->n; i++) {
			err = take_loss(run, &block->loss[i]);
			if (err)
				return err;
		}
	}
}

int mt_run_load(struct mt_reader *reader, struct mt_run *ret_run)
{
	struct mt_run run = { .header = mt_reader_header(reader) };
	uint32_t i;
	int err = mt_intern_new(&run.strings);

	if (!err)
		err = read_rows(&run, reader);
	if (!err)
		err = mt_mark_facts_sort(&run.marks);
	if (err) {
		mt_run_release(&run);
		return err;
	}

	mt_coverage_facts_sort(&run.coverage);
	if (run.n_losses)
		qsort(run.losses, run.n_losses, sizeof(*run.losses), by_source);
	for (i = 0; i < run.n_losses; i++)
		if (__builtin_add_overflow(run.lost, run.losses[i].count, &run.lost))
			run.lost = UINT64_MAX;
	run.trailer = mt_reader_trailer(reader);
	if (run.trailer)
		run.last_time = run.trailer->end_time;
	*ret_run = run;
	return 0;
}

void mt_run_release(struct mt_run *run)
{
	free(run->losses);
	mt_coverage_facts_release(&run->coverage);
	mt_mark_facts_release(&run->marks);
	mt_intern_free(run->strings);
	memset(run, 0, sizeof(*run));
}

static bool plain(const char *arg)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-+=./,:@%^";

	return *arg && !arg[strspn(arg, safe)];
}

/* In single quotes; control characters, which no line can hold, as ?. */
static void put_quoted(FILE *out, const char *arg)
{
	putc('\'', out);
	for (; *arg; arg++) {
		if (*arg == '\'')
			fputs("'\\''", out);
		else
			putc((unsigned char)*arg < ' ' || *arg == 127 ? '?' : *arg, out);
	}
	putc('\'', out);
}

char *mt_run_command(const struct mt_run *run)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	uint32_t i;
	int failed;

	if (!out)
		return NULL;
	for (i = 0; i < run->header->n_args; i++) {
		if (i)
			putc(' ', out);
		if (plain(run->header->args[i]))
			fputs(run->header->args[i], out);
		else
			put_quoted(out, run->header->args[i]);
	}
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		return NULL;
	}
	return text;
}
