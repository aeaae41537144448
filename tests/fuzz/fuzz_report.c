/*
 * tests/fuzz/fuzz_report.c - the blocks of an artifact, through everything mt-report does.
 *
 * Frames carry checksums, so that flipped bytes of a file rarely get past the reader. The
 * input is what frames hold: blocks, the header's first. Whatever rows say, totals per
 * stack add up to the totals over all, and everything can be rendered.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "common/frame.h"
#include "report/analysis.h"
#include "report/folded.h"
#include "report/render_dump.h"
#include "report/stat_report.h"
#include "report/timeline.h"

#define CONTENT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_frame(int fd, struct mt_packer *packer, const uint8_t *content, size_t len)
{
	const uint8_t *frame;
	size_t size;

	if (mt_packer_pack(packer, content, len, NULL, 0, &frame, &size) ||
	    write(fd, frame, size) != (ssize_t)size)
		abort();
}

/* The file whose first frame holds the first block, and whose second the others. */
static int write_artifact(const uint8_t *data, size_t size)
{
	static struct mt_packer *packer;	/* clears its memory: once */
	struct mt_block block;
	size_t used = 0;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || (!packer && mt_packer_new(1, CONTENT_MAX, &packer)))
		abort();
	mt_block_init(&block);
	if (!mt_block_decode(&block, data, size, 0, &used)) {
		write_frame(fd, packer, data, used);
		if (used < size)
			write_frame(fd, packer, data + used, size - used);
	}
	mt_block_release(&block);
	return fd;
}

static void check_sums(const struct mt_profile *profile)
{
	const struct mt_totals *all = &mt_profile_totals(profile)->all;
	struct mt_totals sum = { 0 };
	uint32_t i;

	for (i = 0; i < mt_profile_stacks(profile); i++)
		mt_totals_add(&sum, mt_profile_stack(profile, mt_profile_stack_id(profile, i)));
	if (sum.allocations != all->allocations || sum.allocated_bytes != all->allocated_bytes ||
	    sum.live_blocks != all->live_blocks || sum.live_bytes != all->live_bytes ||
	    sum.peak_bytes != all->peak_bytes || sum.temporary != all->temporary)
		abort();
}

static void dump(const struct mt_analysis *analysis, FILE *out)
{
	struct mt_timeline_batch batch;
	struct mt_timeline *timeline;
	size_t i;

	if (mt_timeline_open(analysis->reader, analysis->session, &timeline))
		abort();
	while (mt_timeline_next(timeline, &batch) > 0) {
		for (i = 0; i < batch.n; i++) {
			mt_dump_put_event(analysis->session, 1, &batch.events[i], out);
			mt_dump_put_event_json(analysis->session, &batch.events[i], out);
		}
		if (batch.lifecycle) {
			mt_dump_put_lifecycle(analysis->session, 1, batch.lifecycle, out);
			mt_dump_put_lifecycle_json(analysis->session, batch.lifecycle, out);
		}
	}
	mt_timeline_free(timeline);
}

static void render(const struct mt_analysis *analysis, FILE *out)
{
	struct mt_top_report top;
	struct mt_stat_report stat;

	if (mt_top_report_build(analysis, MT_BY_BYTES, 0, &top))
		abort();
	mt_render_top(&top, &mt_style_plain, out);
	mt_render_top_json(&top, out);
	mt_top_report_release(&top);
	if (mt_stat_report_build(analysis, &stat) || mt_render_stat(&stat, &mt_style_plain, out))
		abort();
	mt_render_stat_json(&stat, out);
	dump(analysis, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	static const struct mt_module_options options;
	struct mt_analysis analysis;
	char path[64];
	int fd;

	if (!out)
		out = fopen("/dev/null", "w");
	if (!out)
		abort();
	if (size > CONTENT_MAX)
		return 0;
	fd = write_artifact(data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!mt_analysis_load(path, ~(unsigned int)MT_NEED_MMAP, &options, size % 16 ? 1 : 2, NULL,
			      NULL, NULL, &analysis)) {
		check_sums(analysis.profile);
		if (analysis.regions)
			check_sums(analysis.regions);
		render(&analysis, out);
		mt_analysis_release(&analysis);
	}
	close(fd);
	return 0;
}
