/*
 * cxx_threads.cc - every form of operator new and delete in several threads at once, each of
 * which writes down its calls as every_call.c does.
 *
 *	cxx_threads TRUTH [now | wait | fork]
 *
 * TRUTH.0, TRUTH.1... are the threads'. Blocks of one are deleted by another. In threads of even
 * number operator new also fails, first without a new_handler, then with one; between their
 * runs of calls (gap) the C++ runtime has calls of its own, in the other threads there are none.
 * -DNO_FAILURE: no operator new fails, see cxx_calls.cc.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { THREADS = 7, EVENTS_MAX = 8192 };

struct call {
	const char *type;
	std::uintptr_t addr;
	std::size_t size, align;
};

struct worker {
	int number;
	int tid;
	pthread_t thread;
	int n_calls;
	call calls[EVENTS_MAX];
};

static worker workers[THREADS];
/* From each thread to the one before it. */
static std::atomic<void *> handed_over[THREADS];
static pthread_barrier_t barrier;
static thread_local worker *me;

static void must(bool condition, const char *what)
{
	if (!condition) {
		dprintf(2, "cxx_threads: %s\n", what);
		_exit(99);
	}
}

static void note(const char *type, const void *p, std::size_t size, std::size_t align)
{
	must(me->n_calls < EVENTS_MAX, "too many calls");
	me->calls[me->n_calls++] = { type, reinterpret_cast<std::uintptr_t>(p), size, align };
}

/* Others' calls may follow. */
static void gap()
{
	if (me->n_calls && strcmp(me->calls[me->n_calls - 1].type, "gap"))
		note("gap", nullptr, 0, 0);
}

static NOINLINE void *got(void *p, std::size_t size, std::size_t align)
{
	must(p != nullptr, "an allocation failed");
	memset(p, me->number, size);
	note(align ? "aligned" : "malloc", p, size, align);
	return p;
}

/* For blocks that are about to be deleted: nobody else can have the address yet. */
static void *gone(void *p)
{
	note("free", p, 0, 0);
	return p;
}

struct alignas(64) wide {
	char bytes[192];
	explicit wide(int c) { memset(bytes, c, sizeof(bytes)); }
};

static NOINLINE void forms(int n)
{
	const std::align_val_t align{128};

	for (int i = 0; i < n; i++) {
		const std::size_t s = 128 * (1 + static_cast<std::size_t>(i) % 7);
		void *p[12] = {
			got(::operator new(s), s, 0),
			got(::operator new[](s), s, 0),
			got(::operator new(s), s, 0),
			got(::operator new[](s), s, 0),
			got(::operator new(s, std::nothrow), s, 0),
			got(::operator new[](s, std::nothrow), s, 0),
			got(::operator new(s, align), s, 128),
			got(::operator new[](s, align), s, 128),
			got(::operator new(s, align), s, 128),
			got(::operator new[](s, align), s, 128),
			got(::operator new(s, align, std::nothrow), s, 128),
			got(::operator new[](s, align, std::nothrow), s, 128),
		};

		::operator delete(gone(p[0]));
		::operator delete[](gone(p[1]));
		::operator delete(gone(p[2]), s);
		::operator delete[](gone(p[3]), s);
		::operator delete(gone(p[4]), std::nothrow);
		::operator delete[](gone(p[5]), std::nothrow);
		::operator delete(gone(p[6]), align);
		::operator delete[](gone(p[7]), align);
		::operator delete(gone(p[8]), s, align);
		::operator delete[](gone(p[9]), s, align);
		::operator delete(gone(p[10]), align, std::nothrow);
		::operator delete[](gone(p[11]), align, std::nothrow);

		wide *w = new wide(i);
		got(w, sizeof(*w), 64);
		wide *array = new wide[2]{ wide(i), wide(i) };
		got(array, 2 * sizeof(*w), 64);
		gone(array);
		delete[] array;
		gone(w);
		delete w;

		/* One for the thread before this one, and what the next one has handed over. */
		void *mine = got(::operator new(s), s, 0), *other;
		other = handed_over[me->number].exchange(mine);
		if (other)
			::operator delete(gone(other));
		other = handed_over[(me->number + 1) % THREADS].exchange(nullptr);
		if (other)
			::operator delete(gone(other));
		::operator delete(nullptr);
	}
}

#ifndef NO_FAILURE
static volatile std::size_t huge = std::size_t(1) << 47;

template <typename Call> static NOINLINE void must_throw(Call call)
{
	bool thrown = false;

	gap();
	try {
		call();
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	gap();
	must(thrown, "operator new did not throw");
}

static void failures(int n)
{
	const std::align_val_t align{128};

	for (int i = 0; i < n; i++) {
		must_throw([] { ::operator delete(::operator new(huge)); });
		must_throw([] { ::operator delete[](::operator new[](huge)); });
		must_throw([=] { ::operator delete(::operator new(huge, align), align); });
		must_throw([=] { ::operator delete[](::operator new[](huge, align), align); });
		gap();
		must(!::operator new(huge, std::nothrow), "nothrow new succeeded");
		must(!::operator new[](huge, align, std::nothrow), "nothrow new succeeded");
		gap();
		/* From the same depth of stack. */
		::operator delete(gone(got(::operator new(256), 256, 0)));
	}
}

static thread_local void *reserve;
static thread_local int handled;

static void handler()
{
	handled++;
	if (reserve) {
		gap();
		gone(reserve);
		::operator delete(reserve);
		gap();
		reserve = nullptr;
		return;
	}
	throw std::bad_alloc();
}

static void failures_with_handler(int n)
{
	for (int i = 0; i < n; i++) {
		reserve = got(::operator new(1280), 1280, 0);
		must_throw([] { ::operator delete(::operator new(huge)); });
		::operator delete(gone(got(::operator new(640), 640, 0)));
	}
	must(handled == 2 * n, "the handler was not called twice a time");
}
#endif

static void *work(void *arg)
{
	static const int rounds[THREADS] = { 31, 37, 41, 43, 47, 53, 59 };

	me = static_cast<worker *>(arg);
	me->tid = static_cast<int>(syscall(SYS_gettid));
	pthread_barrier_wait(&barrier);
	forms(rounds[me->number]);
#ifndef NO_FAILURE
	if (me->number % 2 == 0)
		failures(5);
	/* There is one handler for all. */
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		std::set_new_handler(handler);
	pthread_barrier_wait(&barrier);
	if (me->number % 2 == 0)
		failures_with_handler(11);
	forms(rounds[THREADS - 1 - me->number]);
#endif
	return nullptr;
}

static void tell(const char *path)
{
	char name[4096];

	for (const worker &w : workers) {
		snprintf(name, sizeof(name), "%s.%d", path, w.number);
		FILE *out = fopen(name, "w");
		must(out != nullptr, "the truth cannot be written");
		fprintf(out, "tid %d\n", w.tid);
		for (int i = 0; i < w.n_calls; i++)
			fprintf(out, "%s - %llu %llu %llu 0\n", w.calls[i].type,
				static_cast<unsigned long long>(w.calls[i].addr),
				static_cast<unsigned long long>(w.calls[i].size),
				static_cast<unsigned long long>(w.calls[i].align));
		must(!fclose(out), "the truth cannot be written");
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "now";
	char byte;
	int status;

	if (!strcmp(how, "wait"))
		must(read(0, &byte, 1) >= 0, "nothing to read");
	if (!strcmp(how, "fork")) {
		pid_t pid = fork();
		must(pid >= 0, "fork failed");
		if (pid) {
			must(waitpid(pid, &status, 0) == pid && !status, "the child failed");
			return 0;
		}
	}
	must(!pthread_barrier_init(&barrier, nullptr, THREADS), "no barrier");
	for (int i = 0; i < THREADS; i++) {
		workers[i].number = i;
		must(!pthread_create(&workers[i].thread, nullptr, work, &workers[i]), "no thread");
	}
	for (worker &w : workers)
		must(!pthread_join(w.thread, nullptr), "no thread to wait for");
	for (std::atomic<void *> &p : handed_over)
		::operator delete(p.load());
	tell(argv[1]);
	return 0;
}
