#include "report/top_report.h"

#include "report/analysis.h"

#include <errno.h>
#include <unistd.h>

static size_t at_most(uint64_t rows, size_t n)
{
	return rows && rows < n ? rows : n;
}

static const char *module_of(const struct mt_analysis *a, uint32_t call)
{
	uint32_t file = mt_paths_call(a->paths, call)->file;

	return file == MT_PATHS_NONE ? NULL : mt_session_file(a->session, file)->path;
}

int mt_top_stack_expand(const struct mt_analysis *a, const struct mt_ranked_path *row,
			struct mt_top_stack *stack)
{
	const struct mt_location *locations;
	const struct mt_path_node *at;
	size_t n = 0, some, i;
	uint32_t node, leaf;

	*stack = (struct mt_top_stack){ .kind = row->kind, .totals = row->totals };
	if (row->kind != MT_RANKED_PATH)
		return 0;
	stack->end = mt_paths_at(a->paths, row->path)->end;
	leaf = mt_paths_at(a->paths, row->path)->leaf;
	for (node = leaf; node != MT_PATHS_NONE; node = at->parent) {
		at = mt_paths_node(a->paths, node);
		mt_names_of(a->names, at->call, &some);
		n += some;
	}
	stack->frames = calloc(n + 1, sizeof(*stack->frames));
	if (!stack->frames)
		return -ENOMEM;
	for (node = leaf; node != MT_PATHS_NONE; node = at->parent) {
		at = mt_paths_node(a->paths, node);
		locations = mt_names_of(a->names, at->call, &some);
		for (i = 0; i < some; i++)
			stack->frames[stack->n_frames++] = &locations[i];
		stack->end_module = module_of(a, at->call);
	}
	return 0;
}

static int build_stacks(const struct mt_analysis *a, const struct mt_ranked_path *rows, size_t n,
			uint64_t limit, struct mt_top_report *report)
{
	size_t i;
	int err = 0;

	for (i = 0; i < n; i++) {
		report->whole += mt_weight(&rows[i].totals, report->by);
		report->all_stacks += mt_weight(&rows[i].totals, report->by) != 0;
	}
	report->n_stacks = at_most(limit, report->all_stacks);
	report->stacks = calloc(report->n_stacks + 1, sizeof(*report->stacks));
	if (!report->stacks)
		return -ENOMEM;
	for (i = 0; !err && i < report->n_stacks; i++)
		err = mt_top_stack_expand(a, &rows[i], &report->stacks[i]);
	return err;
}

/* The first rows by one order, without those that weigh nothing. */
static int take_functions(struct mt_ranked_function *functions, size_t n, enum mt_by by,
			  bool inclusive, uint64_t limit, struct mt_ranked_function **ret_rows,
			  size_t *ret_n, size_t *ret_all)
{
	const struct mt_totals *totals;
	struct mt_ranked_function *rows;
	size_t some = 0;

	mt_sort_functions(functions, n, by, inclusive);
	for (; some < n; some++) {
		totals = inclusive ? &functions[some].inclusive : &functions[some].self;
		if (!mt_weight(totals, by))
			break;
	}
	*ret_all = some;
	some = at_most(limit, some);
	rows = calloc(some + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	memcpy(rows, functions, some * sizeof(*rows));
	*ret_rows = rows;
	*ret_n = some;
	return 0;
}

static int build_functions(const struct mt_analysis *a, const struct mt_ranked_path *rows,
			   size_t n, uint64_t limit, struct mt_top_report *report)
{
	struct mt_ranked_function *functions;
	size_t all, i;
	int err = mt_rank_functions(rows, n, a->paths, a->names, &functions, &all);

	if (err)
		return err;
	for (i = 0; i < all; i++)
		report->passed |= functions[i].passes;
	err = take_functions(functions, all, report->by, false, limit, &report->self,
			     &report->n_self, &report->all_self);
	if (!err)
		err = take_functions(functions, all, report->by, true, limit, &report->inclusive,
				     &report->n_inclusive, &report->all_inclusive);
	free(functions);
	return err;
}

static int by_process_weight(const void *a, const void *b, void *arg)
{
	const struct mt_top_process *x = a, *y = b;
	uint64_t wx = mt_weight(&x->totals, *(enum mt_by *)arg);
	uint64_t wy = mt_weight(&y->totals, *(enum mt_by *)arg);

	if (wx != wy)
		return wx > wy ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int build_processes(const struct mt_analysis *a, uint64_t limit,
			   struct mt_top_report *report)
{
	uint32_t n = mt_session_processes(a->session), i;
	const struct mt_process *process;

	report->processes = calloc((size_t)n + 1, sizeof(*report->processes));
	if (!report->processes)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		process = mt_session_process(a->session, i);
		report->processes[i] = (struct mt_top_process){
			process->pid, process->comm, *mt_profile_process(a->profile, i),
		};
	}
	qsort_r(report->processes, n, sizeof(*report->processes), by_process_weight, &report->by);
	report->all_processes = n;
	report->n_processes = at_most(limit, n);
	return 0;
}

int mt_top_report_build(const struct mt_analysis *a, enum mt_by by, uint64_t limit,
			struct mt_top_report *ret_report)
{
	struct mt_top_report report = { .by = by, .header = a->run.header,
					.mmap = a->mmap };
	struct mt_ranked_path *rows = NULL;
	size_t n = 0;
	int err;

	report.totals = mt_profile_totals(a->profile);
	report.n_threads = mt_session_threads(a->session);
	report.modules = &a->modules;
	report.problems = (const char *const *)a->problems.lines;
	report.n_problems = a->problems.n;
	if (a->run.last_time > a->run.header->start_time)
		report.duration = a->run.last_time - a->run.header->start_time;
	if (a->between.set) {
		report.from = &a->run.marks.rows[a->between.from];
		report.until = &a->run.marks.rows[a->between.until];
		report.duration = report.until->time - report.from->time;
	}
	report.cwd = get_current_dir_name();
	report.command = mt_run_command(&a->run);
	err = report.command ? 0 : -ENOMEM;
	if (!err)
		err = mt_rank_paths(a->profile, a->paths, by, &rows, &n);
	if (!err)
		err = build_stacks(a, rows, n, limit, &report);
	if (!err)
		err = build_functions(a, rows, n, limit, &report);
	if (!err)
		err = build_processes(a, limit, &report);
	if (err) {
		free(rows);
		mt_top_report_release(&report);
		return err;
	}

	mt_completeness_count(rows, n, a->paths, a->session, a->run.header->stack_size,
			      &report.completeness);
	free(rows);
	*ret_report = report;
	return 0;
}

void mt_top_report_release(struct mt_top_report *report)
{
	size_t i;

	for (i = 0; report->stacks && i < report->n_stacks; i++)
		free(report->stacks[i].frames);
	free(report->stacks);
	free(report->self);
	free(report->inclusive);
	free(report->processes);
	free(report->command);
	free(report->cwd);
	memset(report, 0, sizeof(*report));
}
