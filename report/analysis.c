#include "report/analysis.h"

#include "report/symbolize.h"

#include <errno.h>

void mt_analysis_release(struct mt_analysis *analysis)
{
	mt_problems_release(&analysis->problems);
	mt_modules_release(&analysis->modules);
	mt_names_free(analysis->names);
	mt_paths_free(analysis->paths);
	mt_unwinder_free(analysis->unwinder);
	mt_symbolizer_free(analysis->symbolizer);
	mt_profile_free(analysis->profile);
	mt_session_free(analysis->session);
	mt_run_release(&analysis->run);
	mt_reader_free(analysis->reader);
	memset(analysis, 0, sizeof(*analysis));
}

static int name_frame(void *arg, const struct mt_frame *frame,
		      const struct mt_location **ret_locations, size_t *ret_n)
{
	return mt_symbolize(arg, frame, ret_locations, ret_n);
}

static int load_paths(struct mt_analysis *a)
{
	int err;

	err = mt_unwinder_new(a->run.header->arch, a->run.header->code_mask,
			      mt_symbolizer_find_code, a->symbolizer, &a->unwinder);
	if (!err)
		err = mt_paths_new(a->session, &a->paths);
	return err ? err : mt_paths_load(a->paths, a->reader, a->unwinder);
}

int mt_analysis_load(const char *path, unsigned int needs, const struct mt_module_options *given,
		     mt_progress_fn progress, void *arg, struct mt_analysis *ret_analysis)
{
	struct mt_module_options options = *given;
	struct mt_analysis a = { 0 };
	int err;

#define STAGE(need, doing, call) do { \
	if (!err && (!(need) || needs & (need))) { \
		if (progress) \
			progress(arg, doing); \
		err = (call); \
	} \
} while (0)

	err = mt_reader_open(path, &a.reader);
	STAGE(0, "reading processes", mt_run_load(a.reader, &a.run));
	if (!err)
		options.kernel = a.run.header->kernel;
	STAGE(0, "reading processes", mt_session_load(a.reader, &a.session));
	STAGE(MT_NEED_PROFILE, "replaying events",
	      mt_profile_build(a.reader, a.session, &a.profile));
	STAGE(MT_NEED_PATHS | MT_NEED_NAMES | MT_NEED_MODULES, "checking modules",
	      mt_symbolizer_new(a.session, &options, &a.symbolizer));
	STAGE(MT_NEED_PATHS, "unwinding stacks", load_paths(&a));
	STAGE(MT_NEED_NAMES, "naming functions",
	      mt_names_load(name_frame, a.symbolizer, a.paths, &a.names));
	STAGE(MT_NEED_MODULES, "checking modules",
	      mt_modules_load(a.session, a.symbolizer, a.paths, a.names, &a.modules));
#undef STAGE
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
