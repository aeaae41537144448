/* Our reader against tests/oracle/read_artifact.py, which knows nothing but the manual page. */
#include "record/writer.h"
#include "report/reader.h"
#include "tests/unit/artifact_fixture.h"

#include <inttypes.h>
#include <unistd.h>

#define ORACLE "tests/oracle/read_artifact.py"

static char path[] = "/tmp/t_oracle.XXXXXX";
static struct mt_writer *writer;
static int fd;

static void setup(void)
{
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
}

static void teardown(void)
{
	mt_writer_free(writer);
	unlink(path);
}

TestSuite(oracle, .init = setup, .fini = teardown);

static void put_random_events(uint32_t n)
{
	struct mt_event *events = calloc(n, sizeof(*events));
	uint64_t x = 88172645463325252ull, time = 1;
	uint32_t i;

	for (i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		time += x % 1000 - 100;
		events[i].type = 1 + x % (MT_EV_TYPES - 1);
		events[i].time = events[i].begin = time;
		events[i].addr = x >> (x & 63);
		events[i].thread = x >> 40 & 3;
		if (events[i].type != MT_EV_FREE)
			events[i].size = x >> (x >> 6 & 63);
		if (events[i].type != MT_EV_FREE)
			events[i].stack = (uint32_t)(x >> 32) >> (x & 31);
		if (events[i].type == MT_EV_REALLOC || events[i].type == MT_EV_MREMAP) {
			events[i].begin = time - x % 300;
			events[i].old_addr = x & 1 ? events[i].addr : x & 2 ? 0 : x;
		}
		if (events[i].type == MT_EV_ALIGNED)
			events[i].align = 1ull << (x & 63);
		if (events[i].type == MT_EV_MREMAP || events[i].type == MT_EV_BRK)
			events[i].old_size = x >> (x >> 5 & 63);
		if (events[i].type == MT_EV_MMAP) {
			events[i].prot = x & 7;
			events[i].flags = (uint32_t)(x >> 33);
		}
	}
	cr_assert_eq(mt_writer_events(writer, events, n), 0);
	free(events);
}

static void print_event(FILE *out, const struct mt_event *e)
{
	static const char *const types[] = { "", "malloc", "calloc", "realloc", "aligned", "free",
					     "mmap", "munmap", "mremap", "brk" };
	bool old = e->type == MT_EV_REALLOC || e->type == MT_EV_MREMAP;

	fprintf(out, "{\"type\":\"%s\",\"time\":%" PRIu64 ",\"thread\":%u,\"addr\":%" PRIu64,
		types[e->type], e->time, e->thread, e->addr);
	if (e->type != MT_EV_FREE)
		fprintf(out, ",\"size\":%" PRIu64, e->size);
	if (e->type != MT_EV_FREE)
		fprintf(out, ",\"stack\":%u", e->stack);
	if (old)
		fprintf(out, ",\"old_addr\":%" PRIu64 ",\"begin\":%" PRIu64, e->old_addr, e->begin);
	if (e->type == MT_EV_ALIGNED)
		fprintf(out, ",\"align\":%" PRIu64, e->align);
	if (e->type == MT_EV_MREMAP || e->type == MT_EV_BRK)
		fprintf(out, ",\"old_size\":%" PRIu64, e->old_size);
	if (e->type == MT_EV_MMAP)
		fprintf(out, ",\"prot\":%u,\"flags\":%u", e->prot, e->flags);
	fputs("}\n", out);
}

static void compare_with_oracle(const char *ours)
{
	char command[256], *line = NULL;
	const char *end;
	size_t cap = 0, lines = 0;
	ssize_t len;
	FILE *in;

	snprintf(command, sizeof(command), "python3 " ORACLE " %s", path);
	in = popen(command, "r");
	cr_assert_not_null(in);
	for (; (len = getline(&line, &cap, in)) > 0; lines++) {
		end = strchr(ours, '\n');
		cr_assert_not_null(end, "the oracle has more: %s", line);
		cr_assert(end - ours == len - 1 && !memcmp(ours, line, (size_t)len),
			  "line %zu: theirs %s ours %.*s", lines + 1, line,
			  (int)(end - ours), ours);
		ours = end + 1;
	}
	cr_assert_eq(pclose(in), 0);
	cr_assert_str_eq(ours, "");
	cr_assert_gt(lines, 0);
	free(line);
}

Test(oracle, events_are_the_same)
{
	static const struct mt_trailer trailer = { .end_reason = "exited" };
	const struct mt_block *block;
	struct mt_reader *reader;
	char *text = NULL;
	size_t size;
	FILE *out;
	uint32_t i;

	mt_writer_lifecycle(writer, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	mt_writer_stacks(writer, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	mt_writer_events(writer, fixture_events, MT_ARRAY_SIZE(fixture_events));
	mt_writer_checkpoint(writer, &fixture_checkpoint);
	put_random_events(40000);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);

	out = open_memstream(&text, &size);
	cr_assert_eq(mt_reader_open(path, &reader), 0);
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_EVENTS));
	while (mt_reader_next(reader, &block) == 1) {
		for (i = 0; i < block->n; i++)
			print_event(out, &block->events[i]);
	}
	mt_reader_free(reader);
	fclose(out);
	compare_with_oracle(text);
	free(text);
}

/* The oracle decodes all other blocks too, and finds the seek table right. */
Test(oracle, accepts_all_of_it)
{
	static const struct mt_trailer trailer = { .end_reason = "exited" };
	char command[512];

	mt_writer_lifecycle(writer, fixture_lifecycle, MT_ARRAY_SIZE(fixture_lifecycle));
	mt_writer_stacks(writer, fixture_stacks, MT_ARRAY_SIZE(fixture_stacks));
	put_random_events(1000);
	mt_writer_mappings(writer, fixture_mappings, MT_ARRAY_SIZE(fixture_mappings));
	mt_writer_loss(writer, fixture_loss, MT_ARRAY_SIZE(fixture_loss));
	mt_writer_checkpoint(writer, &fixture_checkpoint);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	snprintf(command, sizeof(command),
		 "test $(python3 " ORACLE " --frames %s | wc -l) = 6 && "
		 "test $(python3 " ORACLE " --blocks %s | wc -l) = 8 && "
		 "python3 " ORACLE " --blocks %s | grep -qF '\"end\":18446744073709551615,'",
		 path, path, path);
	cr_assert_eq(system(command), 0);
}
