#include "record/file_prober.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "common/error.h"
#include "record/allocator_spec.h"
#include "record/allocator_table.h"
#include "record/allocators.h"
#include "record/attach.h"
#include "record/coverage.h"
#include "record/descriptors.h"
#include "record/probe_site.h"
#include "record/programs.h"

struct mt_file_prober {
	struct mt_allocator_table *table;
	struct mt_programs *programs;
	struct mt_attacher *attacher;
	struct mt_coverage *coverage;
	bool move_sites;
	mt_probe_told_fn told;	/* may be NULL */
	void *told_arg;
	bool *found;		/* by index in the table: some file has it */
	bool any;		/* some file has an allocator, or may have one */
	bool looked;	/* a file was there to be looked at */
};

int mt_file_prober_new(const struct mt_allocator_specs *specs, bool move_sites,
		       struct mt_programs *programs, struct mt_attacher *attacher,
		       struct mt_coverage *coverage, struct mt_file_prober **ret_prober)
{
	struct mt_file_prober *prober = calloc(1, sizeof(*prober));
	int err;

	if (!prober)
		return -ENOMEM;
	prober->programs = programs;
	prober->attacher = attacher;
	prober->move_sites = move_sites;
	prober->coverage = coverage;
	err = mt_allocator_table_new(specs, &prober->table);
	if (!err) {
		prober->found = calloc(mt_allocator_table_size(prober->table),
				       sizeof(*prober->found));
		if (!prober->found)
			err = -ENOMEM;
	}
	if (err) {
		mt_file_prober_free(prober);
		return err;
	}
	*ret_prober = prober;
	return 0;
}

void mt_file_prober_tell(struct mt_file_prober *prober, mt_probe_told_fn told, void *arg)
{
	prober->told = told;
	prober->told_arg = arg;
}

void mt_file_prober_free(struct mt_file_prober *prober)
{
	if (!prober)
		return;
	mt_allocator_table_free(prober->table);
	free(prober->found);
	free(prober);
}

static bool is_call(const struct mt_probe *probe)
{
	return probe->role != MT_PROBE_RET_SITE && probe->role != MT_PROBE_LEAVE;
}

/* Probes whose events are counted together: one allocator's; each user's function with a size. */
static bool same_source(const struct mt_probe *a, const struct mt_probe *b)
{
	return a->kind == b->kind && a->fixed_size == b->fixed_size;
}

/* Introduce the source of a probe, and give its id to all probes that share it. */
static int add_source(struct mt_file_prober *prober, const struct stat *st, const char *path,
		      struct mt_allocator_scan *scan, const struct mt_probe *first)
{
	const char **functions = calloc(scan->n, sizeof(*functions));
	struct mt_coverage_source source = {
		.kind = mt_allocator_kind_name(first->kind), .path = path, .st = st,
		.fixed_size = first->fixed_size, .functions = functions,
	};
	uint32_t id = 0;
	size_t i;
	int err;

	if (!functions)
		return -ENOMEM;
	for (i = 0; i < scan->n; i++)
		if (is_call(&scan->probes[i]) && same_source(&scan->probes[i], first))
			functions[source.n_functions++] = scan->probes[i].function;
	err = mt_coverage_add(prober->coverage, &source, &id);
	if (!err && source.fixed_size)
		err = mt_programs_set_fixed_size(prober->programs, id, source.fixed_size);
	for (i = 0; i < scan->n && !err; i++)
		if (is_call(&scan->probes[i]) && same_source(&scan->probes[i], first))
			scan->probes[i].cookie |= (uint64_t)id << MT_COOKIE_GROUP_SHIFT;
	free(functions);
	return err;
}

static int add_sources(struct mt_file_prober *prober, const struct stat *st, const char *path,
		       struct mt_allocator_scan *scan)
{
	size_t i;
	int err = 0;

	for (i = 0; i < scan->n && !err; i++)
		if (is_call(&scan->probes[i]) && !MT_COOKIE_GROUP(scan->probes[i].cookie))
			err = add_source(prober, st, path, scan, &scan->probes[i]);
	return err;
}

/* Its processes make other system calls than those watched, and keep other stacks. */
static bool is_32bit(int fd)
{
	unsigned char ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
	       !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
}

int mt_file_prober_probe(struct mt_file_prober *prober, int fd, const char *path,
			 struct mt_file_probes *ret_probes)
{
	struct mt_allocator_scan scan = {};
	char name[PATH_MAX];
	struct stat st = {};
	size_t i;
	int err = 0;

	memset(ret_probes, 0, sizeof(*ret_probes));
	if (!path)
		path = mt_descriptor_path(fd, name);
	if (fstat(fd, &st))
		err = -errno;
	if (!err)
		err = mt_allocators_scan(prober->table, fd, prober->found, &scan);
	prober->looked |= !err || err == -MT_E_NOT_ELF;
	if (err == -MT_E_NOT_ELF) {
		if (is_32bit(fd))
			mt_coverage_gap(prober->coverage, path, &st, "",
					"32-bit code: what it allocates is not seen");
		return 0;
	}
	if (!err && scan.n_functions)
		err = add_sources(prober, &st, path, &scan);
	if (!err)
		mt_probe_sites_choose(fd, prober->move_sites, scan.probes, scan.n);
	if (!err && scan.n)
		err = mt_attacher_attach(prober->attacher, fd, scan.probes, scan.n);
	for (i = 0; i < scan.n && !err && prober->told; i++)
		prober->told(prober->told_arg, path, &scan.probes[i]);
	if (err)
		mt_coverage_gap(prober->coverage, path, &st, "", mt_strerror(err));
	for (i = 0; i < scan.n_gaps; i++)
		mt_coverage_gap(prober->coverage, path, &st, scan.gaps[i].function,
				scan.gaps[i].reason);
	prober->any |= err || scan.n_functions || scan.n_gaps;
	ret_probes->functions = scan.n_functions;
	ret_probes->attached = scan.n || scan.n_gaps;
	mt_allocator_scan_release(&scan);
	return err;
}

void mt_file_prober_finish(struct mt_file_prober *prober)
{
	const struct mt_allocator_function *functions = mt_allocator_table_functions(prober->table);
	size_t i, n = mt_allocator_table_size(prober->table);

	for (i = 0; i < n; i++)
		if (functions[i].family == MT_FAMILY_USER && !prober->found[i])
			mt_coverage_gap(prober->coverage, "", NULL, functions[i].name,
					"named by --allocator, but no file has it");
	if (!prober->any)
		mt_coverage_gap(prober->coverage, "", NULL, "", prober->looked ?
				"no file that was mapped has an allocator" :
				"it ended before its files could be looked at");
}
