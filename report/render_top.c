/* The text of "mt-report top". */
#include "report/top_report.h"

#include "report/mark_facts.h"
#include "report/reader.h"

#include <inttypes.h>

#define FRAMES_SHOWN 32		/* of one stack, and the outermost four */
#define FRAMES_OUTER 4
#define COLUMNS 160		/* of a line; names of functions are shortened to keep to it */
#define NAME_MIN 60		/* but no further than this */

static const char *const by_titles[MT_BY_KINDS] = {
	[MT_BY_BYTES] = "allocated bytes",
	[MT_BY_COUNT] = "number of allocations",
	[MT_BY_PEAK] = "live bytes at the peak",
	[MT_BY_LIVE] = "bytes never freed",
};

static void put_title(const struct mt_style *style, FILE *out, const char *title,
		      const char *rest, size_t shown, size_t all)
{
	char buf[2][MT_TEXT_MAX];

	fprintf(out, "\n%s%s%s%s", style->title, title, rest, style->end);
	if (shown < all)
		fprintf(out, "%s (%s of %s)%s", style->dim, mt_text_count(shown, buf[0]),
			mt_text_count(all, buf[1]), style->end);
	fputs("\n\n", out);
}

static const char *weight_text(uint64_t weight, enum mt_by by, char buf[MT_TEXT_MAX])
{
	return by == MT_BY_COUNT ? mt_text_count(weight, buf) : mt_text_bytes(weight, buf);
}

static void put_problems(const struct mt_top_report *report, const struct mt_style *style,
			 FILE *out)
{
	size_t i;

	for (i = 0; i < report->n_problems; i++) {
		fprintf(out, "%sPartial%s    ", style->bad, style->end);
		mt_text_put_clean(report->problems[i], out);
		putc('\n', out);
	}
}

static bool is_sampled(const struct mt_top_report *report)
{
	return report->header->sample_bytes && !report->mmap;
}

static void put_summary(const struct mt_top_report *report, FILE *out)
{
	const struct mt_totals *all = &report->totals->all;
	uint64_t start = report->header->start_time;
	const char *unit = report->mmap ? "region" : "block";
	bool sampled = is_sampled(report);
	char buf[2][MT_TEXT_MAX];

	fputs("Command    ", out);
	mt_text_put_command(report->command, report->header, out);
	if (report->from) {
		fputs("\nBetween    ", out);
		mt_text_put_mark(report->from, out);
		fputs(" and ", out);
		mt_text_put_mark(report->until, out);
	}
	if (report->mmap)
		fputs(all->allocations || all->frees ?
		      "\nEvents     mmap, munmap, mremap, brk" :
		      "\nEvents     mmap and its like, of which none was recorded "
		      "(mt-record --mmap does)", out);
	if (sampled) {
		fputs("\nSampled    ", out);
		mt_text_put_sampling(report->header, report->totals, out);
	}
	fputs("\nAllocated  ", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s in ", mt_text_bytes(all->allocated_bytes, buf[0]));
	mt_text_put_plural(all->allocations, "allocation", out);
	fputs(" by ", out);
	/* English has no rule that "process" follows. */
	fprintf(out, "%s process%s and ", mt_text_count(report->all_processes, buf[0]),
		report->all_processes == 1 ? "" : "es");
	mt_text_put_plural(report->n_threads, "thread", out);
	if (report->duration)
		fprintf(out, " in %s", mt_text_time(report->duration, buf[0]));
	fputs("\nPeak       ", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s in ", mt_text_bytes(all->peak_bytes, buf[0]));
	mt_text_put_plural(all->peak_blocks, unit, out);
	if (report->totals->peak_time > start)
		fprintf(out, " after %s", mt_text_time(report->totals->peak_time - start, buf[0]));
	fputs("\nNot freed  ", out);
	mt_text_put_estimate(sampled, out);
	fprintf(out, "%s in ", mt_text_bytes(all->live_bytes, buf[0]));
	mt_text_put_plural(all->live_blocks, unit, out);
	if (report->totals->discarded_blocks) {
		fprintf(out, "; %s in ", mt_text_bytes(report->totals->discarded_bytes, buf[0]));
		mt_text_put_plural(report->totals->discarded_blocks, unit, out);
		fputs(" more were in use when their process executed another program", out);
	}
	if (!report->mmap && !sampled) {
		fputs("\nTemporary  ", out);
		mt_text_put_plural(all->temporary, "allocation", out);
		fprintf(out, " (%s), freed before the thread's next one",
			mt_text_share(all->temporary, all->allocations, buf[0]));
	}
	fputs("\nStacks     ", out);
	mt_completeness_put(&report->completeness, out);
	putc('\n', out);
}

/* What a line of that many other bytes leaves to a name. */
static size_t room(size_t other)
{
	return other < COLUMNS - NAME_MIN ? COLUMNS - other : NAME_MIN;
}

static void put_frame(const struct mt_location *frame, const char *cwd,
		      const struct mt_style *style, FILE *out)
{
	const char *where = NULL;
	char line[16] = "";

	if (frame->file) {
		where = mt_text_path(frame->file, cwd);
		if (frame->line)
			snprintf(line, sizeof(line), ":%" PRIu32, frame->line);
	} else if (frame->function && frame->module) {
		where = mt_text_base(frame->module);
	}
	fputs("      ", out);
	mt_text_put_name(frame, room(6 + (where ? 2 + strlen(where) : 0) + strlen(line) +
				     (frame->inlined ? strlen("  (inlined)") : 0)), out);
	fputs(style->dim, out);
	if (where) {
		fputs("  ", out);
		mt_text_put_clean(where, out);
		fputs(line, out);
	}
	if (frame->inlined)
		fputs("  (inlined)", out);
	fprintf(out, "%s\n", style->end);
}

static void put_frames(const struct mt_top_stack *stack, const char *cwd,
		       const struct mt_style *style, FILE *out)
{
	size_t i, shown = stack->n_frames;

	if (stack->kind == MT_RANKED_NO_STACK) {
		fputs("      [no stack]\n", out);
		return;
	}
	if (stack->kind == MT_RANKED_UNDEFINED) {
		fputs("      [stack lost]\n", out);
		return;
	}
	/* Both ends matter: who allocates, and from where it all started. */
	if (shown > FRAMES_SHOWN + 2 * FRAMES_OUTER)
		shown = FRAMES_SHOWN;
	for (i = 0; i < shown; i++)
		put_frame(stack->frames[i], cwd, style, out);
	if (shown < stack->n_frames) {
		fprintf(out, "      %s... %zu more ...%s\n", style->dim,
			stack->n_frames - shown - FRAMES_OUTER, style->end);
		for (i = stack->n_frames - FRAMES_OUTER; i < stack->n_frames; i++)
			put_frame(stack->frames[i], cwd, style, out);
	}
	if (stack->end != MT_UNWIND_COMPLETE) {
		fputs("      ", out);
		mt_put_end(stack->end, stack->end_module, out);
		putc('\n', out);
	}
}

static void put_stack(const struct mt_top_report *report, size_t index,
		      const struct mt_style *style, FILE *out)
{
	const struct mt_top_stack *stack = &report->stacks[index];
	const struct mt_totals *totals = &stack->totals;
	uint64_t weight = mt_weight(totals, report->by);
	char buf[2][MT_TEXT_MAX];

	fprintf(out, "%s%3zu.  %s%s  %s%s", style->strong, index + 1,
		weight_text(weight, report->by, buf[0]),
		report->by != MT_BY_COUNT ? "" : weight == 1 ? " allocation" : " allocations",
		mt_text_share(weight, report->whole, buf[1]), style->end);
	if (report->by != MT_BY_BYTES)
		fprintf(out, ", allocated %s", mt_text_bytes(totals->allocated_bytes, buf[0]));
	if (report->by != MT_BY_COUNT) {
		fputs(", ", out);
		mt_text_put_plural(totals->allocations, "allocation", out);
	}
	if (report->by != MT_BY_PEAK)
		fprintf(out, ", %s at the peak", mt_text_bytes(totals->peak_bytes, buf[0]));
	if (report->by != MT_BY_LIVE)
		fprintf(out, ", %s not freed", mt_text_bytes(totals->live_bytes, buf[0]));
	if (totals->temporary)
		fprintf(out, ", %s temporary", mt_text_count(totals->temporary, buf[0]));
	putc('\n', out);
	put_frames(stack, report->cwd ? report->cwd : "", style, out);
}

static void put_function(const struct mt_ranked_function *function,
			 const struct mt_top_report *report, FILE *out)
{
	uint64_t self = mt_weight(&function->self, report->by);
	uint64_t inclusive = mt_weight(&function->inclusive, report->by);
	const char *module = NULL;
	char buf[4][MT_TEXT_MAX];

	if (function->location.function && function->location.module)
		module = mt_text_base(function->location.module);
	fprintf(out, "%12s %7s %12s %7s  ", weight_text(self, report->by, buf[0]),
		mt_text_share(self, report->whole, buf[1]),
		weight_text(inclusive, report->by, buf[2]),
		mt_text_share(inclusive, report->whole, buf[3]));
	mt_text_put_name(&function->location, room(43 + (module ? 2 + strlen(module) : 0)), out);
	if (module) {
		fputs("  ", out);
		mt_text_put_clean(module, out);
	}
	putc('\n', out);
}

static void put_functions(const struct mt_top_report *report, const struct mt_style *style,
			  FILE *out)
{
	size_t i;

	put_title(style, out, "Functions by their own ", by_titles[report->by], report->n_self,
		  report->all_self);
	if (report->passed)
		fprintf(out, "%sWhat the language's own library asks for (std::, __gnu_cxx::, "
			"Rust's alloc:: and core::)\ncounts for the function that called it."
			"%s\n\n", style->dim, style->end);
	fprintf(out, "%20s %20s\n", "self", "inclusive");
	for (i = 0; i < report->n_self; i++)
		put_function(&report->self[i], report, out);
	put_title(style, out, "Functions, with all they call, by ", by_titles[report->by],
		  report->n_inclusive, report->all_inclusive);
	fprintf(out, "%20s %20s\n", "self", "inclusive");
	for (i = 0; i < report->n_inclusive; i++)
		put_function(&report->inclusive[i], report, out);
}

static void put_processes(const struct mt_top_report *report, const struct mt_style *style,
			  FILE *out)
{
	const struct mt_top_process *process;
	char buf[4][MT_TEXT_MAX];
	size_t i;

	put_title(style, out, "Processes by ", by_titles[report->by], report->n_processes,
		  report->all_processes);
	fprintf(out, "%8s %12s %14s %12s %12s  %s\n", "pid", "allocated", "allocations",
		"at the peak", "not freed", "name");
	for (i = 0; i < report->n_processes; i++) {
		process = &report->processes[i];
		fprintf(out, "%8" PRIu32 " %12s %14s %12s %12s  ", process->pid,
			mt_text_bytes(process->totals.allocated_bytes, buf[0]),
			mt_text_count(process->totals.allocations, buf[1]),
			mt_text_bytes(process->totals.peak_bytes, buf[2]),
			mt_text_bytes(process->totals.live_bytes, buf[3]));
		mt_text_put_clean(process->comm, out);
		putc('\n', out);
	}
}

static void put_module(const struct mt_module_facts *facts, const struct mt_style *style, FILE *out)
{
	bool refused = mt_module_refused(facts);

	fprintf(out, "  %s%-10s%s %-7s %-5s  ", refused ? style->bad : "",
		mt_module_status_name(facts->status), refused ? style->end : "",
		facts->symbols ? "symbols" : "-", facts->lines ? "lines" : "-");
	mt_text_put_clean(facts->path, out);
	if (*facts->debug_path) {
		fputs("  with ", out);
		mt_text_put_clean(facts->debug_path, out);
	}
	if (refused) {
		fputs("  ", out);
		mt_text_put_clean(facts->reason, out);
	}
	putc('\n', out);
}

static void put_modules(const struct mt_top_report *report, const struct mt_style *style, FILE *out)
{
	const struct mt_modules *modules = report->modules;
	size_t i, lacking = 0;

	put_title(style, out, "Modules", "", 0, 0);
	if (!modules->n)
		fputs("  none\n", out);
	for (i = 0; i < modules->n; i++) {
		put_module(&modules->facts[i], style, out);
		lacking += mt_module_lacks(&modules->facts[i]);
	}
	if (!lacking)
		return;
	put_title(style, out, "To see more names and lines", "", 0, 0);
	fprintf(out, "%sdebuginfod-find is in the package debuginfod; packages named -dbgsym are "
		"from the debian-debug archive.%s\n\n", style->dim, style->end);
	for (i = 0; i < modules->n; i++) {
		if (!mt_module_lacks(&modules->facts[i]))
			continue;
		fputs("  ", out);
		mt_text_put_clean(modules->facts[i].path, out);
		putc('\n', out);
		mt_module_put_advice(&modules->facts[i], "      ", out);
		putc('\n', out);
	}
}

void mt_render_top(const struct mt_top_report *report, const struct mt_style *style, FILE *out)
{
	size_t i;

	put_problems(report, style, out);
	put_summary(report, out);
	put_title(style, out, "Call stacks by ", by_titles[report->by], report->n_stacks,
		  report->all_stacks);
	for (i = 0; i < report->n_stacks; i++) {
		if (i)
			putc('\n', out);
		put_stack(report, i, style, out);
	}
	if (!report->n_stacks)
		fputs("  none\n", out);
	if (report->n_inclusive)
		put_functions(report, style, out);
	if (report->all_processes > 1)
		put_processes(report, style, out);
	put_modules(report, style, out);
}
