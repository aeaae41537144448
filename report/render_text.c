#include "report/render_text.h"

#include "common/artifact.h"
#include "report/aggregate.h"
#include "report/elide.h"
#include "report/mark_facts.h"
#include "report/symbolize.h"

#include <inttypes.h>
#include <time.h>

const struct mt_style mt_style_plain = { "", "", "", "", "" };
const struct mt_style mt_style_colour = { "\033[1m", "\033[1m", "\033[2m", "\033[31m", "\033[0m" };

const char *mt_text_bytes(uint64_t bytes, char buf[MT_TEXT_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int unit = 0;
	uint64_t whole = bytes, tenths = 0;

	while (whole >= 1024 && unit + 1 < MT_ARRAY_SIZE(units)) {
		tenths = (whole % 1024) * 10 / 1024;
		whole /= 1024;
		unit++;
	}
	if (unit)
		snprintf(buf, MT_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths,
			 units[unit]);
	else
		snprintf(buf, MT_TEXT_MAX, "%" PRIu64 " B", whole);
	return buf;
}

const char *mt_text_count(uint64_t count, char buf[MT_TEXT_MAX])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count), i, at = 0;

	for (i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *mt_text_share(uint64_t part, uint64_t whole, char buf[MT_TEXT_MAX])
{
	uint64_t tenths;

	if (!whole) {
		snprintf(buf, MT_TEXT_MAX, "-");
		return buf;
	}
	tenths = (uint64_t)(((unsigned __int128)part * 1000 + whole / 2) / whole);
	/* Nearly all is not all, and a little is not nothing. */
	if (tenths == 1000 && part < whole)
		tenths = 999;
	if (part && !tenths)
		snprintf(buf, MT_TEXT_MAX, "<0.1 %%");
	else
		snprintf(buf, MT_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %%", tenths / 10, tenths % 10);
	return buf;
}

const char *mt_text_time(uint64_t ns, char buf[MT_TEXT_MAX])
{
	uint64_t s = ns / 1000000000;

	if (s < 60)
		snprintf(buf, MT_TEXT_MAX, "%" PRIu64 ".%03" PRIu64 " s", s, ns / 1000000 % 1000);
	else if (s < 3600)
		snprintf(buf, MT_TEXT_MAX, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(buf, MT_TEXT_MAX, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	return buf;
}

const char *mt_text_date(uint64_t realtime, char buf[MT_TEXT_MAX])
{
	time_t seconds = (time_t)(realtime / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, MT_TEXT_MAX, "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(buf, MT_TEXT_MAX, "?");
	return buf;
}

void mt_text_put_plural(uint64_t count, const char *noun, FILE *out)
{
	char buf[MT_TEXT_MAX];

	fprintf(out, "%s %s%s", mt_text_count(count, buf), noun, count == 1 ? "" : "s");
}

void mt_text_put_sampling(const struct mt_header *header, const struct mt_profile_totals *totals,
			  FILE *out)
{
	char buf[MT_TEXT_MAX];

	fprintf(out, "one allocation in %s: ", mt_text_bytes(header->sample_bytes, buf));
	mt_text_put_plural(mt_allocations_taken(totals), "allocation", out);
	fputs(" recorded, from which the figures are estimated", out);
}

size_t mt_text_control(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (*p < ' ' || *p == 127)
		return 1;
	/* U+0080 to U+009f in UTF-8: terminals obey those too. */
	return *p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f ? 2 : 0;
}

void mt_text_put_clean(const char *text, FILE *out)
{
	size_t control;

	while (*text) {
		control = mt_text_control(text);
		putc(control ? '?' : *text, out);
		text += control ? control : 1;
	}
}

void mt_text_put_command(const char *command, const struct mt_header *header, FILE *out)
{
	mt_text_put_clean(command, out);
	if (header->attached_pid)
		fprintf(out, "%sprocess %" PRIu64 ", attached to while it ran",
			*command ? "; " : "", header->attached_pid);
}

void mt_text_put_name(const struct mt_location *location, size_t max, FILE *out)
{
	char *name;

	if (location->function) {
		name = mt_elide(location->function, max);
		mt_text_put_clean(name ? name : "?", out);
		free(name);
	} else if (location->module) {
		mt_text_put_clean(location->module, out);
		fprintf(out, "+0x%" PRIx64, location->offset);
	} else {
		fprintf(out, "0x%" PRIx64, location->offset);
	}
}

void mt_text_put_mark(const struct mt_moment *moment, FILE *out)
{
	mt_text_put_clean(moment->name, out);
	if (moment->nth > 1)
		fprintf(out, "#%" PRIu32, moment->nth);
}

const char *mt_text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *mt_text_path(const char *path, const char *cwd)
{
	size_t n = strlen(cwd);

	if (n > 1 && !strncmp(path, cwd, n) && path[n] == '/')
		path += n + 1;
	else if (!strncmp(path, "./", 2))
		path += 2;
	return path;
}
