/* mt-report: what an artifact of mt-record says about a program's memory. */
#include "report/cmd.h"

#include "common/version.h"

static int (*const commands[MT_COMMANDS])(const struct mt_report_opts *opts) = {
	[MT_COMMAND_SYMBOLIZE] = mt_cmd_symbolize,
	[MT_COMMAND_STAT] = mt_cmd_stat,
	[MT_COMMAND_TOP] = mt_cmd_top,
	[MT_COMMAND_FOLDED] = mt_cmd_folded,
	[MT_COMMAND_DUMP] = mt_cmd_dump,
	[MT_COMMAND_CHECK] = mt_cmd_check,
	[MT_COMMAND_PACK] = mt_cmd_pack,
	[MT_COMMAND_EXPORT] = mt_cmd_export,
};

int main(int argc, char **argv)
{
	static const struct mt_problems none;
	char error[MT_OPTIONS_ERROR_MAX];
	struct mt_report_opts opts;

	if (mt_report_opts_parse(argc, argv, &opts, error)) {
		mt_cmd_say("%s", error);
		return MT_EXIT_USAGE;
	}
	if (opts.help) {
		mt_report_opts_help(opts.command, stdout);
		return mt_cmd_finish(&none, false);
	}
	if (opts.version) {
		puts("mt-report " MT_VERSION);
		return mt_cmd_finish(&none, false);
	}
	return commands[opts.command](&opts);
}
