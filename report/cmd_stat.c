#include "report/cmd.h"

#include "report/stat_report.h"

int mt_cmd_stat(const struct mt_report_opts *opts)
{
	struct mt_stat_report report;
	struct mt_analysis analysis;
	int err, code;

	if (!mt_cmd_load(opts, MT_NEED_PROFILE | MT_NEED_REGIONS | MT_NEED_PATHS |
			       MT_NEED_MODULES, &analysis))
		return MT_EXIT_NO_RESULT;
	err = mt_stat_report_build(&analysis, &report);
	if (!err && opts->json)
		mt_render_stat_json(&report, stdout);
	else if (!err)
		err = mt_render_stat(&report, mt_cmd_style(), stdout);
	code = err ? mt_cmd_fail(opts->file, err) :
		     mt_cmd_finish(&analysis.problems, !opts->json);
	mt_analysis_release(&analysis);
	return code;
}
