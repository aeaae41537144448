#include "report/stat_report.h"

#include "report/analysis.h"

int mt_stat_report_build(const struct mt_analysis *a, struct mt_stat_report *ret_report)
{
	struct mt_ranked_path *rows;
	size_t n;
	int err = mt_rank_paths(a->profile, a->paths, MT_BY_COUNT, &rows, &n);

	if (err)
		return err;
	*ret_report = (struct mt_stat_report){
		.run = &a->run, .end = a->end, .totals = mt_profile_totals(a->profile),
		.n_processes = mt_session_processes(a->session),
		.n_threads = mt_session_threads(a->session), .modules = &a->modules,
		.problems = (const char *const *)a->problems.lines, .n_problems = a->problems.n,
	};
	if (a->regions)
		ret_report->regions = mt_profile_totals(a->regions);
	if (a->between.set) {
		ret_report->from = &a->run.marks.rows[a->between.from];
		ret_report->until = &a->run.marks.rows[a->between.until];
	}
	mt_completeness_count(rows, n, a->paths, a->session, a->run.header->stack_size,
			      &ret_report->completeness);
	free(rows);
	return 0;
}

const char *mt_event_name(unsigned int type)
{
	static const char *const names[MT_EV_TYPES] = {
		[MT_EV_MALLOC] = "malloc", [MT_EV_CALLOC] = "calloc", [MT_EV_REALLOC] = "realloc",
		[MT_EV_ALIGNED] = "aligned", [MT_EV_FREE] = "free", [MT_EV_MMAP] = "mmap",
		[MT_EV_MUNMAP] = "munmap", [MT_EV_MREMAP] = "mremap", [MT_EV_BRK] = "brk",
	};

	return type < MT_EV_TYPES && names[type] ? names[type] : "unknown";
}

const char *mt_lifecycle_name(unsigned int type)
{
	static const char *const names[MT_LC_TYPES] = {
		[MT_LC_START] = "start", [MT_LC_FORK] = "fork", [MT_LC_EXEC] = "exec",
		[MT_LC_EXIT] = "exit", [MT_LC_THREAD] = "thread",
		[MT_LC_THREAD_EXIT] = "thread_exit", [MT_LC_NAME] = "name",
	};

	return type < MT_LC_TYPES && names[type] ? names[type] : "unknown";
}
