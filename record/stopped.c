#include "record/stopped.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/clock.h"
#include "record/process_state.h"
#include "record/programs.h"
#include "record/resume.h"
#include "record/stop_table.h"

#define LOOK_PAUSE_NS 20000
#define REPEAT_NS 10000000	/* somebody may have sent SIGCONT meanwhile */
#define UNSEEN_NS 1000000000
#define MARKS (MT_PROCESS_STOPPED | MT_PROCESS_PAUSED)

/* Processes can be many more than descriptors, so none is held. */
struct one {
	int pid : 24;		/* MT_STOP_PIDS are fewer */
	unsigned int reasons : 7;
	unsigned int told : 1;	/* by us to stop: it may be told again */
	uint32_t space;		/* the number of its address space, 0 if it is not known */
	uint64_t start;		/* when it started, 0 if that is not known; with pid its name */
	uint64_t since;
};
_Static_assert(sizeof(struct one) == 24 && MT_STOP_PIDS <= 1 << 23, "there may be many");

struct mt_stopped {
	struct mt_programs *programs;
	struct mt_stop_table *table;
	struct one *processes;
	uint32_t n;
	uint32_t cap;
	mt_stopped_fn tell;
	void *arg;
};

int mt_stopped_new(struct mt_programs *programs, struct mt_stop_table *table,
		   struct mt_stopped **ret_stopped)
{
	struct mt_stopped *stopped = calloc(1, sizeof(*stopped));

	if (!stopped)
		return -ENOMEM;
	stopped->programs = programs;
	stopped->table = table;
	*ret_stopped = stopped;
	return 0;
}

void mt_stopped_tell(struct mt_stopped *stopped, mt_stopped_fn fn, void *arg)
{
	stopped->tell = fn;
	stopped->arg = arg;
}

void mt_stopped_free(struct mt_stopped *stopped)
{
	if (!stopped)
		return;
	mt_stopped_release(stopped, MT_STOP_ATTACH);
	mt_stopped_release(stopped, MT_STOP_PRESSURE);
	free(stopped->processes);
	free(stopped);
}

static struct one *find(struct mt_stopped *stopped, int pid)
{
	uint32_t i;

	if (!mt_stop_table_has(stopped->table, pid))
		return NULL;
	for (i = 0; i < stopped->n; i++)
		if (stopped->processes[i].pid == pid)
			return &stopped->processes[i];
	return NULL;
}

static int make_room(struct mt_stopped *stopped)
{
	uint32_t cap = stopped->cap ? 2 * stopped->cap : 64;
	struct one *processes;

	if (stopped->n < stopped->cap)
		return 0;
	processes = reallocarray(stopped->processes, cap, sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	stopped->processes = processes;
	stopped->cap = cap;
	return 0;
}

static int remember(struct mt_stopped *stopped, const struct one *fresh, struct one **ret_one)
{
	int err = make_room(stopped);

	if (err)
		return err;
	mt_stop_table_set(stopped->table, fresh->pid, true);
	*ret_one = &stopped->processes[stopped->n++];
	**ret_one = *fresh;
	return 0;
}

static void forget(struct mt_stopped *stopped, struct one *one)
{
	mt_stop_table_set(stopped->table, one->pid, false);
	*one = stopped->processes[--stopped->n];
}

/* Is the process that has the number now the one that was meant? */
static bool is_same(const struct one *one, uint64_t flags)
{
	uint64_t start;
	char state;
	int err;

	if (one->space && flags >> MT_PROCESS_SPACE_SHIFT == one->space)
		return true;
	err = mt_process_look(one->pid, &state, &start);
	return err ? err != -ESRCH : !one->start || start == one->start;
}

static bool is_held(void *arg, int pid)
{
	return mt_programs_process_flags(arg, pid) & MT_PROCESS_HELD;
}

/* Known by its si_errno to another mt-record that watches the process too. */
static const siginfo_t stop_info = {
	.si_signo = SIGSTOP, .si_errno = MT_STOP_ERRNO, .si_code = SI_QUEUE,
};

/* Whoever is looked at after the descriptor was opened is the one it is of, or a later one. */
static int send_signal(struct mt_stopped *stopped, const struct one *one, int sig)
{
	int pidfd = syscall(SYS_pidfd_open, one->pid, 0), err = 0;
	uint64_t flags;

	if (pidfd < 0 && errno == ESRCH)
		return -ESRCH;
	flags = mt_programs_process_flags(stopped->programs, one->pid);
	if (!is_same(one, flags)) {
		err = -ESRCH;
		goto out_close;
	}
	/* Before it goes on: it can be stopped anew at once. */
	if (sig == SIGCONT && flags & MARKS)
		mt_programs_unstop(stopped->programs, one->pid);
	if (sig == SIGCONT)
		mt_resume(one->pid, pidfd, is_held, stopped->programs);
	else
		err = mt_signal_process(one->pid, pidfd, sig, &stop_info);
out_close:
	if (pidfd >= 0)
		close(pidfd);
	return err;
}

int mt_stopped_add(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason, uint64_t since)
{
	struct one *one = find(stopped, pid), fresh = {
		.pid = pid, .reasons = reason, .since = since,
	};
	char state;
	int err;

	if (one) {
		one->reasons |= reason;
		return 0;
	}
	if (mt_process_look(pid, &state, &fresh.start) == -ESRCH)
		return -ESRCH;
	fresh.space = mt_programs_process_flags(stopped->programs, pid) >> MT_PROCESS_SPACE_SHIFT;
	err = remember(stopped, &fresh, &one);
	if (err)
		mt_resume(pid, -1, is_held, stopped->programs);
	return err ? err : 1;
}

int mt_stopped_stop(struct mt_stopped *stopped, int pid, enum mt_stop_reason reason)
{
	struct one *one = find(stopped, pid), fresh = {
		.pid = pid, .reasons = reason, .told = true,
	};
	uint64_t flags;
	char state = 0;
	int err;

	if (one) {
		one->reasons |= reason;
		one->told = true;
		return 0;
	}
	/* The state first: the programs' mark comes before the process stands still. */
	if (mt_process_look(pid, &state, &fresh.start) == -ESRCH)
		return -ESRCH;
	flags = mt_programs_process_flags(stopped->programs, pid);
	if (!(flags & MARKS) && (flags & MT_PROCESS_HELD || state == 'T' || state == 't'))
		return 0;
	fresh.space = flags >> MT_PROCESS_SPACE_SHIFT;
	fresh.since = mt_now();
	err = remember(stopped, &fresh, &one);
	if (err)
		return err;
	err = send_signal(stopped, one, SIGSTOP);
	if (err)
		forget(stopped, one);
	return err ? err : 1;
}

int mt_stopped_wait(struct mt_stopped *stopped, int pid, uint64_t deadline,
		    bool (*give_up)(void *arg), void *arg)
{
	static const struct timespec pause = { .tv_nsec = LOOK_PAUSE_NS };
	uint64_t begin = mt_now(), repeated = begin, now;
	uint32_t i = 0;
	int still;

	while (i < stopped->n) {
		struct one *one = &stopped->processes[i];

		still = pid && one->pid != pid ? 1 : mt_process_all_stopped(one->pid);
		now = mt_now();
		if (still > 0 || still == -ESRCH || (still < 0 && now - begin > UNSEEN_NS)) {
			begin = repeated = now;
			i++;
			continue;
		}
		if (now > deadline)
			return -ETIMEDOUT;
		if (give_up && give_up(arg))
			return -ECANCELED;
		if (one->told && now - repeated > REPEAT_NS) {
			send_signal(stopped, one, SIGSTOP);
			repeated = now;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

uint32_t mt_stopped_count(const struct mt_stopped *stopped)
{
	return stopped->n;
}

uint64_t mt_stopped_release(struct mt_stopped *stopped, enum mt_stop_reason reason)
{
	uint64_t longest = 0, took;
	uint32_t i = 0;

	while (i < stopped->n) {
		struct one *one = &stopped->processes[i];

		one->reasons &= 0x7f & ~(unsigned int)reason;
		if (one->reasons) {
			i++;
			continue;
		}
		send_signal(stopped, one, SIGCONT);
		took = mt_now() - one->since;
		longest = took > longest ? took : longest;
		if (stopped->tell)
			stopped->tell(stopped->arg, one->pid, took);
		forget(stopped, one);
	}
	return longest;
}

static void resume_paused(void *arg, int pid, uint64_t flags)
{
	struct mt_stopped *stopped = arg;
	const struct one one = { .pid = pid, .space = flags >> MT_PROCESS_SPACE_SHIFT };

	/* Another episode, whose end it waits for; or a request, which is answered. */
	if (mt_programs_in_episode(stopped->programs) || (flags & MARKS) != MT_PROCESS_PAUSED)
		return;
	if (!find(stopped, pid))
		send_signal(stopped, &one, SIGCONT);
}

void mt_stopped_sweep(struct mt_stopped *stopped)
{
	mt_programs_each_process(stopped->programs, resume_paused, stopped);
}

static void resume_marked(void *arg, int pid, uint64_t flags)
{
	if (!(flags & MARKS) || flags & MT_PROCESS_HELD)
		return;
	mt_programs_unstop(arg, pid);
	mt_resume(pid, -1, is_held, arg);
}

void mt_stopped_end(struct mt_programs *programs)
{
	__atomic_store_n(mt_programs_no_stops(programs), 1, __ATOMIC_RELEASE);
	mt_programs_each_process(programs, resume_marked, programs);
}
