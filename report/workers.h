/*
 * report/workers.h - jobs done by a few threads, of which the caller is one.
 *
 * Only one thread, the caller, puts jobs and waits for them. While it waits it does jobs itself,
 * oldest first, so that a pool of one has no threads and does each job when it is waited for.
 */
#ifndef MT_WORKERS_H
#define MT_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#define MT_WORKERS_MAX 64u

struct mt_workers;
struct mt_job;

/* worker < mt_workers_count(); no two jobs that run at once have the same. */
typedef void (*mt_job_fn)(struct mt_job *job, unsigned int worker);

/* Part of what the job is about. It, and what run reads, stays until it was waited for. */
struct mt_job {
	mt_job_fn run;
	struct mt_job *next;	/* these two are the pool's */
	bool done;
};

/*
 * A pool of n, or of fewer if the system does not give as many threads; 0: one for each CPU online.
 * At most MT_WORKERS_MAX. 0 or -ENOMEM.
 */
int mt_workers_new(unsigned int n, struct mt_workers **ret_workers);
/* Jobs that nobody has waited for are not begun any more; those that run are waited for. */
void mt_workers_free(struct mt_workers *workers);
unsigned int mt_workers_count(const struct mt_workers *workers);

void mt_workers_put(struct mt_workers *workers, struct mt_job *job);
/* Until the job, which was put, is done. It can be put again then. */
void mt_workers_wait(struct mt_workers *workers, struct mt_job *job);

#endif
