#include "report/mark_facts.h"

#include "common/error.h"
#include "common/options.h"
#include "report/intern.h"

#include <errno.h>
#include <inttypes.h>

#define NAMES_SHOWN 16

int mt_mark_facts_take(struct mt_mark_facts *facts, const struct mt_mark *row,
		       struct mt_intern *strings)
{
	struct mt_moment moment = {
		.time = row->time, .type = row->type, .order = facts->n,
		.name = mt_intern_text(strings, row->name),
	};
	uint32_t more = facts->cap ? 2 * facts->cap : 16;
	struct mt_moment *grown;

	if (!moment.name)
		return -ENOMEM;
	if (facts->n == MT_MARKS_MAX)
		return -MT_E_LIMIT;
	if (facts->n == facts->cap) {
		grown = reallocarray(facts->rows, more, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		facts->rows = grown;
		facts->cap = more;
	}
	facts->rows[facts->n++] = moment;
	return 0;
}

static int by_time(const void *va, const void *vb)
{
	const struct mt_moment *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_name(const void *va, const void *vb)
{
	const struct mt_moment *const *a = va, *const *b = vb;

	/* Interned: equal names are one string. Their order is nobody's business. */
	if ((*a)->name != (*b)->name)
		return (uintptr_t)(*a)->name < (uintptr_t)(*b)->name ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

int mt_mark_facts_sort(struct mt_mark_facts *facts)
{
	struct mt_moment **named;
	uint32_t n = 0, i;

	if (!facts->n)
		return 0;
	qsort(facts->rows, facts->n, sizeof(*facts->rows), by_time);
	named = calloc(facts->n, sizeof(*named));
	if (!named)
		return -ENOMEM;
	for (i = 0; i < facts->n; i++)
		if (facts->rows[i].type == MT_MARK_NAME)
			named[n++] = &facts->rows[i];
	if (n)
		qsort(named, n, sizeof(*named), by_name);
	for (i = 0; i < n; i++)
		named[i]->nth = i && named[i - 1]->name == named[i]->name ?
				named[i - 1]->nth + 1 : 1;
	free(named);
	return 0;
}

void mt_mark_facts_release(struct mt_mark_facts *facts)
{
	free(facts->rows);
	memset(facts, 0, sizeof(*facts));
}

/* The row that text names, none before row first if it has no number; n if there is none. */
static uint32_t find(const struct mt_mark_facts *facts, const char *text, uint32_t first)
{
	const char *number = strrchr(text, '#');
	size_t len = number ? (size_t)(number - text) : strlen(text);
	const struct mt_moment *moment;
	uint64_t nth = 0;
	uint32_t i;

	if (number && (mt_parse_count(number + 1, &nth) || !nth))
		return facts->n;
	for (i = number ? 0 : first; i < facts->n; i++) {
		moment = &facts->rows[i];
		if (moment->type == MT_MARK_NAME && !strncmp(moment->name, text, len) &&
		    !moment->name[len] && (!number || moment->nth == nth))
			break;
	}
	return i;
}

static void put_names(const struct mt_mark_facts *facts, FILE *out)
{
	uint32_t shown = 0, left = 0, i;

	for (i = 0; i < facts->n; i++) {
		if (facts->rows[i].type != MT_MARK_NAME)
			continue;
		if (shown == NAMES_SHOWN) {
			left++;
			continue;
		}
		fprintf(out, "%s%s", shown++ ? ", " : "; there are ", facts->rows[i].name);
		if (facts->rows[i].nth > 1)
			fprintf(out, "#%" PRIu32, facts->rows[i].nth);
	}
	if (left)
		fprintf(out, " and %" PRIu32 " more", left);
	if (!shown)
		fputs("; the recording has no marks", out);
}

static int fail_unknown(const struct mt_mark_facts *facts, const char *text, char *error)
{
	FILE *out = fmemopen(error, MT_BETWEEN_ERROR_MAX, "w");

	if (!out)
		return -ENOMEM;
	fprintf(out, "no mark '%.80s'", text);
	put_names(facts, out);
	/* What does not fit is cut. */
	fclose(out);
	error[MT_BETWEEN_ERROR_MAX - 1] = '\0';
	return -ENOENT;
}

int mt_mark_facts_find(const struct mt_mark_facts *facts, const char *const texts[2],
		       struct mt_between *ret_between, char error[MT_BETWEEN_ERROR_MAX])
{
	uint32_t from = find(facts, texts[0], 0), until;

	if (from == facts->n)
		return fail_unknown(facts, texts[0], error);
	until = find(facts, texts[1], from + 1);
	if (until == facts->n && find(facts, texts[1], 0) == facts->n)
		return fail_unknown(facts, texts[1], error);
	if (until == facts->n || until <= from) {
		snprintf(error, MT_BETWEEN_ERROR_MAX, "mark '%.80s' is not after '%.80s'",
			 texts[1], texts[0]);
		return -ENOENT;
	}
	*ret_between = (struct mt_between){ .set = true, .from = from, .until = until };
	return 0;
}

uint64_t mt_mark_facts_disabled(const struct mt_mark_facts *facts, uint64_t from, uint64_t until)
{
	uint64_t sum = 0, since = 0, time;
	bool disabled = false;
	uint32_t i;

	for (i = 0; i <= facts->n; i++) {
		if (i < facts->n && facts->rows[i].type == MT_MARK_NAME)
			continue;
		time = i < facts->n ? facts->rows[i].time : UINT64_MAX;
		time = time > until ? until : time < from ? from : time;
		if (disabled && time > since)
			sum += time - since;
		since = time;
		disabled = i < facts->n && facts->rows[i].type == MT_MARK_DISABLE;
	}
	return sum;
}
