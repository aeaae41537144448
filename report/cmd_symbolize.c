#include "report/cmd.h"

#include "common/error.h"
#include "report/profile_folder.h"
#include "report/top_report.h"

#include <errno.h>

static int report(const struct mt_analysis *analysis, const struct mt_report_opts *opts)
{
	struct mt_top_report top;
	int err = mt_top_report_build(analysis, opts->by, opts->rows, &top);

	if (err)
		return err;
	mt_render_top(&top, mt_cmd_style(), stdout);
	mt_top_report_release(&top);
	return 0;
}

static int write_folder(const struct mt_analysis *analysis, const struct mt_report_opts *opts,
			const char *dir)
{
	char *name = NULL, *version = NULL;
	int err;

	if (opts->integration) {
		name = strdup(opts->integration);
		if (!name)
			return -ENOMEM;
		version = strchr(name, ',');
		*version++ = 0;
	}
	err = mt_profile_folder_write(dir, analysis->session, analysis->symbolizer, name, version);
	free(name);
	return err;
}

int mt_cmd_symbolize(const struct mt_report_opts *opts)
{
	unsigned int needs = MT_NEED_MODULES;
	struct mt_analysis analysis;
	char *dir = NULL;
	int err, code;

	if (!opts->no_report)
		needs |= MT_NEED_PROFILE | MT_NEED_PATHS | MT_NEED_NAMES | mt_cmd_events(opts);
	if (!mt_cmd_load(opts, needs, &analysis))
		return MT_EXIT_NO_RESULT;
	if (opts->output ? !(dir = strdup(opts->output)) :
			   asprintf(&dir, "%s.profile", opts->file) < 0) {
		dir = NULL;
		code = mt_cmd_fail(opts->file, -ENOMEM);
		goto out;
	}

	mt_cmd_progress(NULL, "writing the profile folder");
	err = write_folder(&analysis, opts, dir);
	mt_cmd_progress(NULL, NULL);
	if (err) {
		code = mt_cmd_fail(dir, err);
		goto out;
	}
	if (!opts->no_report) {
		err = report(&analysis, opts);
		if (err) {
			code = mt_cmd_fail(opts->file, err);
			goto out;
		}
	}
	code = mt_cmd_finish(&analysis.problems, !opts->no_report);
	mt_cmd_say("the profile folder is %s", dir);
out:
	free(dir);
	mt_analysis_release(&analysis);
	return code;
}
