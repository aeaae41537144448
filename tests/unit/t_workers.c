#include "report/workers.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define JOBS 2000

struct count {
	struct mt_job job;
	unsigned int done;
	unsigned int sum;
};

static atomic_uint running[MT_WORKERS_MAX];
static atomic_uint order;
static pthread_t caller;
static bool elsewhere;

static void count(struct mt_job *base, unsigned int worker)
{
	struct count *job = (struct count *)base;
	unsigned int i;

	cr_assert_eq(atomic_fetch_add(&running[worker], 1), 0, "two jobs of one worker");
	for (i = 0; i < 1000; i++)
		job->sum += i;
	job->done++;
	if (!pthread_equal(pthread_self(), caller))
		cr_assert_neq(worker, 0);
	atomic_fetch_sub(&running[worker], 1);
}

static void check_all(unsigned int n)
{
	static struct count jobs[JOBS];
	struct mt_workers *workers;
	unsigned int i, round;

	caller = pthread_self();
	memset(jobs, 0, sizeof(jobs));
	cr_assert_eq(mt_workers_new(n, &workers), 0);
	cr_assert_eq(mt_workers_count(workers), n);
	for (round = 1; round <= 3; round++) {
		for (i = 0; i < JOBS; i++) {
			jobs[i].job.run = count;
			mt_workers_put(workers, &jobs[i].job);
		}
		for (i = 0; i < JOBS; i++) {
			mt_workers_wait(workers, &jobs[i].job);
			cr_assert_eq(jobs[i].done, round);
			cr_assert_eq(jobs[i].sum, round * 499500);
		}
	}
	mt_workers_free(workers);
}

Test(workers, every_job_is_done_once)
{
	check_all(1);
	check_all(2);
	check_all(7);
}

static void note_order(struct mt_job *base, unsigned int worker)
{
	struct count *job = (struct count *)base;

	elsewhere |= worker || !pthread_equal(pthread_self(), caller);
	job->done = atomic_fetch_add(&order, 1);
}

Test(workers, one_is_the_caller_and_does_them_in_order_when_it_waits)
{
	struct count jobs[3] = { 0 };
	struct mt_workers *workers;
	unsigned int i;

	caller = pthread_self();
	cr_assert_eq(mt_workers_new(1, &workers), 0);
	for (i = 0; i < 3; i++) {
		jobs[i].job.run = note_order;
		mt_workers_put(workers, &jobs[i].job);
	}
	cr_expect_eq(order, 0);
	mt_workers_wait(workers, &jobs[1].job);
	cr_expect_eq(order, 2);
	mt_workers_wait(workers, &jobs[2].job);
	mt_workers_wait(workers, &jobs[0].job);
	for (i = 0; i < 3; i++)
		cr_expect_eq(jobs[i].done, i);
	cr_expect_not(elsewhere);
	mt_workers_free(workers);
}

/* A job that takes until somebody else has begun another: there is a second thread. */
static atomic_uint begun;

static void meet(struct mt_job *base, unsigned int worker)
{
	unsigned int i;

	(void)base, (void)worker;
	atomic_fetch_add(&begun, 1);
	for (i = 0; i < 30000 && begun < 2; i++)
		usleep(1000);
	cr_assert_geq(begun, 2);
}

Test(workers, two_work_at_once)
{
	struct mt_job jobs[2] = { { .run = meet }, { .run = meet } };
	struct mt_workers *workers;

	cr_assert_eq(mt_workers_new(2, &workers), 0);
	mt_workers_put(workers, &jobs[0]);
	mt_workers_put(workers, &jobs[1]);
	mt_workers_wait(workers, &jobs[0]);
	mt_workers_wait(workers, &jobs[1]);
	mt_workers_free(workers);
}

Test(workers, freed_with_jobs_that_nobody_waited_for)
{
	static struct count jobs[100];
	struct mt_workers *workers;
	unsigned int i;

	cr_assert_eq(mt_workers_new(0, &workers), 0);
	cr_assert_geq(mt_workers_count(workers), 1);
	for (i = 0; i < 100; i++) {
		jobs[i].job.run = count;
		mt_workers_put(workers, &jobs[i].job);
	}
	mt_workers_free(workers);
	mt_workers_free(NULL);
	for (i = 0; i < 100; i++)
		cr_expect_leq(jobs[i].done, 1);
	cr_assert_eq(mt_workers_new(1000, &workers), 0);
	cr_expect_leq(mt_workers_count(workers), MT_WORKERS_MAX);
	mt_workers_free(workers);
}
