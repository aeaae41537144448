#include "record/coverage.h"

#include <errno.h>
#include <pthread.h>
#include <sys/sysmacros.h>

#include "bpf/mt_ring.h"
#include "common/artifact.h"
#include "common/grow.h"
#include "record/writer.h"

#define GAPS_MAX 4096u	/* more say nothing new */
#define GAPS_BYTES_MAX (1u << 20)
/* That wait to be written: more than can be probed between two checkpoints. */
#define SOURCES_MAX 4096u
#define SOURCES_BYTES_MAX (1u << 20)
#define ROWS_A_WRITE 256u

struct mt_coverage {
	pthread_mutex_t lock;	/* all below but the atomics and what says otherwise */
	struct mt_coverage_row *sources;	/* that wait to be written */
	uint32_t n_waiting;
	size_t sources_bytes;		/* of their texts */
	uint32_t cap_sources;
	uint32_t n_sources;		/* ever: the last one's id */
	struct mt_coverage_row *gaps;
	uint32_t n_gaps;
	uint32_t cap_gaps;
	size_t gaps_bytes;
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

/* A row's texts are one allocation, which begins with the functions' array. */
static void release_row(struct mt_coverage_row *row)
{
	free(row->functions);
}

static void forget_sources(struct mt_coverage *coverage)
{
	while (coverage->n_waiting)
		release_row(&coverage->sources[--coverage->n_waiting]);
	coverage->sources_bytes = 0;
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

static size_t bytes_of(const struct mt_coverage_row *row)
{
	size_t bytes = MT_ALLOCATION_BYTES + (row->n_functions + 1) * sizeof(*row->functions);
	uint32_t i;

	bytes += strlen(row->path) + strlen(row->function) + strlen(row->reason) + 3;
	for (i = 0; i < row->n_functions; i++)
		bytes += strlen(row->functions[i]) + 1;
	return bytes;
}

static const char *put_text(char **at, const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = memcpy(*at, text, len);

	*at += len;
	return copy;
}

/* What borrowed has, of which bytes_of() is bytes. */
static int copy_row(const struct mt_coverage_row *borrowed, size_t bytes,
		    struct mt_coverage_row *ret_row)
{
	const char **functions = malloc(bytes);
	char *at = (char *)(functions + borrowed->n_functions + 1);
	uint32_t i;

	if (!functions)
		return -ENOMEM;
	*ret_row = *borrowed;
	ret_row->path = put_text(&at, borrowed->path);
	ret_row->function = put_text(&at, borrowed->function);
	ret_row->reason = put_text(&at, borrowed->reason);
	for (i = 0; i < borrowed->n_functions; i++)
		functions[i] = put_text(&at, borrowed->functions[i]);
	ret_row->functions = functions;
	return 0;
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

static int add_source(struct mt_coverage *coverage, struct mt_coverage_row *row,
		      uint64_t fixed_size)
{
	size_t bytes = bytes_of(row);
	uint32_t id = coverage->n_sources + 1;
	int err;

	if (id >= MT_GROUPS_MAX)
		return -EOVERFLOW;
	if (coverage->n_waiting == SOURCES_MAX ||
	    bytes > SOURCES_BYTES_MAX - coverage->sources_bytes)
		return -ENOBUFS;
	err = mt_grow(&coverage->sources, coverage->n_waiting, &coverage->cap_sources,
		      sizeof(*coverage->sources), SOURCES_MAX);
	if (!err && fixed_size)
		err = set_fixed_size(coverage, id, fixed_size);
	row->id = id;
	if (!err)
		err = copy_row(row, bytes, &coverage->sources[coverage->n_waiting]);
	if (err)
		return err;
	coverage->n_sources = id;
	coverage->n_waiting++;
	coverage->sources_bytes += bytes;
	return 0;
}

int mt_coverage_add(struct mt_coverage *coverage, const struct mt_coverage_source *source,
		    uint32_t *ret_id)
{
	struct mt_coverage_row row = {
		.type = MT_COVERAGE_SOURCE, .kind = source->kind, .path = source->path,
		.function = "", .reason = "", .n_functions = source->n_functions,
		.functions = (const char **)source->functions,
	};
	int err;

	set_file(&row, source->st);
	pthread_mutex_lock(&coverage->lock);
	err = add_source(coverage, &row, source->fixed_size);
	pthread_mutex_unlock(&coverage->lock);
	if (!err)
		*ret_id = row.id;
	return err;
}

void mt_coverage_gap(struct mt_coverage *coverage, const char *path, const struct stat *st,
		     const char *function, const char *reason)
{
	struct mt_coverage_row row = {
		.type = MT_COVERAGE_GAP, .kind = "", .path = path, .function = function,
		.reason = reason,
	};
	size_t bytes = bytes_of(&row);

	set_file(&row, st);
	pthread_mutex_lock(&coverage->lock);
	if (coverage->n_gaps < GAPS_MAX && bytes <= GAPS_BYTES_MAX - coverage->gaps_bytes &&
	    !mt_grow(&coverage->gaps, coverage->n_gaps, &coverage->cap_gaps,
		     sizeof(*coverage->gaps), GAPS_MAX) &&
	    !copy_row(&row, bytes, &coverage->gaps[coverage->n_gaps])) {
		coverage->n_gaps++;
		coverage->gaps_bytes += bytes;
	}
	pthread_mutex_unlock(&coverage->lock);
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
