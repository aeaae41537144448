#include "report/module_sources.h"

#include "report/cache.h"
#include "report/module_impl.h"

#include <sys/stat.h>
#include <time.h>

#define NS_PER_S 1000000000ll
/* The kernel stamps files by its tick: two changes in one leave one time. */
#define CLOCK_STEP (20 * 1000000ll)

_Static_assert(sizeof(struct mt_module_sources) == 8 + MT_BUILD_ID_MAX + 80 &&
	       MT_BUILD_ID_MAX % 8 == 0, "no padding");

static int64_t ns_of(const struct timespec *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

static bool describe(int fd, struct mt_source_file *ret_file)
{
	struct timespec now;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || clock_gettime(CLOCK_REALTIME, &now))
		return false;
	*ret_file = (struct mt_source_file){
		.dev = st.st_dev, .ino = st.st_ino, .size = (uint64_t)st.st_size,
		.mtime = ns_of(&st.st_mtim), .ctime = ns_of(&st.st_ctim),
	};
	return ns_of(&now) - ret_file->ctime > CLOCK_STEP;
}

bool mt_module_sources(struct mt_module *module, struct mt_module_sources *ret_sources)
{
	struct mt_module_sources sources = {
		.version = MT_CACHE_VERSION, .machine = module->machine,
		.n_build_id = (uint16_t)module->build_id_len,
	};

	if (module->status != MT_MODULE_VERIFIED || !module->build_id_len || module->packed ||
	    !describe(module->own.fd, &sources.own))
		return false;
	memcpy(sources.build_id, module->build_id, module->build_id_len);
	mt_module_debug_path(module);
	if (module->debug.elf && !describe(module->debug.fd, &sources.debug))
		return false;
	*ret_sources = sources;
	return true;
}

bool mt_module_has_more_sources(struct mt_module *module)
{
	static const char *const names[] = { ".gnu_debugaltlink", ".debug_addr" };
	const struct mt_image *images[] = { &module->own, &module->debug };
	GElf_Shdr shdr;
	size_t i, k;

	mt_module_debug_path(module);
	for (i = 0; i < MT_ARRAY_SIZE(images); i++)
		for (k = 0; k < MT_ARRAY_SIZE(names); k++)
			if (mt_image_find_section(images[i], names[k], &shdr))
				return true;
	return false;
}
