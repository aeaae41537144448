#!/bin/bash
# The recorder's memory does not grow with the run, and its hot path allocates nothing.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Counts what the recorder itself allocates, from start to end, by whichever function; the command
# is left alone. The C library's own allocator takes memory from the kernel without these: what it
# has in all is counted too, at the end.
cat >count.c <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static unsigned long calls, maps;
static int mine;
__attribute__((constructor)) static void start(void)
{
	mine = getenv("COUNT_FILE") != NULL;
	unsetenv("LD_PRELOAD");
}
__attribute__((destructor)) static void end(void)
{
	struct mallinfo2 info = mallinfo2();
	FILE *out = mine ? fopen(getenv("COUNT_FILE"), "w") : NULL;

	if (out) {
		fprintf(out, "%lu %lu %zu\n", calls, maps, info.arena + info.hblkhd);
		fclose(out);
	}
}
#define NEXT(type, name) \
	static __typeof__(type) next; \
	if (!next) \
		next = (__typeof__(type))dlsym(RTLD_NEXT, name)
#define COUNT(what) __atomic_add_fetch(&what, 1, __ATOMIC_RELAXED)
void *malloc(size_t n)
{
	NEXT(void *(*)(size_t), "malloc");
	COUNT(calls);
	return next(n);
}
void *realloc(void *p, size_t n)
{
	NEXT(void *(*)(void *, size_t), "realloc");
	COUNT(calls);
	return next(p, n);
}
void *reallocarray(void *p, size_t n, size_t size)
{
	NEXT(void *(*)(void *, size_t, size_t), "reallocarray");
	COUNT(calls);
	return next(p, n, size);
}
/* dlsym() calls it before it can say where the next one is. */
static char early[4096];
static size_t early_used;
static _Thread_local int looking __attribute__((tls_model("initial-exec")));
void *calloc(size_t n, size_t size)
{
	static void *(*next)(size_t, size_t);

	COUNT(calls);
	if (!next && looking) {
		early_used += (n * size + 15) & ~(size_t)15;
		return early_used > sizeof(early) ? NULL :
			early + early_used - ((n * size + 15) & ~(size_t)15);
	}
	looking = 1;
	if (!next)
		next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	looking = 0;
	return next(n, size);
}
void free(void *p)
{
	NEXT(void (*)(void *), "free");
	if ((char *)p < early || (char *)p >= early + sizeof(early))
		next(p);
}
void *aligned_alloc(size_t align, size_t n)
{
	NEXT(void *(*)(size_t, size_t), "aligned_alloc");
	COUNT(calls);
	return next(align, n);
}
void *memalign(size_t align, size_t n)
{
	NEXT(void *(*)(size_t, size_t), "memalign");
	COUNT(calls);
	return next(align, n);
}
int posix_memalign(void **p, size_t align, size_t n)
{
	NEXT(int (*)(void **, size_t, size_t), "posix_memalign");
	COUNT(calls);
	return next(p, align, n);
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	NEXT(void *(*)(void *, size_t, int, int, int, off_t), "mmap");
	if (flags & MAP_ANONYMOUS)
		COUNT(maps);
	return next(at, n, prot, flags, fd, offset);
}
EOF
cc -O1 -fno-builtin -shared -fPIC -o count.so count.c -ldl || exit

# allocations NAME COMMAND...
allocations()
{
	local name=$1

	shift
	COUNT_FILE=$PWD/$name.count LD_PRELOAD=$PWD/count.so \
		mt-record -q -o run.mt -- "$@" >/dev/null 2>err.txt
	cat "$name.count" 2>/dev/null
}
short=$(allocations short "$WORKLOADS/storm" 2 1009)
long=$(allocations long "$WORKLOADS/storm" 2 100003)
echo "note short: $short; long: $long (allocations, anonymous maps, bytes taken by the allocator)"
is 'counted' "$([ "${short%% *}" -gt 100 ] && echo yes)" yes
is 'a hundred times the events, the same allocations' "$long" "$short"

# Anonymous memory at its highest while 2000 processes come and go, and under many events.
peak()
{
	local pid=$1 rss=0 now

	while now=$(awk '/^RssAnon/ {print $2}' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -gt "$rss" ] && rss=$now
		sleep 0.05
	done
	echo "$rss"
}
# shellcheck disable=SC2016 # for the inner shell
mt-record -q -o run.mt -- sh -c 'i=0; while [ $i -lt 2000 ]; do /bin/true & i=$((i+1)); done; wait' \
	2>err.txt &
recorder=$!
rss=$(peak $recorder)
wait $recorder
is '2000 processes: recorded' $? 0
is "2000 processes: $rss KiB is under 64 MiB" "$([ "$rss" -lt 65536 ] && echo yes)" yes
mt-record -q -o run.mt -- "$WORKLOADS/storm" 8 50021 >/dev/null 2>err.txt &
recorder=$!
rss=$(peak $recorder)
wait $recorder
is 'a storm: recorded' $? 0
is "a storm: $rss KiB is under 64 MiB" "$([ "$rss" -lt 65536 ] && echo yes)" yes

# Threads and processes without end: what has ended leaves nothing behind. Their numbers are counted
# exactly all the same.
cat >churn.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *use(void *arg)
{
	free(malloc(77));
	return arg;
}
int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[argc - 1]);
	long threads = 1, processes = 1;
	pthread_t thread;
	int i;

	while (time(NULL) < end) {
		for (i = 0; i < 20; i++)
			if (!pthread_create(&thread, NULL, use, NULL) && !pthread_join(thread, NULL))
				threads++;
		if (fork() == 0) {
			use(NULL);
			_exit(0);
		}
		wait(NULL);
		processes++;
	}
	printf("%ld %ld\n", processes, threads + processes - 1);
	return 0;
}
EOF
cc -O1 -o churn churn.c -lpthread || exit
rss_of()
{
	awk '/^RssAnon/ {print $2}' "/proc/$1/status" 2>/dev/null
}
mt-record -q --pressure-timeout inf -o run.mt -- ./churn 18 >out.txt 2>err.txt &
recorder=$!
sleep 7
early=$(rss_of $recorder)
late=0
while now=$(rss_of $recorder) && [ -n "$now" ]; do
	[ "$now" -gt "$late" ] && late=$now
	sleep 0.5
done
wait $recorder
is 'churn: recorded' $? 0
read -r processes threads <out.txt
echo "note churn: $processes processes, $threads threads; $early KiB, then $late KiB"
is 'churn: there were many' "$([ "${threads:-0}" -gt 20000 ] && echo yes)" yes
is 'churn: the memory stays' "$([ "$late" -le $((early + 640)) ] && echo yes)" yes
mt-report stat --json run.mt >stat.json 2>stat.err
holds 'churn: processes' "(s['processes'], ${processes:-0})"
holds 'churn: threads' "(s['threads'], ${threads:-0})"
holds 'churn: nothing lost' 'sum(s["lost"].values()) == 0'

# Polling: a look at the rings about every millisecond, whether there are events or not, and none of
# them wakes the recorder. It uses little of a processor while there are none. Looks that come late are
# the machine's doing, if it is busy: the best of three tries counts.
cat >looks.py <<'EOF'
import glob, sys, time

def sample(pid):
    looks = used = 0
    for task in glob.glob(f"/proc/{pid}/task/*"):
        with open(task + "/status") as f:
            looks += sum(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt"))
        with open(task + "/schedstat") as f:
            used += int(f.read().split()[0])
    return time.monotonic(), looks, used

before = sample(sys.argv[1])
time.sleep(2)
after = sample(sys.argv[1])
elapsed = after[0] - before[0]
print(int((after[1] - before[1]) / elapsed), int((after[2] - before[2]) / elapsed / 1e7))
EOF
# poll WHAT COMMAND...: looks, percent and in_time, a percentage.
poll()
{
	local what=$1 recorder

	shift
	rm -f pid.txt
	# shellcheck disable=SC2016 # for the inner shell
	mt-record -v --duration 4s -o run.mt -- sh -c 'echo $$; exec "$@"' sh "$@" >pid.txt 2>err.txt &
	recorder=$!
	# Starting costs more than running.
	until_true 20 [ -s pid.txt ]
	sleep 0.5
	read -r looks percent < <(/usr/bin/python3 looks.py $recorder)
	wait $recorder
	kill -KILL "$(head -n 1 pid.txt)" 2>/dev/null
	in_time=$(sed -n 's/^mt-record: looked at the rings .* times, \([0-9]*\)\.[0-9] % .*/\1/p' err.txt)
	echo "note $what: $looks waits a second, $percent % of a processor, ${in_time:=0} % of looks in time"
}
for try in 1 2 3; do
	poll "idle, try $try" sleep 5
	[ "$looks" -ge 1000 ] && [ "$in_time" -ge 80 ] && break
done
is "idle: $looks waits a second are at least 1000" "$([ "$looks" -ge 1000 ] && echo yes)" yes
is "idle: $in_time % of looks come within a millisecond" "$([ "$in_time" -ge 80 ] && echo yes)" yes
is "idle: $looks waits a second are at most 2000" "$([ "$looks" -le 2000 ] && echo yes)" yes
is "idle: $percent % of a processor is at most 15" "$([ "$percent" -le 15 ] && echo yes)" yes
for try in 1 2 3; do
	poll "storm, try $try" "$WORKLOADS/storm" 2 100000007
	[ "$in_time" -ge 80 ] && break
done
is "storm: $in_time % of looks come within a millisecond" "$([ "$in_time" -ge 80 ] && echo yes)" yes
is "storm: $looks waits a second are at most 2000" "$([ "$looks" -le 2000 ] && echo yes)" yes
