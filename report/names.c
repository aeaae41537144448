#include "report/names.h"

#include "report/workers.h"

#include <errno.h>

struct mt_names {
	struct {
		const struct mt_location *locations;
		size_t n;
	} *calls;
};

/* The calls of one file. */
struct file_job {
	struct mt_job job;	/* the first member */
	struct naming *naming;
	uint32_t first, n;	/* in the order */
	int err;
};

struct naming {
	mt_name_fn name;
	void *arg;
	const struct mt_paths *paths;
	struct mt_names *names;
	uint32_t *order;	/* calls by file, and as they are numbered in each */
	struct file_job *jobs;
	size_t n_jobs;
};

static void name_calls(struct mt_job *base, unsigned int worker)
{
	struct file_job *job = (struct file_job *)base;
	const struct naming *naming = job->naming;
	uint32_t i, call;

	(void)worker;
	for (i = 0; i < job->n && !job->err; i++) {
		call = naming->order[job->first + i];
		job->err = naming->name(naming->arg, &mt_paths_call(naming->paths, call)->frame,
					&naming->names->calls[call].locations,
					&naming->names->calls[call].n);
	}
}

static int by_file(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	uint32_t file_x = mt_paths_call(arg, *x)->file, file_y = mt_paths_call(arg, *y)->file;

	if (file_x != file_y)
		return file_x < file_y ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* One job a file. */
static int make_jobs(struct naming *naming, uint32_t n)
{
	struct file_job *job = NULL;
	uint32_t i, file = 0, before = 0;

	naming->order = calloc((size_t)n + 1, sizeof(*naming->order));
	if (!naming->order)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		naming->order[i] = i;
	qsort_r(naming->order, n, sizeof(*naming->order), by_file, (void *)naming->paths);
	for (i = 0; i < n; i++, before = file) {
		file = mt_paths_call(naming->paths, naming->order[i])->file;
		naming->n_jobs += !i || file != before;
	}
	naming->jobs = calloc(naming->n_jobs + 1, sizeof(*naming->jobs));
	if (!naming->jobs)
		return -ENOMEM;
	for (i = 0; i < n; i++, before = file) {
		file = mt_paths_call(naming->paths, naming->order[i])->file;
		if (!i || file != before) {
			job = job ? job + 1 : naming->jobs;
			*job = (struct file_job){ .job.run = name_calls, .naming = naming,
						  .first = i };
		}
		job->n++;
	}
	return 0;
}

static int run_jobs(struct naming *naming, struct mt_workers *workers)
{
	int err = 0;
	size_t i;

	for (i = 0; i < naming->n_jobs; i++)
		mt_workers_put(workers, &naming->jobs[i].job);
	for (i = 0; i < naming->n_jobs; i++) {
		mt_workers_wait(workers, &naming->jobs[i].job);
		err = err ? err : naming->jobs[i].err;
	}
	return err;
}

int mt_names_load(mt_name_fn name, void *arg, const struct mt_paths *paths,
		  struct mt_workers *workers, struct mt_names **ret_names)
{
	struct naming naming = { .name = name, .arg = arg, .paths = paths };
	uint32_t n = mt_paths_calls(paths);
	struct mt_names *names = calloc(1, sizeof(*names));
	int err = -ENOMEM;

	if (!names)
		return -ENOMEM;
	naming.names = names;
	names->calls = calloc((size_t)n + 1, sizeof(*names->calls));
	if (names->calls)
		err = make_jobs(&naming, n);
	if (!err)
		err = run_jobs(&naming, workers);
	free(naming.jobs);
	free(naming.order);
	if (err)
		mt_names_free(names);
	else
		*ret_names = names;
	return err;
}

void mt_names_free(struct mt_names *names)
{
	if (!names)
		return;
	free(names->calls);
	free(names);
}

const struct mt_location *mt_names_of(const struct mt_names *names, uint32_t call, size_t *ret_n)
{
	*ret_n = names->calls[call].n;
	return names->calls[call].locations;
}
