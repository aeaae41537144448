/*
 * report/module_sources.h - what tells that a module's files are those of another day.
 */
#ifndef MT_MODULE_SOURCES_H
#define MT_MODULE_SOURCES_H

#include "report/module.h"

/* A file as stat(2) shows it: who writes to it changes its ctime. */
struct mt_source_file {
	uint64_t dev, ino, size;
	int64_t mtime, ctime;	/* ns */
};

/* No padding, so that two can be compared byte by byte. */
struct mt_module_sources {
	uint32_t version;	/* MT_CACHE_VERSION */
	uint16_t machine;
	uint16_t n_build_id;
	uint8_t build_id[MT_BUILD_ID_MAX];
	struct mt_source_file own;
	struct mt_source_file debug;	/* zeros: there is none */
};

/*
 * false: nothing can be said for another day, because it is not verified, is no file (of a pack,
 * [vdso]), has no build-id, or was written to this very moment.
 */
bool mt_module_sources(struct mt_module *module, struct mt_module_sources *ret_sources);

/*
 * Has it debug information in files beside those two: a supplementary file, split units? Then what
 * is known of lines is not of these sources alone.
 */
bool mt_module_has_more_sources(struct mt_module *module);

#endif
