#include "report/completeness.h"

#include "report/render_text.h"
#include "report/session.h"

/* Path of the module in which the outermost found frame of a path lies, or NULL. */
static const char *outermost_module(const struct mt_paths *paths, const struct mt_path *path,
				    const struct mt_session *session)
{
	const struct mt_path_node *at;
	uint32_t node, file = MT_PATHS_NONE;

	for (node = path->leaf; node != MT_PATHS_NONE; node = at->parent) {
		at = mt_paths_node(paths, node);
		file = mt_paths_call(paths, at->call)->file;
	}
	return file == MT_PATHS_NONE ? NULL : mt_session_file(session, file)->path;
}

/*
 * Keep the heaviest few. Rows come heaviest first, so a module that is not among the first
 * few by then is not worth a name.
 */
static void blame(struct mt_culprit culprits[MT_CULPRITS_MAX], const char *path,
		  uint64_t allocations)
{
	struct mt_culprit moved;
	size_t i;

	for (i = 0; i < MT_CULPRITS_MAX; i++) {
		if (culprits[i].path && strcmp(culprits[i].path, path))
			continue;
		culprits[i].path = path;
		culprits[i].allocations += allocations;
		for (; i && culprits[i].allocations > culprits[i - 1].allocations; i--) {
			moved = culprits[i];
			culprits[i] = culprits[i - 1];
			culprits[i - 1] = moved;
		}
		return;
	}
}

void mt_completeness_count(const struct mt_ranked_path *rows, size_t n,
			   const struct mt_paths *paths, const struct mt_session *session,
			   uint32_t stack_size, struct mt_completeness *ret_completeness)
{
	struct mt_completeness c = {
		.definitions = mt_paths_definitions(paths), .distinct = mt_paths_count(paths),
		.stack_size = stack_size,
	};
	const struct mt_path *path;
	const char *module;
	uint64_t count;
	size_t i;

	for (i = 0; i < MT_UNWIND_END_KINDS; i++)
		c.by_end[i] = mt_paths_ends(paths, i);
	for (i = 0; i < n; i++) {
		count = rows[i].totals.allocations;
		c.allocations += count;
		if (rows[i].kind == MT_RANKED_NO_STACK)
			c.no_stack += count;
		if (rows[i].kind == MT_RANKED_UNDEFINED)
			c.undefined += count;
		if (rows[i].kind != MT_RANKED_PATH)
			continue;
		path = mt_paths_at(paths, rows[i].path);
		c.allocations_by_end[path->end] += count;
		module = path->end == MT_UNWIND_COMPLETE || path->end == MT_UNWIND_TRUNCATED ?
			 NULL : outermost_module(paths, path, session);
		if (module)
			blame(c.culprits[path->end], module, count);
	}
	*ret_completeness = c;
}

static void put_share(uint64_t part, uint64_t whole, const char *what, FILE *out)
{
	char buf[MT_TEXT_MAX];

	fprintf(out, "%s %s", mt_text_share(part, whole, buf), what);
}

static void put_culprits(const struct mt_culprit culprits[MT_CULPRITS_MAX], FILE *out)
{
	size_t i;

	for (i = 0; i < MT_CULPRITS_MAX && culprits[i].path; i++) {
		fputs(i ? ", " : " (", out);
		mt_text_put_clean(mt_text_base(culprits[i].path), out);
	}
	if (i)
		putc(')', out);
}

/* In the words of a sentence about stacks. */
static const char *const end_words[MT_UNWIND_END_KINDS] = {
	[MT_UNWIND_COMPLETE] = "of stacks complete",
	[MT_UNWIND_TRUNCATED] = "truncated",
	[MT_UNWIND_UNREADABLE] = "unreadable above the captured bytes",
	[MT_UNWIND_NO_MODULE] = "end outside all mappings",
	[MT_UNWIND_NO_CFI] = "no unwind information",
	[MT_UNWIND_BAD_CFI] = "unusable unwind information",
	[MT_UNWIND_BAD_MEMORY] = "point outside the captured bytes",
	[MT_UNWIND_NOT_ADVANCING] = "do not advance",
	[MT_UNWIND_TOO_DEEP] = "too deep",
	[MT_UNWIND_EMPTY] = "nothing captured",
};

void mt_completeness_put(const struct mt_completeness *c, FILE *out)
{
	size_t end;

	if (!c->allocations) {
		fputs("no allocations, no stacks", out);
		return;
	}
	put_share(c->allocations_by_end[MT_UNWIND_COMPLETE], c->allocations,
		  end_words[MT_UNWIND_COMPLETE], out);
	for (end = MT_UNWIND_COMPLETE + 1; end < MT_UNWIND_END_KINDS; end++) {
		if (!c->allocations_by_end[end])
			continue;
		fputs("; ", out);
		put_share(c->allocations_by_end[end], c->allocations, end_words[end], out);
		if (end == MT_UNWIND_TRUNCATED)
			fprintf(out, " at %u bytes (raise --stack-size)", c->stack_size);
		put_culprits(c->culprits[end], out);
	}
	if (c->no_stack) {
		fputs("; ", out);
		put_share(c->no_stack, c->allocations,
			  c->stack_size ? "without a stack" : "without a stack (--stack-size 0)",
			  out);
	}
	if (c->undefined) {
		fputs("; ", out);
		put_share(c->undefined, c->allocations, "whose stack was lost", out);
	}
}

uint64_t mt_completeness_incomplete(const struct mt_completeness *c)
{
	uint64_t sum = 0;
	size_t end;

	for (end = MT_UNWIND_COMPLETE + 1; end < MT_UNWIND_END_KINDS; end++)
		sum += c->allocations_by_end[end];
	return sum;
}

void mt_completeness_put_incomplete(const struct mt_completeness *c, FILE *out)
{
	const char *separator = "";
	size_t end;

	put_share(mt_completeness_incomplete(c), c->allocations, "of stacks are incomplete: ", out);
	for (end = MT_UNWIND_COMPLETE + 1; end < MT_UNWIND_END_KINDS; end++) {
		if (!c->allocations_by_end[end])
			continue;
		fputs(separator, out);
		separator = ", ";
		put_share(c->allocations_by_end[end], c->allocations, end_words[end], out);
		if (end == MT_UNWIND_TRUNCATED)
			fprintf(out, " at %u bytes (record with a larger --stack-size)",
				c->stack_size);
		put_culprits(c->culprits[end], out);
	}
}

void mt_put_end(enum mt_unwind_end end, const char *module, FILE *out)
{
	static const char *const labels[MT_UNWIND_END_KINDS] = {
		[MT_UNWIND_TRUNCATED] = "truncated",
		[MT_UNWIND_UNREADABLE] = "stack unreadable",
		[MT_UNWIND_NO_MODULE] = "no mapping",
		[MT_UNWIND_NO_CFI] = "no unwind info",
		[MT_UNWIND_BAD_CFI] = "bad unwind info",
		[MT_UNWIND_BAD_MEMORY] = "outside the captured stack",
		[MT_UNWIND_NOT_ADVANCING] = "stack does not advance",
		[MT_UNWIND_TOO_DEEP] = "too deep",
		[MT_UNWIND_EMPTY] = "nothing captured",
	};

	if (!labels[end])
		return;
	fprintf(out, "[%s", labels[end]);
	if (module && (end == MT_UNWIND_NO_CFI || end == MT_UNWIND_BAD_CFI)) {
		fputs(": ", out);
		mt_text_put_clean(mt_text_base(module), out);
	}
	putc(']', out);
}
