#include "report/cmd.h"

#include "report/reader.h"
#include "report/render_dump.h"
#include "report/timeline.h"

#include <unistd.h>

struct dump {
	const struct mt_analysis *analysis;
	bool json;
	uint64_t start;
	uint64_t from, until;	/* what is shown */
	uint32_t mark;		/* the next one */
};

static bool is_shown(const struct dump *dump, uint64_t time)
{
	return time >= dump->from && time < dump->until;
}

/* Marks up to this time: what happens at the time of a mark happens after it. */
static void put_marks(struct dump *dump, uint64_t time)
{
	const struct mt_mark_facts *marks = &dump->analysis->run.marks;
	const struct mt_moment *moment;

	for (; dump->mark < marks->n && marks->rows[dump->mark].time <= time; dump->mark++) {
		moment = &marks->rows[dump->mark];
		if (!is_shown(dump, moment->time))
			continue;
		if (dump->json)
			mt_dump_put_mark_json(moment, stdout);
		else
			mt_dump_put_mark(dump->start, moment, stdout);
	}
}

static void put_event(struct dump *dump, const struct mt_event *event)
{
	const struct mt_session *session = dump->analysis->session;

	if (mt_event_gives_up(event->type))
		return;
	put_marks(dump, event->time);
	if (!is_shown(dump, event->time))
		return;
	if (dump->json)
		mt_dump_put_event_json(session, event, stdout);
	else
		mt_dump_put_event(session, dump->start, event, stdout);
}

static void put_lifecycle(struct dump *dump, const struct mt_lifecycle *row)
{
	const struct mt_session *session = dump->analysis->session;

	put_marks(dump, row->time);
	if (!is_shown(dump, row->time))
		return;
	if (dump->json)
		mt_dump_put_lifecycle_json(session, row, stdout);
	else
		mt_dump_put_lifecycle(session, dump->start, row, stdout);
}

static int put_all(struct dump *dump)
{
	const struct mt_analysis *analysis = dump->analysis;
	struct mt_timeline_batch batch;
	struct mt_timeline *timeline;
	size_t i;
	int err = mt_timeline_open(analysis->reader, analysis->session, &timeline);

	if (err)
		return err;
	if (!dump->json)
		mt_dump_put_titles(stdout);
	for (;;) {
		err = mt_timeline_next(timeline, &batch);
		if (err <= 0 || ferror(stdout))
			break;
		for (i = 0; i < batch.n; i++)
			put_event(dump, &batch.events[i]);
		if (batch.lifecycle)
			put_lifecycle(dump, batch.lifecycle);
	}
	put_marks(dump, UINT64_MAX);
	mt_timeline_free(timeline);
	return err < 0 ? err : 0;
}

int mt_cmd_dump(const struct mt_report_opts *opts)
{
	struct mt_analysis analysis;
	struct dump dump = { .analysis = &analysis, .json = opts->json };
	int err, code;

	if (!mt_cmd_load(opts, 0, &analysis))
		return MT_EXIT_NO_RESULT;
	dump.start = analysis.run.header->start_time;
	mt_analysis_range(&analysis, &dump.from, &dump.until);
	/* What it prints shows on a terminal how far it is. */
	if (!isatty(STDOUT_FILENO))
		mt_cmd_watch(analysis.reader, "printing events");
	err = put_all(&dump);
	mt_cmd_watch(analysis.reader, NULL);
	/* Only now is it known how far the events could be read. */
	if (!err) {
		mt_reader_end(analysis.reader, &analysis.end);
		mt_problems_release(&analysis.problems);
		err = mt_problems_find(&analysis);
	}
	code = err ? mt_cmd_fail(opts->file, err) : mt_cmd_finish(&analysis.problems, false);
	mt_analysis_release(&analysis);
	return code;
}
