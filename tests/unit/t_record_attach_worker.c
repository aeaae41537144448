#include "record/attach_worker.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/allocator_spec.h"
#include "record/attach.h"
#include "record/clock.h"
#include "record/coverage.h"
#include "record/process_state.h"
#include "record/programs.h"
#include "record/ring.h"
#include "record/stop_table.h"
#include "record/stopped.h"

/*
 * A real process with real files, which are really looked through for allocators. What follows
 * stands for the kernel: the ring of requests, the table of known files, and attaching itself,
 * where it is asked whether the process stands still.
 */
#define KNOWN_MAX 256

static struct mt_ring_request requests[8];
static size_t n_requests, n_read;
static struct mt_inode_key known[KNOWN_MAX];
static size_t n_known;
static uint64_t flags;
static uint32_t unasked, answered;
static int attach_error, attached;
static bool must_stand;
static pid_t child;

int mt_ring_open(int map_fd, struct mt_ring **ret_ring)
{
	(void)map_fd;
	*ret_ring = NULL;
	return 0;
}

void mt_ring_free(struct mt_ring *ring)
{
	(void)ring;
}

bool mt_ring_next(struct mt_ring *ring, const void **ret_data, size_t *ret_len)
{
	(void)ring;
	if (n_read == n_requests)
		return false;
	*ret_data = &requests[n_read++];
	*ret_len = sizeof(*requests);
	return true;
}

void mt_ring_release(struct mt_ring *ring)
{
	(void)ring;
}

int mt_programs_requests_fd(const struct mt_programs *programs)
{
	(void)programs;
	return -1;
}

int mt_programs_identify(const struct mt_programs *programs, int fd, struct mt_inode_key *ret_key)
{
	struct stat st;

	(void)programs;
	if (fstat(fd, &st))
		return -errno;
	*ret_key = (struct mt_inode_key){ .ino = st.st_ino, .dev = (uint32_t)st.st_dev };
	return 0;
}

bool mt_programs_knows_inode(const struct mt_programs *programs, const struct mt_inode_key *key)
{
	size_t i;

	(void)programs;
	for (i = 0; i < n_known; i++)
		if (memcmp(&known[i], key, sizeof(*key)) == 0)
			return true;
	return false;
}

int mt_programs_know_inode(struct mt_programs *programs, const struct mt_inode_key *key,
			   uint8_t value)
{
	(void)programs;
	(void)value;
	cr_assert_lt(n_known, KNOWN_MAX);
	known[n_known++] = *key;
	return 0;
}

int mt_programs_know_linker(struct mt_programs *programs, const struct mt_inode_key *key,
			    uint8_t value)
{
	(void)programs;
	(void)key;
	(void)value;
	return 0;
}

void mt_programs_answer(struct mt_programs *programs, uint32_t ticket)
{
	(void)programs;
	answered = ticket;
}

uint32_t mt_programs_take_unasked(struct mt_programs *programs)
{
	uint32_t taken = unasked;

	(void)programs;
	unasked = 0;
	return taken;
}

void mt_programs_each_process(const struct mt_programs *programs, mt_process_fn fn, void *arg)
{
	(void)programs;
	fn(arg, child, flags);
	fn(arg, getpid(), 0);	/* nobody has stopped this one */
}

uint64_t mt_programs_process_flags(const struct mt_programs *programs, int pid)
{
	(void)programs;
	return pid == child ? flags : 0;
}

void mt_programs_unstop(struct mt_programs *programs, int pid)
{
	(void)programs;
	cr_assert_eq(pid, child);
	flags &= ~(uint64_t)MT_PROCESS_STOPPED;
}

int mt_programs_set_fixed_size(struct mt_programs *programs, uint32_t source, uint64_t size)
{
	(void)programs;
	(void)source;
	(void)size;
	return 0;
}

int mt_attacher_attach(struct mt_attacher *attacher, int fd, const struct mt_probe *probes,
		       size_t n)
{
	(void)attacher;
	cr_assert_geq(fd, 0);
	cr_assert_not_null(probes);
	cr_assert_gt(n, 0);
	if (must_stand)
		cr_assert_eq(mt_process_state(child), 'T', "attached while it ran");
	attached++;
	return attach_error;
}

static const struct mt_allocator_specs no_specs;
static struct mt_stop_table table;
static struct mt_stopped *stopped;
static struct mt_coverage *coverage;
static struct mt_attach_worker *worker;
static int told, told_of_libc;

static void tell(void *arg, int pid, const char *path, unsigned int probes, int err)
{
	(void)arg;
	cr_assert_eq(pid, child);
	told++;
	if (!strstr(path, "/libc.so.6"))
		return;
	told_of_libc++;
	cr_assert_eq(err, attach_error);
	cr_assert(err || probes >= 5 || told_of_libc > 1, "%u probes", probes);
}

static void setup(void)
{
	struct mt_attach_worker_config config = { .specs = &no_specs, .notify = tell };

	cr_assert_eq(mt_stopped_new(NULL, &table, &stopped), 0);
	cr_assert_eq(mt_coverage_new(&coverage), 0);
	config.stopped = stopped;
	config.coverage = coverage;
	cr_assert_eq(mt_attach_worker_new(&config, &worker), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void teardown(void)
{
	mt_attach_worker_free(worker);
	mt_stopped_free(stopped);
	mt_coverage_free(coverage);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TestSuite(record_attach_worker, .init = setup, .fini = teardown, .timeout = 60);

static void request(uint32_t kind, uint32_t ticket)
{
	requests[n_requests++] = (struct mt_ring_request){
		.pid = (uint32_t)child, .tid = (uint32_t)child, .kind = kind, .ticket = ticket,
		.time = mt_now(),
	};
}

/* As the programs do it: marked, and then stopped. */
static void stop(void)
{
	flags |= MT_PROCESS_STOPPED;
	must_stand = true;
	cr_assert_eq(kill(child, SIGSTOP), 0);
}

static bool runs(void)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < 1000 && mt_process_state(child) == 'T'; i++)
		nanosleep(&pause, NULL);
	return mt_process_state(child) != 'T';
}

static uint32_t gaps;

static void count_gap(void *arg, const char *path, const char *function, const char *reason)
{
	(void)arg;
	(void)function;
	(void)reason;
	gaps += strstr(path, "/libc.so.6") != NULL;
}

Test(record_attach_worker, who_asks_stands_still_until_its_files_are_probed)
{
	const struct mt_attach_report *report = mt_attach_worker_report(worker);

	stop();
	request(MT_REQUEST_MAPPING, 0);
	cr_assert_not(mt_attach_worker_run(worker));
	cr_assert(runs());
	cr_assert_eq(report->stops, 1);
	cr_assert_geq(report->probed, 1);
	cr_assert_eq(report->failed, 0, "%s", report->failure);
	cr_assert_geq(attached, 1);
	cr_assert_eq(told_of_libc, 1);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}

Test(record_attach_worker, who_was_stopped_in_answer_goes_on_unlooked_at)
{
	const struct mt_attach_report *report = mt_attach_worker_report(worker);

	stop();
	request(MT_REQUEST_RESUME, 0);
	cr_assert_not(mt_attach_worker_run(worker));
	cr_assert(runs());
	cr_assert_eq(report->stops, 1);
	cr_assert_eq(report->files, 0);
	cr_assert_eq(told_of_libc, 0);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}

static void *stop_late(void *arg)
{
	static const struct timespec pause = { .tv_nsec = 50000000 };

	nanosleep(&pause, NULL);
	kill(child, SIGSTOP);
	return arg;
}

Test(record_attach_worker, a_stop_that_takes_its_time_is_waited_for)
{
	pthread_t thread;

	flags |= MT_PROCESS_STOPPED;
	must_stand = true;
	request(MT_REQUEST_MAPPING, 0);
	cr_assert_eq(pthread_create(&thread, NULL, stop_late, NULL), 0);
	mt_attach_worker_run(worker);
	pthread_join(thread, NULL);
	cr_assert(runs());
	cr_assert_eq(told_of_libc, 1);
}

Test(record_attach_worker, who_asks_goes_on_though_nothing_can_be_attached)
{
	const struct mt_attach_report *report = mt_attach_worker_report(worker);

	attach_error = -ENOSPC;
	stop();
	request(MT_REQUEST_MAPPING, 0);
	mt_attach_worker_run(worker);
	cr_assert(runs());
	cr_assert_geq(report->failed, 1);
	cr_assert_not_null(strstr(report->failure, "No space left on device"), "%s",
			   report->failure);
	cr_assert_eq(told_of_libc, 1);
	mt_coverage_each_gap(coverage, count_gap, NULL);
	cr_assert_geq(gaps, 1, "the recording says so too");
}

Test(record_attach_worker, a_ticket_is_answered_and_nobody_stopped)
{
	const struct mt_attach_report *report = mt_attach_worker_report(worker);

	request(MT_REQUEST_MAPPING, 4711);
	cr_assert_not(mt_attach_worker_run(worker));
	cr_assert_eq(answered, 4711);
	cr_assert_eq(report->waits, 1);
	cr_assert_eq(report->stops, 0);
	cr_assert_geq(report->probed, 1);
	cr_assert_neq(mt_process_state(child), 'T');
}

Test(record_attach_worker, a_file_is_probed_once_even_if_it_is_forgotten)
{
	int before;

	request(MT_REQUEST_MAPPING, 1);
	mt_attach_worker_run(worker);
	before = attached;
	cr_assert_geq(before, 1);
	request(MT_REQUEST_MAPPING, 2);
	mt_attach_worker_run(worker);
	cr_assert_eq(attached, before);
	cr_assert_eq(told_of_libc, 1);
	n_known = 0;
	request(MT_REQUEST_MAPPING, 3);
	mt_attach_worker_run(worker);
	cr_assert_eq(attached, before, "twice the probes would count each call twice");
	cr_assert_eq(answered, 3);
}

Test(record_attach_worker, only_the_file_asked_for_is_looked_at)
{
	request(MT_REQUEST_MAPPING, 1);
	requests[0].addr = (uint64_t)(uintptr_t)&gnu_get_libc_version;	/* no sanitizer's own */
	requests[0].mapped.ino = 77;	/* any: the address says which */
	mt_attach_worker_run(worker);
	cr_assert_eq(told, 1);
	cr_assert_eq(told_of_libc, 1);
}

Test(record_attach_worker, pressure_is_passed_on_and_the_rest_done)
{
	stop();
	request(MT_REQUEST_PRESSURE, 0);
	request(MT_REQUEST_MAPPING, 0);
	cr_assert(mt_attach_worker_run(worker));
	cr_assert(runs());
	cr_assert_eq(told_of_libc, 1);
}

Test(record_attach_worker, who_stands_still_for_another_reason_too_stays_so)
{
	stop();
	cr_assert_eq(mt_stopped_add(stopped, child, MT_STOP_PRESSURE, mt_now()), 1);
	request(MT_REQUEST_MAPPING, 0);
	mt_attach_worker_run(worker);
	cr_assert_eq(told_of_libc, 1);
	cr_assert_eq(mt_process_state(child), 'T');
	cr_assert_eq(mt_stopped_count(stopped), 1);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	cr_assert(runs());
}

Test(record_attach_worker, who_found_no_room_to_ask_is_found)
{
	stop();
	unasked = MT_UNASKED_MAPPING;
	cr_assert(mt_attach_worker_run(worker), "it is an episode of pressure");
	cr_assert(runs());
	cr_assert_eq(told_of_libc, 1);
	cr_assert_eq(mt_attach_worker_report(worker)->stops, 1);
}

Test(record_attach_worker, given_up_it_only_resumes)
{
	mt_attach_worker_give_up(worker);
	stop();
	request(MT_REQUEST_MAPPING, 0);
	request(MT_REQUEST_MAPPING, 9);
	mt_attach_worker_run(worker);
	cr_assert(runs());
	cr_assert_eq(answered, 9);
	cr_assert_eq(attached, 0);
	cr_assert_eq(told, 0);
}

Test(record_attach_worker, who_has_gone_is_no_failure)
{
	request(MT_REQUEST_MAPPING, 0);
	request(MT_REQUEST_MAPPING, 5);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_assert_not(mt_attach_worker_run(worker));
	cr_assert_eq(answered, 5);
	cr_assert_eq(mt_attach_worker_report(worker)->failed, 0);
	cr_assert_eq(mt_stopped_count(stopped), 0);
}
