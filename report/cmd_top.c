#include "report/cmd.h"

#include "report/top_report.h"

int mt_cmd_top(const struct mt_report_opts *opts)
{
	struct mt_top_report report;
	struct mt_analysis analysis;
	int err, code;

	if (!mt_cmd_load(opts, MT_NEED_PROFILE | MT_NEED_PATHS | MT_NEED_NAMES | MT_NEED_MODULES |
			       mt_cmd_events(opts), &analysis))
		return MT_EXIT_NO_RESULT;
	err = mt_top_report_build(&analysis, opts->by, opts->rows, &report);
	if (err) {
		code = mt_cmd_fail(opts->file, err);
		goto out;
	}

	if (opts->json)
		mt_render_top_json(&report, stdout);
	else
		mt_render_top(&report, mt_cmd_style(), stdout);
	code = mt_cmd_finish(&analysis.problems, !opts->json);
	mt_top_report_release(&report);
out:
	mt_analysis_release(&analysis);
	return code;
}
