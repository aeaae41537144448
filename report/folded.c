#include "report/folded.h"

#include "report/symbolize.h"

#include <errno.h>
#include <inttypes.h>

static void put_escaped(const char *text, FILE *out)
{
	size_t control;

	while (*text) {
		control = mt_text_control(text);
		putc(control ? '?' : *text == ';' ? ':' : *text, out);
		text += control ? control : 1;
	}
}

static void put_frame(const struct mt_location *frame, FILE *out)
{
	if (frame->function && *frame->function) {
		put_escaped(frame->function, out);
	} else if (frame->module) {
		put_escaped(frame->module, out);
		fprintf(out, "+0x%" PRIx64, frame->offset);
	} else {
		fprintf(out, "0x%" PRIx64, frame->offset);
	}
}

static void put_stack(const struct mt_top_stack *stack, FILE *out)
{
	size_t i = stack->n_frames;

	if (stack->kind == MT_RANKED_NO_STACK) {
		fputs("[no stack]", out);
		return;
	}
	if (stack->kind == MT_RANKED_UNDEFINED) {
		fputs("[stack lost]", out);
		return;
	}
	if (stack->end != MT_UNWIND_COMPLETE) {
		mt_put_end(stack->end, stack->end_module, out);
		if (i)
			putc(';', out);
	}
	while (i-- > 0) {
		put_frame(stack->frames[i], out);
		if (i)
			putc(';', out);
	}
}

int mt_folded_add(struct mt_folded *folded, const struct mt_top_stack *stack, uint64_t weight)
{
	size_t cap = folded->cap ? folded->cap * 2 : 256, len;
	struct mt_folded_line *lines;
	char *text = NULL;
	FILE *out;
	int failed;

	if (!weight)
		return 0;
	if (folded->n == folded->cap) {
		lines = realloc(folded->lines, cap * sizeof(*lines));
		if (!lines)
			return -ENOMEM;
		folded->lines = lines;
		folded->cap = cap;
	}
	out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	put_stack(stack, out);
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		return -ENOMEM;
	}
	folded->lines[folded->n++] = (struct mt_folded_line){ text, weight };
	return 0;
}

static int by_text(const void *a, const void *b)
{
	const struct mt_folded_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

void mt_folded_merge(struct mt_folded *folded)
{
	size_t i, kept = 0;

	if (!folded->n)
		return;
	qsort(folded->lines, folded->n, sizeof(*folded->lines), by_text);
	for (i = 1; i < folded->n; i++) {
		if (!strcmp(folded->lines[kept].text, folded->lines[i].text)) {
			folded->lines[kept].weight += folded->lines[i].weight;
			free(folded->lines[i].text);
		} else {
			folded->lines[++kept] = folded->lines[i];
		}
	}
	folded->n = kept + 1;
}

void mt_folded_put(const struct mt_folded *folded, FILE *out)
{
	size_t i;

	for (i = 0; i < folded->n; i++)
		fprintf(out, "%s %" PRIu64 "\n", folded->lines[i].text, folded->lines[i].weight);
}

void mt_folded_release(struct mt_folded *folded)
{
	size_t i;

	for (i = 0; i < folded->n; i++)
		free(folded->lines[i].text);
	free(folded->lines);
	memset(folded, 0, sizeof(*folded));
}
