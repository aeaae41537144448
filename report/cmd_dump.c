#include "report/cmd.h"

#include "report/reader.h"
#include "report/render_dump.h"
#include "report/timeline.h"

static void put_batch(const struct mt_analysis *analysis, const struct mt_timeline_batch *batch,
		      bool json)
{
	uint64_t start = analysis->run.header->start_time;
	size_t i;

	for (i = 0; i < batch->n; i++) {
		if (batch->events[i].type == MT_EV_GIVE_UP)
			continue;
		if (json)
			mt_dump_put_event_json(analysis->session, &batch->events[i], stdout);
		else
			mt_dump_put_event(analysis->session, start, &batch->events[i], stdout);
	}
	if (!batch->lifecycle)
		return;
	if (json)
		mt_dump_put_lifecycle_json(analysis->session, batch->lifecycle, stdout);
	else
		mt_dump_put_lifecycle(analysis->session, start, batch->lifecycle, stdout);
}

static int dump(const struct mt_analysis *analysis, bool json)
{
	struct mt_timeline_batch batch;
	struct mt_timeline *timeline;
	int err = mt_timeline_open(analysis->reader, analysis->session, &timeline);

	if (err)
		return err;
	if (!json)
		mt_dump_put_titles(stdout);
	for (;;) {
		err = mt_timeline_next(timeline, &batch);
		if (err <= 0 || ferror(stdout))
			break;
		put_batch(analysis, &batch, json);
	}
	mt_timeline_free(timeline);
	return err < 0 ? err : 0;
}

int mt_cmd_dump(const struct mt_report_opts *opts)
{
	struct mt_analysis analysis;
	int err, code;

	if (!mt_cmd_load(opts, 0, &analysis))
		return MT_EXIT_NO_RESULT;
	err = dump(&analysis, opts->json);
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
