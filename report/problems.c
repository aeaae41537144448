/* Why a report is partial, in words. */
#include "report/analysis.h"

#include "report/completeness.h"
#include "report/debuginfod.h"
#include "report/jit.h"
#include "report/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

int mt_problems_add(struct mt_problems *problems, const char *format, ...)
{
	char **lines = realloc(problems->lines, (problems->n + 1) * sizeof(*lines));
	va_list args;
	char *line;
	int n;

	if (!lines)
		return -ENOMEM;
	problems->lines = lines;
	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	lines[problems->n++] = line;
	return 0;
}

void mt_problems_release(struct mt_problems *problems)
{
	size_t i;

	for (i = 0; i < problems->n; i++)
		free(problems->lines[i]);
	free(problems->lines);
	memset(problems, 0, sizeof(*problems));
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static int find_no_trailer(struct mt_analysis *a)
{
	uint64_t start = a->run.header->start_time, last = a->run.last_time;

	if (!last || last < start)
		return mt_problems_add(&a->problems, "the recording was not finished: "
				       "it ends before its first checkpoint");
	return mt_problems_add(&a->problems, "the recording was not finished: "
			       "what happened after its last checkpoint, at %" PRIu64
			       ".%03" PRIu64 " s, is missing", (last - start) / 1000000000,
			       (last - start) / 1000000 % 1000);
}

static int find_end(struct mt_analysis *a)
{
	const struct mt_reader_end *end = &a->end;

	switch (end->kind) {
	case MT_END_COMPLETE:
		return 0;
	case MT_END_NO_TRAILER:
		return find_no_trailer(a);
	case MT_END_CUT:
		return mt_problems_add(&a->problems, "the file is cut: only the first %" PRIu64
				       " of %" PRIu64 " bytes could be used", end->offset,
				       end->file_size);
	case MT_END_DAMAGED:
		return mt_problems_add(&a->problems, "the file is damaged at byte %" PRIu64
				       " of %" PRIu64 ": what follows is not used", end->offset,
				       end->file_size);
	}
	return 0;
}

/* What the loss of rows of a source means for the figures. */
static const struct {
	const char *source;
	const char *what;
	const char *effect;
} effects[] = {
	{ "events", "event", "leak and peak figures may be wrong" },
	{ "lifecycle", "process event", "leak and peak figures may be wrong" },
	{ "threads", "thread", "leak and peak figures may be wrong" },
	{ "records", "damaged record", "leak and peak figures may be wrong" },
	{ "stacks", "stack", "some allocations have no call stack" },
	{ "files", "file", "not every file can be recognised on another machine" },
	{ "mappings", "mapping", "some call stacks may be incomplete or without names" },
	{ "requests", "attach request", "leak and peak figures may be wrong, calls unseen" },
};

static int find_loss(struct mt_analysis *a, const struct mt_loss *loss)
{
	const char *what = "record", *effect = "figures may be wrong";
	uint64_t start = a->run.header->start_time;
	char when[48] = "";
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(effects); i++) {
		if (!strcmp(effects[i].source, loss->source)) {
			what = effects[i].what;
			effect = effects[i].effect;
		}
	}
	if (loss->first >= start && loss->first)
		snprintf(when, sizeof(when), ", first at %" PRIu64 ".%03" PRIu64 " s",
			 (loss->first - start) / 1000000000,
			 (loss->first - start) / 1000000 % 1000);
	return mt_problems_add(&a->problems, "%s: %" PRIu64 " %s%s lost (%s%s)", effect,
			       loss->count, what, plural(loss->count), loss->cause, when);
}

static int find_events(struct mt_analysis *a)
{
	const struct mt_profile_totals *totals = mt_profile_totals(a->profile);
	const struct mt_trailer *trailer = a->run.trailer;
	int err = 0;

	if (trailer && trailer->events != totals->events_read && a->end.kind == MT_END_COMPLETE)
		err = mt_problems_add(&a->problems, "the file should have %" PRIu64
				      " events and has %" PRIu64, trailer->events,
				      totals->events_read);
	if (!err && totals->late)
		err = mt_problems_add(&a->problems, "leak and peak figures may be wrong: %" PRIu64
				      " event%s further out of order than the file says",
				      totals->late, plural(totals->late));
	if (!err && totals->conflicts)
		err = mt_problems_add(&a->problems, "leak and peak figures may be wrong: %" PRIu64
				      " block%s allocated where one was not yet freed",
				      totals->conflicts, plural(totals->conflicts));
	if (!err && totals->bad_events)
		err = mt_problems_add(&a->problems, "%" PRIu64
				      " event%s of unknown type or without an address",
				      totals->bad_events, plural(totals->bad_events));
	return err;
}

/* Events that refer to stacks nobody defined; without loss this is damage. */
static int find_undefined(struct mt_analysis *a)
{
	uint32_t i, id, undefined = 0;

	for (i = 0; i < mt_profile_stacks(a->profile); i++) {
		id = mt_profile_stack_id(a->profile, i);
		undefined += id && mt_paths_of_stack(a->paths, id) == MT_PATHS_NONE;
	}
	return undefined ? mt_problems_add(&a->problems, "%" PRIu32 " call stack%s that events "
					   "refer to not in the file", undefined,
					   plural(undefined)) : 0;
}

static int find_refused(struct mt_analysis *a)
{
	const struct mt_module_facts *facts;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < a->modules.n; i++) {
		facts = &a->modules.facts[i];
		if (mt_module_refused(facts))
			err = mt_problems_add(&a->problems, "%s: refused (%s): %s",
					      facts->path, mt_module_status_name(facts->status),
					      facts->reason);
	}
	return err;
}

/* Files that would have named code compiled at run time. */
static int find_refused_maps(struct mt_analysis *a)
{
	const char *path, *reason;
	uint32_t i;
	int err = 0;

	if (!a->symbolizer)
		return 0;
	for (i = 0; !err && i < mt_session_processes(a->session); i++)
		if (mt_jit_refused(mt_symbolizer_jit(a->symbolizer), i, &path, &reason))
			err = mt_problems_add(&a->problems, "%s: refused: %s", path, reason);
	return err;
}

/* Stacks that were captured and could not be followed to the end. */
static int find_incomplete(struct mt_analysis *a)
{
	struct mt_ranked_path *rows;
	struct mt_completeness c;
	char *line = NULL;
	FILE *out;
	size_t n;
	int err;

	err = mt_rank_paths(a->profile, a->paths, MT_BY_COUNT, &rows, &n);
	if (err)
		return err;
	mt_completeness_count(rows, n, a->paths, a->session, a->run.header->stack_size, &c);
	free(rows);
	if (!mt_completeness_incomplete(&c))
		return 0;
	out = open_memstream(&line, &n);
	if (!out)
		return -ENOMEM;
	mt_completeness_put_incomplete(&c, out);
	err = fclose(out) ? -ENOMEM : mt_problems_add(&a->problems, "%s", line);
	free(line);
	return err;
}

int mt_problems_find(struct mt_analysis *a)
{
	uint32_t i;
	int err = find_end(a);

	for (i = 0; !err && i < a->run.n_losses; i++)
		err = find_loss(a, &a->run.losses[i]);
	if (!err && a->profile)
		err = find_events(a);
	if (!err && a->profile && a->paths)
		err = find_undefined(a);
	if (!err && a->profile && a->paths)
		err = find_incomplete(a);
	if (!err && mt_session_bad_rows(a->session))
		err = mt_problems_add(&a->problems, "%" PRIu64 " row%s on processes, threads or "
				      "mappings at odds with others",
				      mt_session_bad_rows(a->session),
				      plural(mt_session_bad_rows(a->session)));
	if (!err && a->end.unknown_blocks)
		err = mt_problems_add(&a->problems, "%" PRIu32 " block%s of kinds this program "
				      "does not know passed over", a->end.unknown_blocks,
				      plural(a->end.unknown_blocks));
	if (!err)
		err = find_refused(a);
	if (!err)
		err = find_refused_maps(a);
	if (!err && a->debuginfod && mt_debuginfod_failure(a->debuginfod))
		err = mt_problems_add(&a->problems, "debuginfod servers are not asked any more: %s",
				      mt_debuginfod_failure(a->debuginfod));
	return err;
}
