#include "common/options.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 80

/* Text from the column on, broken at spaces. */
static void put_wrapped(const char *text, FILE *out)
{
	size_t room = HELP_WIDTH - 1 - HELP_COLUMN, len, cut;

	for (;;) {
		len = strlen(text);
		if (len <= room) {
			fprintf(out, "%s\n", text);
			return;
		}
		cut = room;
		while (cut && text[cut] != ' ')
			cut--;
		if (!cut)
			cut = strcspn(text, " ");
		fprintf(out, "%.*s\n", (int)cut, text);
		text += cut;
		text += strspn(text, " ");
		if (!*text)
			return;
		fprintf(out, "%*s", HELP_COLUMN, "");
	}
}

void mt_options_help(const struct mt_option *options, FILE *out)
{
	char left[HELP_WIDTH];
	int n;

	for (; options->kind != MT_OPTION_END; options++) {
		if (options->kind == MT_OPTION_HEADING) {
			fprintf(out, "%s\n", options->name);
			continue;
		}
		if (!options->help)
			continue;
		if (options->alias)
			n = snprintf(left, sizeof(left), "  -%c, --%s%s%s", options->alias,
				     options->name, options->arg ? " " : "",
				     options->arg ? options->arg : "");
		else
			n = snprintf(left, sizeof(left), "      --%s%s%s", options->name,
				     options->arg ? " " : "", options->arg ? options->arg : "");
		fputs(left, out);
		/* A left side that is too wide gets a line of its own. */
		if (n >= HELP_COLUMN - 1)
			fprintf(out, "\n%*s", HELP_COLUMN, "");
		else
			fprintf(out, "%*s", HELP_COLUMN - n, "");
		put_wrapped(options->help, out);
	}
}
