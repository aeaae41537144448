#include "report/analysis.h"

#include "report/cache.h"
#include "report/debuginfod.h"
#include "report/profile_read.h"
#include "report/reader.h"
#include "report/symbolize.h"

#include <errno.h>
#include <inttypes.h>

#define PAGE_SIZE_MAX 65536u

static void free_unwinders(struct mt_analysis *a)
{
	unsigned int i;

	for (i = 0; a->unwinders && i < mt_workers_count(a->workers); i++)
		mt_unwinder_free(a->unwinders[i]);
	free(a->unwinders);
}

void mt_analysis_release(struct mt_analysis *analysis)
{
	mt_problems_release(&analysis->problems);
	mt_modules_release(&analysis->modules);
	mt_names_free(analysis->names);
	mt_paths_free(analysis->paths);
	free_unwinders(analysis);
	mt_symbolizer_free(analysis->symbolizer);
	mt_profile_free(analysis->profile);
	mt_profile_free(analysis->regions);
	mt_debuginfod_free(analysis->debuginfod);
	mt_cache_free(analysis->cache);
	mt_pack_free(analysis->pack);
	mt_profile_modules_free(analysis->folder);
	mt_session_free(analysis->session);
	mt_run_release(&analysis->run);
	mt_reader_free(analysis->reader);
	mt_workers_free(analysis->workers);
	memset(analysis, 0, sizeof(*analysis));
}

static int name_frame(void *arg, const struct mt_frame *frame,
		      const struct mt_location **ret_locations, size_t *ret_n)
{
	return mt_symbolize(arg, frame, ret_locations, ret_n);
}

static int load_paths(struct mt_analysis *a)
{
	unsigned int i, n = mt_workers_count(a->workers);
	int err = 0;

	a->unwinders = calloc(n, sizeof(struct mt_unwinder *));
	if (!a->unwinders)
		return -ENOMEM;
	for (i = 0; i < n && !err; i++)
		err = mt_unwinder_new(a->run.header->arch, a->run.header->code_mask,
				      mt_symbolizer_find_code, a->symbolizer, &a->unwinders[i]);
	if (!err)
		err = mt_paths_new(a->session, &a->paths);
	return err ? err : mt_paths_load(a->paths, a->reader, a->unwinders);
}

static int load_symbolizer(struct mt_analysis *a, const struct mt_module_options *given)
{
	struct mt_module_options options = *given;
	int err = mt_pack_load(a->reader, &a->pack);

	if (err)
		return err;
	options.kernel = a->run.header->kernel;
	options.start_time = a->run.header->start_time;
	options.start_realtime = a->run.header->start_realtime;
	options.pack = a->pack;
	return mt_symbolizer_new(a->session, &options, &a->symbolizer);
}

void mt_analysis_range(const struct mt_analysis *analysis, uint64_t *ret_from,
		       uint64_t *ret_until)
{
	const struct mt_between *between = &analysis->between;
	const struct mt_moment *moments = analysis->run.marks.rows;

	*ret_from = between->set ? moments[between->from].time : 0;
	*ret_until = between->set ? moments[between->until].time : UINT64_MAX;
}

static int find_range(struct mt_analysis *a, struct mt_range_wanted *range)
{
	if (!range || !range->marks[0])
		return 0;
	return mt_mark_facts_find(&a->run.marks, range->marks, &a->between, range->error);
}

/* As the header says, if that can be. */
static uint64_t page_size_of(const struct mt_header *header)
{
	uint64_t size = header->page_size;

	return size >= 4096 && size <= PAGE_SIZE_MAX && !(size & (size - 1)) ? size : 4096;
}

static bool has_regions(const struct mt_profile *profile)
{
	const uint64_t *by_type = mt_profile_totals(profile)->by_type;

	return by_type[MT_EV_MMAP] || by_type[MT_EV_MUNMAP] || by_type[MT_EV_MREMAP] ||
	       by_type[MT_EV_BRK];
}

static int load_profile(struct mt_analysis *a, unsigned int needs)
{
	struct mt_profile_scope scope = {
		.marks = &a->run.marks, .regions = needs & MT_NEED_MMAP,
		.page_size = page_size_of(a->run.header),
		.sample_bytes = a->run.header->sample_bytes,
	};
	int err;

	a->mmap = scope.regions;
	mt_analysis_range(a, &scope.from, &scope.until);
	err = mt_profile_build(a->reader, a->session, &scope, &a->profile);
	if (err || !(needs & MT_NEED_REGIONS) || !has_regions(a->profile))
		return err;
	scope.regions = true;
	return mt_profile_build(a->reader, a->session, &scope, &a->regions);
}

/* Files of fewer frames are read before anybody could look. */
#define FRAMES_TOLD 64u

void mt_progress_begin(struct mt_progress *progress, const char *what)
{
	progress->doing = what;
	progress->percent = 0;
	if (progress->fn)
		progress->fn(progress->arg, what);
}

void mt_progress_read_on(void *arg, uint32_t frame, uint32_t frames)
{
	struct mt_progress *progress = arg;
	uint32_t percent = (uint32_t)((uint64_t)frame * 100 / frames);
	char text[64];

	if (!progress->fn || frames < FRAMES_TOLD || percent <= progress->percent)
		return;
	progress->percent = percent;
	snprintf(text, sizeof(text), "%s, %" PRIu32 " %%", progress->doing, percent);
	progress->fn(progress->arg, text);
}

/* Each stage needs those before it; an error ends them all. */
static int run_stages(struct mt_analysis *a, unsigned int needs,
		      const struct mt_module_options *options, struct mt_range_wanted *range,
		      struct mt_progress *progress)
{
	int err;

	mt_progress_begin(progress, "reading processes");
	err = mt_run_load(a->reader, &a->run);
	if (!err)
		err = find_range(a, range);
	if (!err)
		err = mt_session_load(a->reader, &a->session);
	if (!err && needs & MT_NEED_PROFILE) {
		mt_progress_begin(progress, "replaying events");
		err = load_profile(a, needs);
	}
	if (!err && needs & (MT_NEED_PATHS | MT_NEED_NAMES | MT_NEED_MODULES))
		err = load_symbolizer(a, options);
	if (!err && needs & MT_NEED_PATHS) {
		mt_progress_begin(progress, "unwinding stacks");
		err = load_paths(a);
	}
	if (!err && needs & MT_NEED_NAMES) {
		mt_progress_begin(progress, "naming functions");
		err = mt_names_load(name_frame, a->symbolizer, a->paths, a->workers, &a->names);
	}
	if (!err && needs & MT_NEED_MODULES) {
		mt_progress_begin(progress, "checking modules");
		err = mt_modules_load(a->session, a->symbolizer, a->paths, a->names, &a->modules);
	}
	if (!err && a->symbolizer)
		mt_symbolizer_save(a->symbolizer);
	return err;
}

int mt_analysis_load(const char *path, unsigned int needs, const struct mt_module_options *options,
		     unsigned int threads, struct mt_range_wanted *range, mt_progress_fn progress,
		     void *arg, struct mt_analysis *ret_analysis)
{
	struct mt_progress told = { .fn = progress, .arg = arg };
	struct mt_analysis a = {
		.debuginfod = options->debuginfod, .cache = options->cache,
		.folder = options->profile,
	};
	int err = mt_workers_new(threads, &a.workers);

	if (!err)
		err = mt_reader_open(path, &a.reader);
	if (!err)
		err = mt_reader_use(a.reader, a.workers);
	if (!err) {
		mt_reader_tell(a.reader, mt_progress_read_on, &told);
		err = run_stages(&a, needs, options, range, &told);
		mt_reader_tell(a.reader, NULL, NULL);
	}
	if (!err) {
		mt_reader_end(a.reader, &a.end);
		err = mt_problems_find(&a);
	}
	if (err) {
		mt_analysis_release(&a);
		return err;
	}
	*ret_analysis = a;
	return 0;
}
