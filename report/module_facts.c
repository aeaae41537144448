#include "report/module_facts.h"

#include "report/names.h"
#include "report/packages.h"
#include "report/session.h"

#include <errno.h>

#define DEBUG_DIR "/usr/lib/debug"	/* where mt-report looks if no option tells it */

static int load_one(const struct mt_session *session, struct mt_symbolizer *symbolizer,
		    uint32_t index, bool contents, struct mt_module_facts *facts)
{
	const struct mt_file *file = mt_session_file(session, index);
	struct mt_module *module = mt_symbolizer_module(symbolizer, index);

	if (!module)
		return -ENOMEM;
	*facts = (struct mt_module_facts){
		.path = file->path, .dev_major = file->dev_major, .dev_minor = file->dev_minor,
		.ino = file->ino, .status = mt_module_status(module),
		.reason = mt_module_reason(module), .debug_path = "",
		.copied = file->copied,
	};
	facts->n_build_id = mt_module_build_id(module, facts->build_id);
	facts->packed_package = mt_module_package(module);
	if (!contents)
		return 0;
	facts->symbols = mt_symbolizer_has_symbols(symbolizer, index);
	facts->lines = mt_symbolizer_has_lines(symbolizer, index);
	facts->debug_path = mt_module_debug_path(module);
	return 0;
}

static void count_calls(struct mt_modules *modules, const struct mt_paths *paths,
			const struct mt_names *names)
{
	const struct mt_location *locations;
	struct mt_module_facts *facts;
	uint32_t i, n = mt_paths_calls(paths), file;
	size_t n_locations;

	for (i = 0; i < n; i++) {
		file = mt_paths_call(paths, i)->file;
		if (file == MT_PATHS_NONE)
			continue;
		facts = &modules->facts[file];
		facts->calls++;
		if (!names)
			continue;
		locations = mt_names_of(names, i, &n_locations);
		facts->unnamed += !locations[0].function;
		facts->unlocated += !locations[0].file;
	}
}

/*
 * What the kernel maps into everybody, such as [uprobes] and [vsyscall], and memory of other kinds
 * says nothing of the program, unless calls are there.
 */
static void drop_unused_memory(struct mt_modules *modules)
{
	size_t i, n = 0;

	for (i = 0; i < modules->n; i++)
		if (modules->facts[i].status != MT_MODULE_NO_FILE || modules->facts[i].calls)
			modules->facts[n++] = modules->facts[i];
	modules->n = n;
}

/* A pack says it where it was made. */
static bool must_ask(const struct mt_module_facts *facts)
{
	return mt_module_lacks(facts) && !facts->packed_package;
}

/* Which package has the debug symbols matters only for files that lack them. */
static int find_packages(struct mt_modules *modules)
{
	const char **paths = calloc(modules->n + 1, sizeof(*paths));
	char **packages = calloc(modules->n + 1, sizeof(*packages));
	struct mt_module_facts *facts;
	size_t i, n = 0;
	int err = -ENOMEM;

	if (!paths || !packages)
		goto out;
	for (i = 0; i < modules->n; i++)
		if (must_ask(&modules->facts[i]))
			paths[n++] = modules->facts[i].path;
	err = mt_packages_find(MT_PACKAGES_DIR, paths, n, packages);
	for (i = 0, n = 0; i < modules->n; i++) {
		facts = &modules->facts[i];
		if (must_ask(facts))
			facts->package = packages[n++];
		else if (mt_module_lacks(facts) && *facts->packed_package &&
			 !(facts->package = strdup(facts->packed_package)))
			err = -ENOMEM;
	}
out:
	free(paths);
	free(packages);
	return err;
}

static int by_path(const void *a, const void *b)
{
	const struct mt_module_facts *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	if (x->dev_major != y->dev_major)
		return x->dev_major < y->dev_major ? -1 : 1;
	if (x->dev_minor != y->dev_minor)
		return x->dev_minor < y->dev_minor ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

int mt_modules_load(const struct mt_session *session, struct mt_symbolizer *symbolizer,
		    const struct mt_paths *paths, const struct mt_names *names,
		    struct mt_modules *ret_modules)
{
	struct mt_modules modules = { .n = mt_session_files(session) };
	uint32_t i;
	int err = 0;

	modules.facts = calloc(modules.n + 1, sizeof(*modules.facts));
	if (!modules.facts)
		return -ENOMEM;
	for (i = 0; !err && i < modules.n; i++)
		err = load_one(session, symbolizer, i, names != NULL, &modules.facts[i]);
	if (!err && paths) {
		count_calls(&modules, paths, names);
		drop_unused_memory(&modules);
	}
	if (!err && names)
		err = find_packages(&modules);
	if (err) {
		mt_modules_release(&modules);
		return err;
	}
	qsort(modules.facts, modules.n, sizeof(*modules.facts), by_path);
	*ret_modules = modules;
	return 0;
}

void mt_modules_release(struct mt_modules *modules)
{
	size_t i;

	for (i = 0; modules->facts && i < modules->n; i++)
		free(modules->facts[i].package);
	free(modules->facts);
	memset(modules, 0, sizeof(*modules));
}

bool mt_module_refused(const struct mt_module_facts *facts)
{
	return facts->status != MT_MODULE_VERIFIED && facts->status != MT_MODULE_NO_FILE;
}

bool mt_module_lacks(const struct mt_module_facts *facts)
{
	/* Its debug file is in use already: there is no more to get. */
	if (!facts->calls || facts->status != MT_MODULE_VERIFIED || *facts->debug_path)
		return false;
	return facts->unnamed || (facts->unlocated && !facts->lines);
}

/* debuginfod-find leaves it where no other program looks. */
static void put_debuginfod(const struct mt_module_facts *facts, const char *indent, FILE *out)
{
	size_t i;

	fprintf(out, "\n%sinstall -D $(debuginfod-find debuginfo ", indent);
	for (i = 0; i < facts->n_build_id; i++)
		fprintf(out, "%02x", facts->build_id[i]);
	fprintf(out, ") " DEBUG_DIR "/.build-id/%02x/", facts->build_id[0]);
	for (i = 1; i < facts->n_build_id; i++)
		fprintf(out, "%02x", facts->build_id[i]);
	fputs(".debug", out);
}

void mt_module_put_advice(const struct mt_module_facts *facts, const char *indent, FILE *out)
{
	bool by_id = facts->n_build_id > 1;

	fputs(indent, out);
	if (facts->lines)
		fputs("some functions without name", out);
	else
		fputs(facts->unnamed ? "some functions without name, no line numbers" :
				       "no line numbers", out);
	/* No package has it: it was built here. */
	if (!facts->package)
		fprintf(out, ": build it with -g and do not strip it%s",
			by_id ? "; or, as root" : "");
	else
		fputs(by_id ? "; as root, either of" : "; as root", out);
	if (by_id)
		put_debuginfod(facts, indent, out);
	if (!facts->package)
		return;
	/* glibc's debug symbols have been in a package of their own name for ever. */
	if (!strcmp(facts->package, "libc6"))
		fprintf(out, "\n%sapt install libc6-dbg", indent);
	else
		fprintf(out, "\n%sapt install %s-dbgsym", indent, facts->package);
}
