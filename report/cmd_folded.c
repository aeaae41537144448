#include "report/cmd.h"

#include "report/folded.h"

static int fold(const struct mt_analysis *analysis, enum mt_by by, struct mt_folded *folded)
{
	struct mt_ranked_path *rows;
	struct mt_top_stack stack;
	size_t n, i;
	int err = mt_rank_paths(analysis->profile, analysis->paths, by, &rows, &n);

	if (err)
		return err;
	for (i = 0; !err && i < n; i++) {
		err = mt_top_stack_expand(analysis, &rows[i], &stack);
		if (err)
			break;
		err = mt_folded_add(folded, &stack, mt_weight(&rows[i].totals, by));
		free(stack.frames);
	}
	free(rows);
	mt_folded_merge(folded);
	return err;
}

int mt_cmd_folded(const struct mt_report_opts *opts)
{
	struct mt_folded folded = { 0 };
	struct mt_analysis analysis;
	int err, code;

	if (!mt_cmd_load(opts, MT_NEED_PROFILE | MT_NEED_PATHS | MT_NEED_NAMES | MT_NEED_MODULES |
			       mt_cmd_events(opts), &analysis))
		return MT_EXIT_NO_RESULT;
	err = fold(&analysis, opts->by, &folded);
	if (!err)
		mt_folded_put(&folded, stdout);
	if (!err && !analysis.mmap && analysis.run.header->sample_bytes)
		mt_cmd_say("the recording is sampled: all numbers are estimates");
	code = err ? mt_cmd_fail(opts->file, err) : mt_cmd_finish(&analysis.problems, false);
	mt_folded_release(&folded);
	mt_analysis_release(&analysis);
	return code;
}
