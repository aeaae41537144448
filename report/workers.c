#include "report/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

struct worker {
	struct mt_workers *workers;
	unsigned int index;
	pthread_t thread;
};

struct mt_workers {
	unsigned int n;		/* the caller is the first */
	struct worker *list;
	pthread_mutex_t lock;	/* of all below, and of the jobs' own */
	pthread_cond_t put;	/* a job is there, or it is time to end */
	pthread_cond_t done;	/* a job is done */
	struct mt_job *first, *last;
	bool ending;
};

static struct mt_job *take(struct mt_workers *workers)
{
	struct mt_job *job = workers->first;

	workers->first = job->next;
	if (!workers->first)
		workers->last = NULL;
	return job;
}

/* With the lock held, which is given up meanwhile. */
static void run(struct mt_workers *workers, struct mt_job *job, unsigned int index)
{
	pthread_mutex_unlock(&workers->lock);
	job->run(job, index);
	pthread_mutex_lock(&workers->lock);
	job->done = true;
	if (index)
		pthread_cond_signal(&workers->done);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct mt_workers *workers = worker->workers;

	pthread_mutex_lock(&workers->lock);
	while (!workers->ending) {
		if (workers->first)
			run(workers, take(workers), worker->index);
		else
			pthread_cond_wait(&workers->put, &workers->lock);
	}
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

static unsigned int cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || !CPU_COUNT(&set))
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

int mt_workers_new(unsigned int n, struct mt_workers **ret_workers)
{
	struct mt_workers *workers = calloc(1, sizeof(*workers));
	struct worker *worker;

	if (!workers)
		return -ENOMEM;
	if (!n)
		n = cpus();
	if (n > MT_WORKERS_MAX)
		n = MT_WORKERS_MAX;
	workers->list = calloc(n, sizeof(*workers->list));
	if (!workers->list) {
		free(workers);
		return -ENOMEM;
	}
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->put, NULL);
	pthread_cond_init(&workers->done, NULL);
	for (workers->n = 1; workers->n < n; workers->n++) {
		worker = &workers->list[workers->n];
		worker->workers = workers;
		worker->index = workers->n;
		if (pthread_create(&worker->thread, NULL, work, worker))
			break;
	}
	*ret_workers = workers;
	return 0;
}

void mt_workers_free(struct mt_workers *workers)
{
	unsigned int i;

	if (!workers)
		return;
	pthread_mutex_lock(&workers->lock);
	workers->ending = true;
	pthread_cond_broadcast(&workers->put);
	pthread_mutex_unlock(&workers->lock);
	for (i = 1; i < workers->n; i++)
		pthread_join(workers->list[i].thread, NULL);
	pthread_cond_destroy(&workers->put);
	pthread_cond_destroy(&workers->done);
	pthread_mutex_destroy(&workers->lock);
	free(workers->list);
	free(workers);
}

unsigned int mt_workers_count(const struct mt_workers *workers)
{
	return workers->n;
}

void mt_workers_put(struct mt_workers *workers, struct mt_job *job)
{
	pthread_mutex_lock(&workers->lock);
	job->done = false;
	job->next = NULL;
	if (workers->last)
		workers->last->next = job;
	else
		workers->first = job;
	workers->last = job;
	if (workers->n > 1)
		pthread_cond_signal(&workers->put);
	pthread_mutex_unlock(&workers->lock);
}

void mt_workers_wait(struct mt_workers *workers, struct mt_job *job)
{
	pthread_mutex_lock(&workers->lock);
	while (!job->done) {
		if (workers->first)
			run(workers, take(workers), 0);
		else
			pthread_cond_wait(&workers->done, &workers->lock);
	}
	pthread_mutex_unlock(&workers->lock);
}
