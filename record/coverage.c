#include "record/coverage.h"

#include <errno.h>
#include <pthread.h>
#include <sys/sysmacros.h>

#include "bpf/mt_ring.h"
#include "common/artifact.h"
#include "common/grow.h"
#include "record/writer.h"

#define GAPS_MAX 4096u	/* more say nothing new */
#define ROWS_A_WRITE 256u

struct mt_coverage {
	pthread_mutex_t lock;	/* all below but the atomics and what says otherwise */
	struct mt_coverage_row *sources;	/* that wait to be written */
	uint32_t n_waiting;
	uint32_t cap_sources;
	uint32_t n_sources;		/* ever: the last one's id */
	struct mt_coverage_row *gaps;
	uint32_t n_gaps;
	uint32_t cap_gaps;
	uint32_t written_gaps;		/* the writing thread's, as is what follows */
	uint64_t *written_counts;
	struct mt_coverage_row rows[ROWS_A_WRITE];
	uint64_t *fixed_sizes;	/* by id; atomic, NULL until there is one */
};

int mt_coverage_new(struct mt_coverage **ret_coverage)
{
	struct mt_coverage *coverage = calloc(1, sizeof(*coverage));
	int err;

	if (!coverage)
		return -ENOMEM;
	coverage->written_counts = calloc(MT_GROUPS_MAX, sizeof(*coverage->written_counts));
	err = coverage->written_counts ? -pthread_mutex_init(&coverage->lock, NULL) : -ENOMEM;
	if (err) {
		free(coverage->written_counts);
		free(coverage);
		return err;
	}
	*ret_coverage = coverage;
	return 0;
}

static void release_row(struct mt_coverage_row *row)
{
	uint32_t i;

	free((char *)(uintptr_t)row->path);
	free((char *)(uintptr_t)row->function);
	free((char *)(uintptr_t)row->reason);
	for (i = 0; i < row->n_functions; i++)
		free((char *)(uintptr_t)row->functions[i]);
	free(row->functions);
}

static void forget_sources(struct mt_coverage *coverage)
{
	while (coverage->n_waiting)
		release_row(&coverage->sources[--coverage->n_waiting]);
}

void mt_coverage_free(struct mt_coverage *coverage)
{
	if (!coverage)
		return;
	forget_sources(coverage);
	while (coverage->n_gaps)
		release_row(&coverage->gaps[--coverage->n_gaps]);
	free(coverage->sources);
	free(coverage->gaps);
	free(coverage->written_counts);
	free(coverage->fixed_sizes);
	pthread_mutex_destroy(&coverage->lock);
	free(coverage);
}

static void set_file(struct mt_coverage_row *row, const struct stat *st)
{
	if (!st)
		return;
	row->dev_major = major(st->st_dev);
	row->dev_minor = minor(st->st_dev);
	row->ino = st->st_ino;
}

static int copy_source(const struct mt_coverage_source *source, struct mt_coverage_row *ret_row)
{
	struct mt_coverage_row row = {
		.type = MT_COVERAGE_SOURCE, .kind = source->kind, .path = strdup(source->path),
		.function = strdup(""), .reason = strdup(""),
		.functions = calloc(source->n_functions + 1, sizeof(*row.functions)),
	};
	uint32_t i;

	if (!row.path || !row.function || !row.reason || !row.functions)
		goto fail;
	for (i = 0; i < source->n_functions; i++) {
		row.functions[i] = strdup(source->functions[i]);
		if (!row.functions[i])
			goto fail;
		row.n_functions++;
	}
	set_file(&row, source->st);
	*ret_row = row;
	return 0;
fail:
	release_row(&row);
	return -ENOMEM;
}

static int set_fixed_size(struct mt_coverage *coverage, uint32_t id, uint64_t size)
{
	uint64_t *sizes = coverage->fixed_sizes;

	if (!sizes) {
		sizes = calloc(MT_GROUPS_MAX, sizeof(*sizes));
		if (!sizes)
			return -ENOMEM;
		__atomic_store_n(&coverage->fixed_sizes, sizes, __ATOMIC_RELEASE);
	}
	/* Before the first probe that uses the id: its record will see it. */
	__atomic_store_n(&sizes[id], size, __ATOMIC_RELEASE);
	return 0;
}

int mt_coverage_add(struct mt_coverage *coverage, const struct mt_coverage_source *source,
		    uint32_t *ret_id)
{
	struct mt_coverage_row row;
	uint32_t id = 0;
	int err = copy_source(source, &row);

	if (err)
		return err;
	pthread_mutex_lock(&coverage->lock);
	if (coverage->n_sources + 1 >= MT_GROUPS_MAX)
		err = -EOVERFLOW;
	if (!err)
		err = mt_grow(&coverage->sources, coverage->n_waiting, &coverage->cap_sources,
			      sizeof(*coverage->sources), MT_GROW_MAX);
	if (!err && source->fixed_size)
		err = set_fixed_size(coverage, coverage->n_sources + 1, source->fixed_size);
	if (!err) {
		row.id = id = ++coverage->n_sources;
		coverage->sources[coverage->n_waiting++] = row;
	}
	pthread_mutex_unlock(&coverage->lock);
	if (err) {
		release_row(&row);
		return err;
	}
	*ret_id = id;
	return 0;
}

void mt_coverage_gap(struct mt_coverage *coverage, const char *path, const struct stat *st,
		     const char *function, const char *reason)
{
	struct mt_coverage_row row = {
		.type = MT_COVERAGE_GAP, .kind = "", .path = strdup(path),
		.function = strdup(function), .reason = strdup(reason),
	};
	bool kept = false;

	set_file(&row, st);
	pthread_mutex_lock(&coverage->lock);
	if (row.path && row.function && row.reason && coverage->n_gaps < GAPS_MAX &&
	    !mt_grow(&coverage->gaps, coverage->n_gaps, &coverage->cap_gaps,
		     sizeof(*coverage->gaps), MT_GROW_MAX)) {
		coverage->gaps[coverage->n_gaps++] = row;
		kept = true;
	}
	pthread_mutex_unlock(&coverage->lock);
	if (!kept)
		release_row(&row);
}

uint64_t mt_coverage_fixed_size(const struct mt_coverage *coverage, uint32_t id)
{
	const uint64_t *sizes = __atomic_load_n(&coverage->fixed_sizes, __ATOMIC_ACQUIRE);

	return sizes && id < MT_GROUPS_MAX ? __atomic_load_n(&sizes[id], __ATOMIC_ACQUIRE) : 0;
}

static int write_counts(struct mt_coverage *coverage, struct mt_writer *writer,
			const uint64_t *counts)
{
	uint32_t id, n = 0;
	int err = 0;

	for (id = 1; id <= coverage->n_sources && !err; id++) {
		if (counts[id] == coverage->written_counts[id])
			continue;
		coverage->rows[n++] = (struct mt_coverage_row){
			.type = MT_COVERAGE_EVENTS, .id = id, .events = counts[id],
			.kind = "", .path = "", .function = "", .reason = "",
		};
		coverage->written_counts[id] = counts[id];
		if (n == ROWS_A_WRITE) {
			err = mt_writer_coverage(writer, coverage->rows, n);
			n = 0;
		}
	}
	if (!err && n)
		err = mt_writer_coverage(writer, coverage->rows, n);
	return err;
}

int mt_coverage_write(struct mt_coverage *coverage, struct mt_writer *writer,
		      const uint64_t *counts)
{
	uint32_t from;
	int err = 0;

	pthread_mutex_lock(&coverage->lock);
	if (coverage->n_waiting)
		err = mt_writer_coverage(writer, coverage->sources, coverage->n_waiting);
	forget_sources(coverage);
	from = coverage->written_gaps;
	if (!err && from < coverage->n_gaps)
		err = mt_writer_coverage(writer, coverage->gaps + from, coverage->n_gaps - from);
	coverage->written_gaps = coverage->n_gaps;
	if (!err)
		err = write_counts(coverage, writer, counts);
	pthread_mutex_unlock(&coverage->lock);
	return err;
}

void mt_coverage_each_gap(struct mt_coverage *coverage, mt_coverage_gap_fn fn, void *arg)
{
	uint32_t i;

	pthread_mutex_lock(&coverage->lock);
	for (i = 0; i < coverage->n_gaps; i++)
		fn(arg, coverage->gaps[i].path, coverage->gaps[i].function,
		   coverage->gaps[i].reason);
	pthread_mutex_unlock(&coverage->lock);
}
