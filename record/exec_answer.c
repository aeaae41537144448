#include "record/exec_answer.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/attach_worker.h"
#include "record/clock.h"
#include "record/descriptors.h"
#include "record/executed.h"
#include "record/programs.h"

/* Another file may come under the name, but hardly one of another kind. */
#define BELIEF_NS 1000000000ull

struct asked {
	struct mt_attach_worker *worker;
	int pid;
	bool linker;	/* the latest file is one that whoever executes it waits in */
};

static void learn(void *arg, int fd)
{
	struct asked *asked = arg;
	char path[PATH_MAX];

	/* A failure is in the worker's report. */
	mt_attach_worker_learn_open(asked->worker, asked->pid, fd, mt_descriptor_path(fd, path),
				    &asked->linker);
}

static bool is_nothing(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ENOEXEC || err == -EACCES;
}

void mt_exec_answer(struct mt_attach_worker *worker, struct mt_programs *programs,
		    const struct mt_ring_exec_request *request)
{
	struct asked asked = { .worker = worker, .pid = (int)request->request.pid };
	int err = mt_executed_each(request, learn, &asked);

	/*
	 * A new file under the name of a program that waits in its linker, or of none, will stop
	 * nobody either. One that runs its own code at once must be looked at each time.
	 */
	if (request->key && (is_nothing(err) || (!err && asked.linker)))
		mt_programs_believe_exec(programs, request->key, mt_now() + BELIEF_NS);
}
