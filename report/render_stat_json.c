/* "mt-report stat --json": one object. */
#include "report/stat_report.h"

#include "report/render_json.h"

static void put_header(struct mt_json *json, const struct mt_run *run)
{
	const struct mt_header *h = run->header;

	mt_json_member_u64(json, "format_version", h->format_version);
	mt_json_member_string(json, "producer", h->producer);
	mt_json_member_string(json, "arch", h->arch);
	mt_json_member_string(json, "kernel", h->kernel);
	mt_json_member_string(json, "hostname", h->hostname);
	mt_json_member_command(json, h);
	mt_json_member_string(json, "cwd", h->cwd);
	mt_json_member_u64(json, "start_time", h->start_time);
	mt_json_member_u64(json, "start_realtime", h->start_realtime);
	mt_json_member_u64(json, "end_time", run->last_time);
	mt_json_key(json, "end_reason");
	mt_json_string(json, run->trailer ? run->trailer->end_reason : NULL);
	mt_json_key(json, "status");
	if (run->trailer && run->trailer->status_known)
		mt_json_i64(json, run->trailer->status);
	else
		mt_json_null(json);
	mt_json_member_exit(json, run->trailer && run->trailer->status_known,
			    run->trailer ? run->trailer->status : 0);
	mt_json_member_u64(json, "stack_size", h->stack_size);
	mt_json_member_u64(json, "ring_size", h->ring_size);
	mt_json_member_u64(json, "stack_ring_size", h->stack_ring_size);
	mt_json_member_string(json, "watch", h->watch);
	mt_json_member_string(json, "attach", h->attach);
	mt_json_member_string(json, "mapping_source", h->mapping_source);
}

static void put_file(struct mt_json *json, const struct mt_stat_report *report)
{
	static const char *const kinds[] = {
		[MT_END_COMPLETE] = "complete", [MT_END_NO_TRAILER] = "no_trailer",
		[MT_END_CUT] = "cut", [MT_END_DAMAGED] = "damaged",
	};

	mt_json_key(json, "file");
	mt_json_object_begin(json);
	mt_json_member_string(json, "end", kinds[report->end.kind]);
	mt_json_member_u64(json, "usable_bytes", report->end.offset);
	mt_json_member_u64(json, "bytes", report->end.file_size);
	mt_json_member_u64(json, "frames", report->end.frames);
	mt_json_member_u64(json, "unknown_blocks", report->end.unknown_blocks);
	mt_json_member_u64(json, "unknown_columns", report->end.unknown_columns);
	mt_json_object_end(json);
}

static void put_totals(struct mt_json *json, const struct mt_stat_report *report)
{
	const struct mt_profile_totals *totals = report->totals;
	unsigned int type;

	mt_json_member_u64(json, "processes", report->n_processes);
	mt_json_member_u64(json, "threads", report->n_threads);
	mt_json_member_u64(json, "events", totals->events);
	mt_json_totals(json, &totals->all);
	mt_json_member_u64(json, "peak_time", totals->peak_time);
	mt_json_member_u64(json, "unmatched_frees", totals->unmatched_frees);
	mt_json_member_u64(json, "disabled_frees", totals->disabled_frees);
	mt_json_member_u64(json, "thread_cache_frees", totals->cache_frees);
	mt_json_member_u64(json, "inherited_frees", totals->inherited_frees);
	mt_json_member_u64(json, "discarded_blocks", totals->discarded_blocks);
	mt_json_member_u64(json, "discarded_bytes", totals->discarded_bytes);
	mt_json_member_u64(json, "conflicts", totals->conflicts);
	mt_json_key(json, "events_by_type");
	mt_json_object_begin(json);
	for (type = 1; type < MT_EV_TYPES; type++)
		if (totals->by_type[type])
			mt_json_member_u64(json, mt_event_name(type), totals->by_type[type]);
	mt_json_object_end(json);
}

static void put_regions(struct mt_json *json, const struct mt_profile_totals *totals)
{
	if (!totals)
		return;
	mt_json_key(json, "mapped");
	mt_json_object_begin(json);
	mt_json_totals(json, &totals->all);
	mt_json_member_u64(json, "peak_time", totals->peak_time);
	mt_json_member_u64(json, "unmatched_frees", totals->unmatched_frees);
	mt_json_member_u64(json, "disabled_frees", totals->disabled_frees);
	mt_json_member_u64(json, "inherited_frees", totals->inherited_frees);
	mt_json_member_u64(json, "discarded_blocks", totals->discarded_blocks);
	mt_json_member_u64(json, "discarded_bytes", totals->discarded_bytes);
	mt_json_object_end(json);
}

static void put_stacks(struct mt_json *json, const struct mt_completeness *c)
{
	size_t end;

	mt_json_key(json, "stacks");
	mt_json_object_begin(json);
	mt_json_member_u64(json, "definitions", c->definitions);
	mt_json_member_u64(json, "distinct", c->distinct);
	for (end = 0; end < MT_UNWIND_END_KINDS; end++)
		mt_json_member_u64(json, mt_unwind_end_id(end), c->by_end[end]);
	/* The same, weighted by the allocations that refer to each. */
	mt_json_key(json, "allocations");
	mt_json_object_begin(json);
	for (end = 0; end < MT_UNWIND_END_KINDS; end++)
		mt_json_member_u64(json, mt_unwind_end_id(end), c->allocations_by_end[end]);
	mt_json_member_u64(json, "no_stack", c->no_stack);
	mt_json_member_u64(json, "lost", c->undefined);
	mt_json_object_end(json);
	mt_json_object_end(json);
}

static void put_marks(struct mt_json *json, const struct mt_stat_report *report)
{
	const struct mt_mark_facts *marks = &report->run->marks;
	uint64_t from = report->from ? report->from->time : report->run->header->start_time;
	uint64_t until = report->from ? report->until->time : report->run->last_time;
	const struct mt_moment *moment;
	uint32_t i;

	mt_json_member_between(json, report->from, report->until);
	mt_json_member_u64(json, "disabled_time", mt_mark_facts_disabled(marks, from, until));
	mt_json_key(json, "marks");
	mt_json_array_begin(json);
	for (i = 0; i < marks->n; i++) {
		moment = &marks->rows[i];
		if (moment->type != MT_MARK_NAME ||
		    (report->from && (moment < report->from || moment > report->until)))
			continue;
		mt_json_object_begin(json);
		mt_json_member_string(json, "name", moment->name);
		mt_json_member_u64(json, "nth", moment->nth);
		mt_json_member_u64(json, "time", moment->time);
		mt_json_totals(json, &moment->totals);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_losses(struct mt_json *json, const struct mt_run *run)
{
	uint64_t sum;
	uint32_t i, j;

	/* Rows are sorted by source. */
	mt_json_key(json, "lost");
	mt_json_object_begin(json);
	for (i = 0; i < run->n_losses; i = j) {
		sum = 0;
		for (j = i; j < run->n_losses; j++) {
			if (strcmp(run->losses[i].source, run->losses[j].source))
				break;
			sum += run->losses[j].count;
		}
		mt_json_member_u64(json, run->losses[i].source, sum);
	}
	mt_json_object_end(json);

	mt_json_key(json, "losses");
	mt_json_array_begin(json);
	for (i = 0; i < run->n_losses; i++) {
		mt_json_object_begin(json);
		mt_json_member_string(json, "source", run->losses[i].source);
		mt_json_member_string(json, "cause", run->losses[i].cause);
		mt_json_member_u64(json, "count", run->losses[i].count);
		mt_json_member_u64(json, "first", run->losses[i].first);
		mt_json_member_u64(json, "last", run->losses[i].last);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

static void put_coverage(struct mt_json *json, const struct mt_coverage_facts *coverage)
{
	uint32_t i;

	mt_json_key(json, "allocators");
	mt_json_array_begin(json);
	for (i = 0; i < coverage->n_sources; i++) {
		mt_json_object_begin(json);
		mt_json_member_string(json, "path", coverage->sources[i].path);
		mt_json_member_u64(json, "dev_major", coverage->sources[i].dev_major);
		mt_json_member_u64(json, "dev_minor", coverage->sources[i].dev_minor);
		mt_json_member_u64(json, "ino", coverage->sources[i].ino);
		mt_json_member_string(json, "kind", coverage->sources[i].kind);
		mt_json_member_u64(json, "functions", coverage->sources[i].functions);
		mt_json_member_u64(json, "events", coverage->sources[i].events);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);

	mt_json_key(json, "coverage_gaps");
	mt_json_array_begin(json);
	for (i = 0; i < coverage->n_gaps; i++) {
		mt_json_object_begin(json);
		mt_json_member_string(json, "path", coverage->gaps[i].path);
		mt_json_member_string(json, "function", coverage->gaps[i].function);
		mt_json_member_string(json, "reason", coverage->gaps[i].reason);
		mt_json_object_end(json);
	}
	mt_json_array_end(json);
}

void mt_render_stat_json(const struct mt_stat_report *report, FILE *out)
{
	struct mt_json json;
	size_t i;

	mt_json_init(&json, out, true);
	mt_json_object_begin(&json);
	put_header(&json, report->run);
	put_file(&json, report);
	mt_json_member_bool(&json, "partial", report->n_problems != 0);
	mt_json_member_strings(&json, "problems", report->problems, report->n_problems);
	put_marks(&json, report);
	mt_json_member_sampling(&json, report->run->header, report->totals);
	put_totals(&json, report);
	put_regions(&json, report->regions);
	put_stacks(&json, &report->completeness);
	put_losses(&json, report->run);
	put_coverage(&json, &report->run->coverage);
	mt_json_key(&json, "modules");
	mt_json_array_begin(&json);
	for (i = 0; i < report->modules->n; i++)
		mt_json_module(&json, &report->modules->facts[i], false);
	mt_json_array_end(&json);
	mt_json_object_end(&json);
	mt_json_finish(&json);
}
