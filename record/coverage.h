/*
 * record/coverage.h - what is probed, what could not be, and how many events came from where.
 *
 * A source is one allocator in one file; its id travels in the attach cookie and in every ring
 * record. The thread that attaches adds sources and gaps; the one that writes counts and
 * writes them. Both may call at any time.
 */
#ifndef MT_COVERAGE_H
#define MT_COVERAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct mt_coverage;
struct mt_writer;

int mt_coverage_new(struct mt_coverage **ret_coverage);
void mt_coverage_free(struct mt_coverage *coverage);

/* fixed_size: of every block from this source, 0 if calls say. */
struct mt_coverage_source {
	const char *kind;	/* static */
	const char *path;	/* copied */
	const struct stat *st;
	uint64_t fixed_size;
	const char *const *functions;	/* copied */
	uint32_t n_functions;
};

/*
 * *ret_id is the new source's. -ENOMEM; -EOVERFLOW: there are MT_GROUPS_MAX; -ENOBUFS: too many
 * wait to be written.
 */
int mt_coverage_add(struct mt_coverage *coverage, const struct mt_coverage_source *source,
		    uint32_t *ret_id);

/*
 * st may be NULL, function is "" for a whole file. Strings are copied; 4096 gaps, or a megabyte of
 * them, say all there is to say: more are left out.
 */
void mt_coverage_gap(struct mt_coverage *coverage, const char *path, const struct stat *st,
		     const char *function, const char *reason);

/* The fixed size of a source's blocks, or 0. */
uint64_t mt_coverage_fixed_size(const struct mt_coverage *coverage, uint32_t id);

/*
 * Write what is new: sources and gaps, and counts that have changed. counts has an element for each
 * possible id (MT_GROUPS_MAX). Only one thread may call this. Returns the writer's error.
 */
int mt_coverage_write(struct mt_coverage *coverage, struct mt_writer *writer,
		      const uint64_t *counts);

/* The gaps, for people: called in order; valid during the call. */
typedef void (*mt_coverage_gap_fn)(void *arg, const char *path, const char *function,
				   const char *reason);
void mt_coverage_each_gap(struct mt_coverage *coverage, mt_coverage_gap_fn fn, void *arg);

#endif
