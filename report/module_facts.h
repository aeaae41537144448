/*
 * report/module_facts.h - each mapped file, whether it could be used, what it lacks.
 */
#ifndef MT_MODULE_FACTS_H
#define MT_MODULE_FACTS_H

#include "report/module.h"

#include <stdio.h>

struct mt_names;
struct mt_paths;
struct mt_session;
struct mt_symbolizer;

/* What it takes to name and locate the calls in a module. */
struct mt_module_facts {
	const char *path;
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	enum mt_module_status status;
	const char *reason;		/* if not verified */
	uint8_t build_id[MT_BUILD_ID_MAX];
	size_t n_build_id;
	bool symbols;			/* has any */
	bool lines;			/* has line information */
	bool copied;			/* some of its code, see struct mt_file */
	const char *debug_path;		/* separate debug file, "" if none */
	uint32_t calls;			/* distinct places in call paths */
	uint32_t unnamed;		/* of them without a function, */
	uint32_t unlocated;		/* without file and line */
	const char *packed_package;	/* as the pack has it; NULL: not from one */
	char *package;			/* that has the file; NULL: unknown, or not asked */
};

struct mt_modules {
	struct mt_module_facts *facts;	/* sorted by path, then device and inode */
	size_t n;
};

/*
 * Every file of the session, and memory without a file where calls are. names and paths may be
 * NULL: without names symbols, lines and packages are not looked for; without paths nothing is
 * known of calls either, and all such memory is there.
 */
int mt_modules_load(const struct mt_session *session, struct mt_symbolizer *symbolizer,
		    const struct mt_paths *paths, const struct mt_names *names,
		    struct mt_modules *ret_modules);
void mt_modules_release(struct mt_modules *modules);

/* Should be usable and is not: refused. Memory without a file is not. */
bool mt_module_refused(const struct mt_module_facts *facts);
/* Does it lack anything that the report would show? */
bool mt_module_lacks(const struct mt_module_facts *facts);
/*
 * What it lacks and how to get it; each line begins with indent, the last has no newline. Only
 * if it lacks something.
 */
void mt_module_put_advice(const struct mt_module_facts *facts, const char *indent, FILE *out);

#endif
