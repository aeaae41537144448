/*
 * record/file_prober.h - probe the allocators of a file, and note what is covered and what is not.
 */
#ifndef MT_FILE_PROBER_H
#define MT_FILE_PROBER_H

#include <stdbool.h>
#include <stddef.h>

struct mt_allocator_specs;
struct mt_attacher;
struct mt_coverage;
struct mt_file_prober;
struct mt_probe;
struct mt_programs;

/* Told of every probe as it comes to a file. */
typedef void (*mt_probe_told_fn)(void *arg, const char *path, const struct mt_probe *probe);

/*
 * All are borrowed; programs are told what calls do not say; specs (--allocator) is not needed
 * afterwards and may be NULL. move_sites: see record/probe_site.h.
 */
int mt_file_prober_new(const struct mt_allocator_specs *specs, bool move_sites,
		       struct mt_programs *programs, struct mt_attacher *attacher,
		       struct mt_coverage *coverage, struct mt_file_prober **ret_prober);
void mt_file_prober_tell(struct mt_file_prober *prober, mt_probe_told_fn told, void *arg);
void mt_file_prober_free(struct mt_file_prober *prober);

struct mt_file_probes {
	size_t functions;	/* allocator functions with probes */
	bool attached;		/* there are probes, or coverage was told of: once is enough */
};

/*
 * Probe what the file at fd has; a file that is not ELF has nothing. path NULL: the one that the
 * kernel will show for a mapping. -errno only if it has allocators that stay unprobed. *ret_probes
 * is set in any case.
 */
int mt_file_prober_probe(struct mt_file_prober *prober, int fd, const char *path,
			 struct mt_file_probes *ret_probes);

/*
 * The end of the run: functions that --allocator named and no file had are gaps, and so is it if
 * no file had any allocator.
 */
void mt_file_prober_finish(struct mt_file_prober *prober);

#endif
