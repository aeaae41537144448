#include "report/cmd.h"

#include "report/pack_write.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

/* run.mt becomes run.mtp, anything else gets .mtp appended. NULL: out of memory. */
static char *pack_name(const struct mt_report_opts *opts)
{
	size_t n = strlen(opts->file);
	char *name;

	if (opts->output)
		return strdup(opts->output);
	if (asprintf(&name, n > 3 && !strcmp(opts->file + n - 3, ".mt") ? "%sp" : "%s.mtp",
		     opts->file) < 0)
		return NULL;
	return name;
}

int mt_cmd_pack(const struct mt_report_opts *opts)
{
	struct mt_pack_summary summary;
	struct mt_analysis analysis;
	char before[MT_TEXT_MAX], after[MT_TEXT_MAX];
	char *name = pack_name(opts);
	const char *told = name && strcmp(name, "-") ? name : "standard output";
	int err, code;

	if (!name)
		return mt_cmd_fail(opts->file, -ENOMEM);
	if (told != name && isatty(STDOUT_FILENO)) {
		mt_cmd_say("pack: a pack is not for a terminal; use --output=PACK");
		free(name);
		return MT_EXIT_USAGE;
	}
	if (!mt_cmd_load(opts, MT_NEED_MODULES, &analysis)) {
		free(name);
		return MT_EXIT_NO_RESULT;
	}
	mt_cmd_watch(analysis.reader, "packing");
	err = mt_pack_write(name, &analysis, opts->with_binaries, &summary);
	mt_cmd_watch(analysis.reader, NULL);
	if (err) {
		code = mt_cmd_fail(told, err);
		goto out;
	}
	code = mt_cmd_finish(&analysis.problems, false);
	mt_cmd_say("%s: %s, with %s of %" PRIu32 " module%s in %" PRIu32 " file%s", told,
		   mt_text_bytes(summary.bytes, after), mt_text_bytes(summary.image_bytes, before),
		   summary.files, summary.files == 1 ? "" : "s", summary.images,
		   summary.images == 1 ? "" : "s");
out:
	free(name);
	mt_analysis_release(&analysis);
	return code;
}
