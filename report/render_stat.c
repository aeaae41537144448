/* The text of "mt-report stat". */
#include "report/stat_report.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>

/* One line: a title in the first column. */
static void put_key(const char *key, FILE *out)
{
	fprintf(out, "%-13s", key);
}

static void put_text(const char *key, const char *text, FILE *out)
{
	put_key(key, out);
	mt_text_put_clean(text, out);
	putc('\n', out);
}

static void put_status(const struct mt_trailer *trailer, FILE *out)
{
	if (!trailer) {
		fputs(", not finished", out);
		return;
	}
	fputs(", ", out);
	mt_text_put_clean(trailer->end_reason, out);
	if (!trailer->status_known)
		return;
	if (WIFEXITED(trailer->status))
		fprintf(out, " with status %d", WEXITSTATUS(trailer->status));
	else if (WIFSIGNALED(trailer->status))
		fprintf(out, " by signal %d", WTERMSIG(trailer->status));
}

static void put_header(const struct mt_run *run, FILE *out)
{
	const struct mt_header *h = run->header;
	char buf[3][MT_TEXT_MAX];

	put_key("Recorded", out);
	fprintf(out, "%s", mt_text_date(h->start_realtime, buf[0]));
	if (run->last_time > h->start_time)
		fprintf(out, ", %s", mt_text_time(run->last_time - h->start_time, buf[0]));
	put_status(run->trailer, out);
	putc('\n', out);
	put_text("Directory", h->cwd, out);
	put_key("Machine", out);
	mt_text_put_clean(h->hostname, out);
	fputs(", ", out);
	mt_text_put_clean(h->arch, out);
	fputs(", Linux ", out);
	mt_text_put_clean(h->kernel, out);
	putc('\n', out);
	put_key("Recorder", out);
	mt_text_put_clean(h->producer, out);
	fprintf(out, ", format %" PRIu32 "; stacks up to %" PRIu32 " bytes; rings %s and %s",
		h->format_version, h->stack_size, mt_text_bytes(h->ring_size, buf[0]),
		mt_text_bytes(h->stack_ring_size, buf[1]));
	fputs("; watch ", out);
	mt_text_put_clean(h->watch, out);
	fputs(", attach ", out);
	mt_text_put_clean(h->attach, out);
	fputs(", mappings from ", out);
	mt_text_put_clean(h->mapping_source, out);
	putc('\n', out);
}

static void put_events(const struct mt_stat_report *report, FILE *out)
{
	const struct mt_profile_totals *totals = report->totals;
	char buf[MT_TEXT_MAX];
	unsigned int type;
	bool first = true;

	put_key("Events", out);
	fputs(mt_text_count(totals->events, buf), out);
	for (type = 0; type < MT_EV_TYPES; type++) {
		if (!totals->by_type[type])
			continue;
		fprintf(out, "%s %s %s", first ? ":" : ",",
			mt_text_count(totals->by_type[type], buf), mt_event_name(type));
		first = false;
	}
	putc('\n', out);
}

static void put_freed(const struct mt_profile_totals *totals, bool sampled, FILE *out)
{
	char buf[MT_TEXT_MAX];

	put_key("Freed", out);
	mt_text_put_estimate(sampled, out);
	mt_text_put_plural(totals->all.frees, "free", out);
	if (!sampled || totals->unmatched_frees)
		fprintf(out, "; %s of blocks not seen allocated",
			mt_text_count(totals->unmatched_frees, buf));
	if (!sampled)
		fprintf(out, ", %s of copies a fork made",
			mt_text_count(totals->inherited_frees, buf));
	putc('\n', out);
}

static void put_totals(const struct mt_stat_report *report, FILE *out)
{
	const struct mt_profile_totals *totals = report->totals;
	bool sampled = report->run->header->sample_bytes != 0;
	const struct mt_totals *all = &totals->all;
	char buf[2][MT_TEXT_MAX];

	if (sampled) {
		put_key("Sampled", out);
		mt_text_put_sampling(report->run->header, totals, out);
		putc('\n', out);
	}
	put_key("Allocated", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s bytes in ", mt_text_count(all->allocated_bytes, buf[0]));
	mt_text_put_plural(all->allocations, "allocation", out);
	if (!sampled)
		fprintf(out, ", %s of them temporary", mt_text_count(all->temporary, buf[0]));
	putc('\n', out);
	put_freed(totals, sampled, out);
	put_key("Peak", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s bytes in ", mt_text_count(all->peak_bytes, buf[0]));
	mt_text_put_plural(all->peak_blocks, "block", out);
	if (totals->peak_time > report->run->header->start_time)
		fprintf(out, " after %s",
			mt_text_time(totals->peak_time - report->run->header->start_time, buf[0]));
	putc('\n', out);
	put_key("Not freed", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s bytes in ", mt_text_count(all->live_bytes, buf[0]));
	mt_text_put_plural(all->live_blocks, "block", out);
	putc('\n', out);
	put_key("Discarded", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s bytes in ", mt_text_count(totals->discarded_bytes, buf[0]));
	mt_text_put_plural(totals->discarded_blocks, "block", out);
	fputs(" in use when their process executed another program\n", out);
}

static void put_regions(const struct mt_stat_report *report, const struct mt_style *style,
			FILE *out)
{
	const struct mt_profile_totals *totals = report->regions;
	uint64_t start = report->run->header->start_time;
	const struct mt_totals *all;
	char buf[2][MT_TEXT_MAX];

	if (!totals)
		return;
	all = &totals->all;
	fprintf(out, "\n%sMapped memory%s\n\n", style->title, style->end);
	fprintf(out, "  Mapped      %s bytes by ", mt_text_count(all->allocated_bytes, buf[0]));
	mt_text_put_plural(all->allocations, "call", out);
	fputs("\n  Unmapped    ", out);
	mt_text_put_plural(all->frees, "call", out);
	fprintf(out, "; %s of regions not seen mapped, %s of copies a fork made\n",
		mt_text_count(totals->unmatched_frees, buf[0]),
		mt_text_count(totals->inherited_frees, buf[1]));
	fprintf(out, "  Peak        %s bytes in ", mt_text_count(all->peak_bytes, buf[0]));
	mt_text_put_plural(all->peak_blocks, "region", out);
	if (totals->peak_time > start)
		fprintf(out, " after %s", mt_text_time(totals->peak_time - start, buf[0]));
	fprintf(out, "\n  Kept        %s bytes in ", mt_text_count(all->live_bytes, buf[0]));
	mt_text_put_plural(all->live_blocks, "region", out);
	fprintf(out, "\n  Discarded   %s bytes in ",
		mt_text_count(totals->discarded_bytes, buf[0]));
	mt_text_put_plural(totals->discarded_blocks, "region", out);
	fputs(" mapped when their process executed another program\n", out);
}

static void put_marks(const struct mt_stat_report *report, const struct mt_style *style, FILE *out)
{
	const struct mt_mark_facts *marks = &report->run->marks;
	uint64_t start = report->run->header->start_time;
	const struct mt_moment *moment;
	char buf[4][MT_TEXT_MAX];
	bool titled = false;
	uint32_t i;

	for (i = 0; i < marks->n; i++) {
		moment = &marks->rows[i];
		if (moment->type != MT_MARK_NAME ||
		    (report->from && (moment < report->from || moment > report->until)))
			continue;
		if (!titled)
			fprintf(out, "\n%sMarks%s\n\n  %14s %14s %14s %14s  mark\n", style->title,
				style->end, "after", "allocations", "allocated", "in use");
		titled = true;
		fprintf(out, "  %14s %14s %14s %14s  ",
			mt_text_time(moment->time > start ? moment->time - start : 0, buf[0]),
			mt_text_count(moment->totals.allocations, buf[1]),
			mt_text_bytes(moment->totals.allocated_bytes, buf[2]),
			mt_text_bytes(moment->totals.live_bytes, buf[3]));
		mt_text_put_mark(moment, out);
		putc('\n', out);
	}
}

static void put_between(const struct mt_stat_report *report, FILE *out)
{
	uint64_t from = report->run->header->start_time, until = report->run->last_time, disabled;
	char buf[MT_TEXT_MAX];

	if (report->from) {
		from = report->from->time;
		until = report->until->time;
		put_key("Between", out);
		mt_text_put_mark(report->from, out);
		fputs(" and ", out);
		mt_text_put_mark(report->until, out);
		fprintf(out, ", %s\n", mt_text_time(until - from, buf));
	}
	disabled = mt_mark_facts_disabled(&report->run->marks, from, until);
	if (!disabled)
		return;
	put_key("Disabled", out);
	fprintf(out, "for %s of that, with ", mt_text_time(disabled, buf));
	mt_text_put_plural(report->totals->disabled_frees, "free", out);
	fputs(" of blocks not seen allocated\n", out);
}

/* When, as seconds since the start; a count without times has none. */
static void put_loss_times(const struct mt_loss *loss, uint64_t start, FILE *out)
{
	uint64_t first = loss->first > start ? loss->first - start : 0;
	uint64_t last = loss->last > start ? loss->last - start : 0;

	if (loss->first)
		fprintf(out, " from %" PRIu64 ".%03" PRIu64 " s to %" PRIu64 ".%03" PRIu64 " s",
			first / 1000000000, first / 1000000 % 1000, last / 1000000000,
			last / 1000000 % 1000);
}

static void put_losses(const struct mt_stat_report *report, FILE *out)
{
	const struct mt_run *run = report->run;
	char buf[MT_TEXT_MAX];
	uint32_t i;

	if (!run->n_losses) {
		put_key("Lost", out);
		fputs("nothing\n", out);
	}
	for (i = 0; i < run->n_losses; i++) {
		put_key(i ? "" : "Lost", out);
		fprintf(out, "%s ", mt_text_count(run->losses[i].count, buf));
		mt_text_put_clean(run->losses[i].source, out);
		fputs(" (", out);
		mt_text_put_clean(run->losses[i].cause, out);
		putc(')', out);
		put_loss_times(&run->losses[i], run->header->start_time, out);
		putc('\n', out);
	}
}

static void put_ends(const struct mt_completeness *c, const struct mt_style *style, FILE *out)
{
	char buf[5][MT_TEXT_MAX];
	size_t end;

	fprintf(out, "\n%sStacks%s\n\n  ", style->title, style->end);
	mt_text_put_plural(c->definitions, "definition", out);
	fputs(" of ", out);
	mt_text_put_plural(c->distinct, "call path", out);
	fputs("; ", out);
	mt_completeness_put(c, out);
	fprintf(out, "\n\n  %-14s %12s %8s %14s\n", "end", "definitions", "", "allocations");
	for (end = 0; end < MT_UNWIND_END_KINDS; end++) {
		if (!c->by_end[end] && end != MT_UNWIND_COMPLETE)
			continue;
		fprintf(out, "  %-14s %12s %8s %14s %8s  %s%s%s\n", mt_unwind_end_id(end),
			mt_text_count(c->by_end[end], buf[0]),
			mt_text_share(c->by_end[end], c->definitions, buf[1]),
			mt_text_count(c->allocations_by_end[end], buf[2]),
			mt_text_share(c->allocations_by_end[end], c->allocations, buf[3]),
			style->dim, mt_unwind_end_text(end), style->end);
	}
	if (c->no_stack)
		fprintf(out, "  %-14s %12s %8s %14s %8s\n", "no stack", "-", "",
			mt_text_count(c->no_stack, buf[0]),
			mt_text_share(c->no_stack, c->allocations, buf[1]));
	if (c->undefined)
		fprintf(out, "  %-14s %12s %8s %14s %8s\n", "lost", "-", "",
			mt_text_count(c->undefined, buf[0]),
			mt_text_share(c->undefined, c->allocations, buf[1]));
}

static void put_modules(const struct mt_modules *modules, const struct mt_style *style, FILE *out)
{
	const struct mt_module_facts *facts;
	size_t i, j;

	fprintf(out, "\n%sModules%s\n\n", style->title, style->end);
	if (!modules->n)
		fputs("  none\n", out);
	for (i = 0; i < modules->n; i++) {
		facts = &modules->facts[i];
		fprintf(out, "  %s%-10s%s ", mt_module_refused(facts) ? style->bad : "",
			mt_module_status_name(facts->status),
			mt_module_refused(facts) ? style->end : "");
		mt_text_put_clean(facts->path, out);
		if (mt_module_refused(facts)) {
			fputs("  ", out);
			mt_text_put_clean(facts->reason, out);
		}
		fputs(facts->n_build_id ? "  build-id " : "", out);
		for (j = 0; j < facts->n_build_id; j++)
			fprintf(out, "%02x", facts->build_id[j]);
		fputs(facts->copied ? "  its code was copied to anonymous memory in its place" : "",
		      out);
		putc('\n', out);
	}
}

static void put_coverage(const struct mt_coverage_facts *coverage, const struct mt_style *style,
			 FILE *out)
{
	char buf[MT_TEXT_MAX];
	uint32_t i;

	if (!coverage->n_sources && !coverage->n_gaps)
		return;
	fprintf(out, "\n%sAllocators%s\n\n", style->title, style->end);
	if (coverage->n_sources)
		fprintf(out, "  %12s %10s  %-9s file\n", "events", "functions", "kind");
	for (i = 0; i < coverage->n_sources; i++) {
		fprintf(out, "  %12s %10" PRIu32 "  ",
			mt_text_count(coverage->sources[i].events, buf),
			coverage->sources[i].functions);
		mt_text_put_clean(coverage->sources[i].kind, out);
		fprintf(out, "%*s ", (int)(9 - strnlen(coverage->sources[i].kind, 9)), "");
		mt_text_put_clean(coverage->sources[i].path, out);
		putc('\n', out);
	}
	for (i = 0; i < coverage->n_gaps; i++) {
		fprintf(out, "  %snot covered%s  ", style->bad, style->end);
		mt_text_put_clean(coverage->gaps[i].path, out);
		if (*coverage->gaps[i].path && *coverage->gaps[i].function)
			fputs(": ", out);
		mt_text_put_clean(coverage->gaps[i].function, out);
		fputs(": ", out);
		mt_text_put_clean(coverage->gaps[i].reason, out);
		putc('\n', out);
	}
}

int mt_render_stat(const struct mt_stat_report *report, const struct mt_style *style, FILE *out)
{
	char *command = mt_run_command(report->run);
	char buf[MT_TEXT_MAX];
	size_t i;

	if (!command)
		return -ENOMEM;
	for (i = 0; i < report->n_problems; i++) {
		fprintf(out, "%sPartial%s      ", style->bad, style->end);
		mt_text_put_clean(report->problems[i], out);
		putc('\n', out);
	}
	put_key("Command", out);
	mt_text_put_command(command, report->run->header, out);
	putc('\n', out);
	free(command);
	put_header(report->run, out);
	put_between(report, out);
	put_key("Processes", out);
	fprintf(out, "%s, ", mt_text_count(report->n_processes, buf));
	mt_text_put_plural(report->n_threads, "thread", out);
	putc('\n', out);
	put_events(report, out);
	put_totals(report, out);
	put_losses(report, out);
	put_regions(report, style, out);
	put_marks(report, style, out);
	put_coverage(&report->run->coverage, style, out);
	put_ends(&report->completeness, style, out);
	put_modules(report->modules, style, out);
	return 0;
}
