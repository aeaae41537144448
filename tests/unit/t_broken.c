/* An artifact cut at every byte, and with every byte changed: no wrong total without a warning. */
#include "common/artifact.h"
#include "record/writer.h"
#include "report/aggregate.h"
#include "report/reader.h"
#include "report/run_facts.h"
#include "report/session.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t *artifact;
static size_t size;
static struct mt_profile_totals whole;

static struct mt_event alloc(uint64_t time, uint64_t addr, uint64_t bytes)
{
	return (struct mt_event){ .type = MT_EV_MALLOC, .time = time, .begin = time, .addr = addr,
				  .size = bytes, .stack = 1 };
}

/* Two checkpoints, so that there is something to lose between them. */
static void write_artifact(int fd)
{
	static const struct mt_header header = {
		.format_version = MT_FORMAT_VERSION, .min_reader_version = 1, .producer = "t",
		.arch = "x86_64", .byte_order = "little", .kernel = "", .hostname = "",
		.clock = "monotonic", .watch = "", .attach = "", .mapping_source = "", .cwd = "",
	};
	static const struct mt_lifecycle lc[] = {
		{ .type = MT_LC_START, .pid = 7, .name = "p", .path = "" },
		{ .type = MT_LC_THREAD, .tid = 7, .name = "p", .path = "" },
	};
	struct mt_event events[] = {
		alloc(10, 0x1000, 100), alloc(20, 0x2000, 50),
		{ .type = MT_EV_FREE, .time = 15, .begin = 15, .addr = 0x1000 },
		alloc(30, 0x3000, 7), alloc(40, 0x4000, 9),
	};
	struct mt_checkpoint checkpoint = { .time = 25 };
	struct mt_trailer trailer = { .end_time = 50, .end_reason = "exited" };
	struct mt_writer *writer;

	cr_assert_eq(mt_writer_open(fd, &header, &writer), 0);
	cr_assert_eq(mt_writer_lifecycle(writer, lc, 2), 0);
	cr_assert_eq(mt_writer_events(writer, events, 3), 0);
	cr_assert_eq(mt_writer_checkpoint(writer, &checkpoint), 0);
	cr_assert_eq(mt_writer_events(writer, events + 3, 2), 0);
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	mt_writer_free(writer);
}

/* Totals of the bytes: 0 and how reading ended, or an error. */
static int total(const uint8_t *bytes, size_t n, struct mt_profile_totals *ret_totals,
		 struct mt_reader_end *ret_end)
{
	struct mt_session *session = NULL;
	struct mt_profile *profile = NULL;
	struct mt_reader *reader = NULL;
	struct mt_run run;
	char path[64];
	int fd = memfd_create("t_broken", MFD_CLOEXEC), err;

	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = mt_reader_open(path, &reader);
	if (!err)
		err = mt_run_load(reader, &run);
	if (err)
		goto out;
	err = mt_session_load(reader, &session);
	if (!err)
		err = mt_profile_build(reader, session, NULL, &profile);
	if (!err) {
		*ret_totals = *mt_profile_totals(profile);
		mt_reader_end(reader, ret_end);
	}
	mt_profile_free(profile);
	mt_session_free(session);
	mt_run_release(&run);
out:
	mt_reader_free(reader);
	close(fd);
	return err;
}

static void init(void)
{
	struct mt_reader_end end;
	int fd = memfd_create("t_broken", MFD_CLOEXEC), copy = dup(fd);

	write_artifact(fd);	/* closes fd */
	size = (size_t)lseek(copy, 0, SEEK_END);
	artifact = malloc(size);
	cr_assert_eq(pread(copy, artifact, size, 0), (ssize_t)size);
	close(copy);
	cr_assert_eq(total(artifact, size, &whole, &end), 0);
	cr_assert_eq(end.kind, MT_END_COMPLETE);
	cr_assert_eq(whole.all.allocated_bytes, 166);
	cr_assert_eq(whole.all.peak_bytes, 100);
	cr_assert_eq(whole.all.live_bytes, 66);
}

static void fini(void)
{
	free(artifact);
}

TestSuite(broken, .init = init, .fini = fini);

static bool same(const struct mt_profile_totals *totals)
{
	return totals->events == whole.events &&
	       !memcmp(&totals->all, &whole.all, sizeof(whole.all));
}

Test(broken, cut_at_every_byte)
{
	struct mt_profile_totals totals;
	struct mt_reader_end end;
	size_t n, partial = 0, refused = 0;

	for (n = 0; n < size; n++) {
		if (total(artifact, n, &totals, &end)) {
			refused++;
			continue;
		}
		cr_assert(end.kind != MT_END_COMPLETE || same(&totals), "cut at %zu", n);
		cr_assert_leq(totals.events, whole.events);
		partial += end.kind != MT_END_COMPLETE && totals.events && !same(&totals);
	}
	cr_expect_gt(refused, 0, "without its header it is no artifact");
	cr_expect_gt(partial, 0, "up to the checkpoint it has totals");
}

Test(broken, every_byte_changed)
{
	struct mt_profile_totals totals;
	struct mt_reader_end end;
	uint8_t saved;
	size_t at, bit, noticed = 0;

	for (at = 0; at < size; at++) {
		for (bit = 0; bit <= 8; bit++) {
			saved = artifact[at];
			artifact[at] ^= bit < 8 ? 1u << bit : 0xff;
			if (total(artifact, size, &totals, &end) || end.kind != MT_END_COMPLETE)
				noticed++;
			else
				cr_assert(same(&totals), "byte %zu, bit %zu", at, bit);
			artifact[at] = saved;
		}
	}
	cr_expect_gt(noticed, size, "checksums are checked");
}
