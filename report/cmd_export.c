#include "report/cmd.h"

#include "report/export_stream.h"
#include "report/reader.h"

int mt_cmd_export(const struct mt_report_opts *opts)
{
	struct mt_analysis analysis;
	char *path;
	int err, code;

	if (!mt_cmd_load(opts, 0, &analysis))
		return MT_EXIT_NO_RESULT;
	mt_cmd_watch(analysis.reader, "exporting");
	err = mt_export_memtrack(opts->output, &analysis, &path);
	mt_cmd_watch(analysis.reader, NULL);
	if (err) {
		code = mt_cmd_fail(opts->output, err);
		goto out;
	}
	/* Only now is it known how far the file could be read. */
	mt_reader_end(analysis.reader, &analysis.end);
	mt_problems_release(&analysis.problems);
	err = mt_problems_find(&analysis);
	code = err ? mt_cmd_fail(opts->file, err) : mt_cmd_finish(&analysis.problems, false);
	if (!err && analysis.run.header->sample_bytes)
		mt_cmd_say("the recording is sampled, which the event stream does not say: it has "
			   "what was recorded and no more");
	if (!err)
		mt_cmd_say("the event stream is %s", path);
	free(path);
out:
	mt_analysis_release(&analysis);
	return code;
}
