/* "mt-report top --json": one object. */
#include "report/top_report.h"

#include "report/reader.h"
#include "report/render_json.h"

static void put_frames(struct mt_json *json, const struct mt_top_stack *stack)
{
	size_t i;

	mt_json_key(json, "frames");
	mt_json_array_begin(json);
	for (i = 0; i < stack->n_frames; i++) {
		mt_json_object_begin(json);
		mt_json_location(json, stack->frames[i]);
		mt_json_member_string(json, "file", stack->frames[i]->file);
		mt_json_member_u64_or_null(json, "line", stack->frames[i]->line);
		mt_json_member_bool(json, "inlined", stack->frames[i]->inlined);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static const char *end_text(const struct mt_top_stack *stack)
{
	switch (stack->kind) {
	case MT_RANKED_NO_STACK:
		return "none";
	case MT_RANKED_UNDEFINED:
		return "lost";
	default:
		return mt_unwind_end_id(stack->end);
	}
}

static void put_stacks(struct mt_json *json, const struct mt_top_report *report)
{
	size_t i;

	mt_json_key(json, "stacks");
	mt_json_array_begin(json);
	for (i = 0; i < report->n_stacks; i++) {
		mt_json_object_begin(json);
		mt_json_totals(json, &report->stacks[i].totals);
		mt_json_member_string(json, "end", end_text(&report->stacks[i]));
		put_frames(json, &report->stacks[i]);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_functions(struct mt_json *json, const char *key,
			  const struct mt_ranked_function *functions, size_t n)
{
	size_t i;

	mt_json_key(json, key);
	mt_json_array_begin(json);
	for (i = 0; i < n; i++) {
		mt_json_object_begin(json);
		mt_json_location(json, &functions[i].location);
		mt_json_key(json, "self");
		mt_json_object_begin(json);
		mt_json_totals(json, &functions[i].self);
		mt_json_object_end(json);
		mt_json_key(json, "inclusive");
		mt_json_object_begin(json);
		mt_json_totals(json, &functions[i].inclusive);
		mt_json_object_end(json);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_processes(struct mt_json *json, const struct mt_top_report *report)
{
	size_t i;

	mt_json_key(json, "processes");
	mt_json_array_begin(json);
	for (i = 0; i < report->n_processes; i++) {
		mt_json_object_begin(json);
		mt_json_member_u64(json, "pid", report->processes[i].pid);
		mt_json_member_string(json, "name", report->processes[i].comm);
		mt_json_totals(json, &report->processes[i].totals);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

void mt_render_top_json(const struct mt_top_report *report, FILE *out)
{
	struct mt_json json;
	size_t i;

	mt_json_init(&json, out, true);
	mt_json_object_begin(&json);
	mt_json_member_command(&json, report->header);
	mt_json_member_bool(&json, "partial", report->n_problems != 0);
	mt_json_member_strings(&json, "problems", report->problems, report->n_problems);
	mt_json_member_between(&json, report->from, report->until);
	if (!report->mmap)
		mt_json_member_sampling(&json, report->header, report->totals);
	mt_json_key(&json, "totals");
	mt_json_object_begin(&json);
	mt_json_totals(&json, &report->totals->all);
	mt_json_object_end(&json);
	if (report->mmap)
		mt_json_member_string(&json, "events", "mmap");
	mt_json_member_string(&json, "by", mt_by_name(report->by));
	mt_json_member_u64(&json, "call_paths", report->all_stacks);
	put_stacks(&json, report);
	put_functions(&json, "functions", report->self, report->n_self);
	put_functions(&json, "functions_inclusive", report->inclusive, report->n_inclusive);
	put_processes(&json, report);
	mt_json_key(&json, "modules");
	mt_json_array_begin(&json);
	for (i = 0; i < report->modules->n; i++)
		mt_json_module(&json, &report->modules->facts[i], true);
	mt_json_array_end(&json);
	mt_json_object_end(&json);
	mt_json_finish(&json);
}
