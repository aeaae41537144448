#include "report/demangle.h"

#include "common/buf.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>

/*
 * libiberty refuses C++ names of more than 1024 bytes unless told not to limit its
 * recursion, and real template names are longer. Those are demangled without its limit on a
 * stack that cannot overflow: its arrays and its deepest recursion take less than 2 KiB
 * for each byte of the name.
 */
#define SHORT_NAME 1024u
#define STACK_PER_BYTE 2048u
#define STACK_BASE (1u << 20)

struct job {
	const char *name;
	int options;
	struct mt_buf out;
	bool failed;
	jmp_buf too_long;
};

/* A short damaged name can expand without end; leaving is the only way to stop it. */
static void put(const char *text, size_t n, void *opaque)
{
	struct job *job = opaque;

	if (n > MT_DEMANGLED_MAX - job->out.len || mt_buf_append(&job->out, text, n))
		longjmp(job->too_long, 1);
}

static void *demangle(void *arg)
{
	struct job *job = arg;

	job->failed = true;
	if (setjmp(job->too_long))
		return NULL;
	/* Rust first: its legacy names are well-formed C++ names too. */
	if (rust_demangle_callback(job->name, job->options & ~DMGL_NO_RECURSE_LIMIT, put, job)) {
		job->failed = false;
		return NULL;
	}
	mt_buf_reset(&job->out);
	if (cplus_demangle_v3_callback(job->name, job->options, put, job))
		job->failed = false;
	return NULL;
}

static void demangle_on_big_stack(struct job *job, size_t len)
{
	pthread_attr_t attr;
	pthread_t thread;

	job->failed = true;
	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BASE + len * STACK_PER_BYTE) &&
	    !pthread_create(&thread, &attr, demangle, job))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

static bool looks_mangled(const char *name)
{
	/* _Z, __Z and ___Z; _R and __R; _GLOBAL_ for constructors of whole files. */
	size_t underscores = strspn(name, "_");

	if (!underscores || underscores > 3)
		return false;
	return name[underscores] == 'Z' || name[underscores] == 'R' ||
	       !strncmp(name, "_GLOBAL_", 8);
}

char *mt_demangle(const char *name)
{
	struct job job = { .name = name, .options = DMGL_PARAMS | DMGL_ANSI };
	char *text = NULL;
	size_t len;

	if (!looks_mangled(name))
		return NULL;
	len = strnlen(name, MT_MANGLED_MAX + 1);
	if (len > MT_MANGLED_MAX)
		return NULL;

	mt_buf_init(&job.out);
	if (len <= SHORT_NAME) {
		demangle(&job);
	} else {
		job.options |= DMGL_NO_RECURSE_LIMIT;
		demangle_on_big_stack(&job, len);
	}
	if (!job.failed && !mt_buf_append(&job.out, "", 1)) {
		text = (char *)job.out.data;
		mt_buf_init(&job.out);
	}
	mt_buf_release(&job.out);
	return text;
}
