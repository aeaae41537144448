#!/bin/bash
# Every kind of loss that can be forced, in a table that is full, in memory that cannot be read: it is
# counted, exactly where the program knows how much there was, and the exit status says so. Tables that
# make room instead lose nothing.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# lossy NAME STATUS MT-RECORD-ARGUMENT...: run.mt with its stat.json.
lossy()
{
	local name=$1 want=$2 code=0

	shift 2
	rm -f run.mt
	timeout 60 mt-record -o run.mt "$@" >out.txt 2>err.txt || code=$?
	is "$name: exit status" $code "$want"
	mt-report stat --json run.mt >stat.json 2>stat.err
	is "$name: the report is partial, or not" $? $((want == 125))
	[ "$want" = 0 ] || matches "$name: the report says so" stat.err 'lost|incomplete'
}

# count SOURCE CAUSE: as a Python expression.
count()
{
	echo "sum(l['count'] for l in s['losses'] if (l['source'], l['cause']) == ('$1', '$2'))"
}
only()
{
	echo "{(l['source'], l['cause']) for l in s['losses']} == {('$1', '$2')}"
}

# No buffer to copy a stack to. With a single one, only the first processor finds it; its place is
# looked for from a thread's own processor on.
cat >pairs.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int i, n = atoi(argv[argc - 1]);

	for (i = 0; i < n; i++) {
		void *volatile block = malloc(77);

		free(block);
	}
	return 0;
}
EOF
cc -O1 -g -o pairs pairs.c || exit
if [ "$(nproc)" -gt 1 ]; then
	lossy 'no buffer' 125 --table-size captures=1 -- taskset -c 1 ./pairs 5003
	holds 'no buffer: counted' "$(count stacks no_buffer) >= 5003"
	holds 'no buffer: nothing else' "$(only stacks no_buffer)"
	holds 'no buffer: no event is lost' "s['allocations'] >= 5003"
	holds 'no buffer: what has no stack is what is counted' \
		"(s['stacks']['allocations']['no_stack'] + s['stacks']['allocations']['lost'], \
		$(count stacks no_buffer))"
else
	skip 'no buffer' 'one processor'
fi

# A stack pointer at the very end of its memory: what it points to, the return address, is nowhere. The
# call runs on, below it, and ends in a signal.
if [ "$(uname -m)" = x86_64 ]; then
	cat >gone.c <<'EOF'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#define SIZE 65536
static sigjmp_buf back;
static void go_back(int sig)
{
	siglongjmp(back, sig);
}
int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = go_back, .sa_flags = SA_ONSTACK };
	stack_t other = { .ss_sp = malloc(SIZE), .ss_size = SIZE };
	static volatile int i, n;
	char *area;

	n = atoi(argv[argc - 1]);
	area = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || munmap(area + SIZE, 4096) || sigaltstack(&other, NULL) ||
	    sigaction(SIGSEGV, &action, NULL))
		return 1;
	for (i = 0; i < n; i++)
		if (!sigsetjmp(back, 1))
			__asm__ volatile("mov %[sp], %%rsp\n\t"
					 "mov $55, %%edi\n\t"
					 "jmp *%[malloc]"
					 : : [sp] "r"(area + SIZE), [malloc] "r"(malloc)
					 : "rdi", "memory");
	return 0;
}
EOF
	cc -O1 -g -o gone gone.c || exit
	lossy 'a stack that is not there' 125 -- ./gone 307
	holds 'a stack that is not there: counted' "($(count stacks unreadable), 307)"
	holds 'a stack that is not there: nothing else' "$(only stacks unreadable)"
fi

# The place where a function like posix_memalign() puts the block, gone from the page table when it
# returns, two times of three.
cat >place.c <<'EOF'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void **place;
static char blocks[65536];
__attribute__((noinline)) int put(void **at, size_t align, size_t size)
{
	static unsigned int calls;

	*at = blocks + 64 * (calls % 1000);
	if (++calls % 3)
		madvise(at, 4096, MADV_DONTNEED);
	return align > size;
}
__attribute__((noinline)) void drop(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}
int main(int argc, char **argv)
{
	int fd = memfd_create("place", 0), i, n = atoi(argv[argc - 1]);

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (place == MAP_FAILED)
		return 1;
	for (i = 0; i < n; i++) {
		if (put(place, 16, 64))
			return 1;
		drop(*place);
	}
	return 0;
}
EOF
cc -O1 -g -o place place.c || exit
lossy 'a result that is not there' 125 --allocator 'put=posix_memalign(1,2,3) drop=free(1)' -- ./place 3000
holds 'a result that is not there: counted' "($(count events unreadable), 2000)"
holds 'a result that is not there: written + lost = made' "(s['events_by_type']['aligned'], 1000)"
holds 'a result that is not there: nothing else' "$(only events unreadable)"

# A call that gives memory back has begun before anybody looked: userfaultfd(2) holds it up until its
# event is read.
cat >held.c <<'EOF'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SIZE 65536
static void *give_back(void *area)
{
	return munmap(area, SIZE) ? NULL : area;
}
int main(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP };
	struct uffdio_register area = { .range.len = SIZE, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffd_msg message;
	pthread_t thread;
	void *start = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area.range.start = (unsigned long)start;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &area))
		return 77;
	pthread_create(&thread, NULL, give_back, start);
	usleep(300000);
	printf("%d\n", getpid());
	fflush(stdout);
	while (access("go", F_OK))
		usleep(10000);
	if (read(fd, &message, sizeof(message)) != sizeof(message) ||
	    message.event != UFFD_EVENT_UNMAP)
		return 1;
	return pthread_join(thread, &start) || !start;
}
EOF
cc -O1 -g -o held held.c -lpthread || exit
rm -f go run.mt pid.txt
./held >pid.txt &
held=$!
until_true 5 [ -s pid.txt ]
if [ -s pid.txt ]; then
	mt-record --mmap -o run.mt -p $held >out.txt 2>err.txt &
	recorder=$!
	until_true 30 [ -s run.mt ]
	: >go
	wait $held
	is 'a call that had begun: the program ended well' $? 0
	code=0
	wait $recorder || code=$?
	is 'a call that had begun: exit status' $code 125
	mt-report stat --json run.mt >stat.json 2>stat.err
	holds 'a call that had begun: counted' "($(count events begin_missed), 1)"
	holds 'a call that had begun: nothing else' "$(only events begin_missed)"
else
	wait $held
	skip 'a call that had begun' "no userfaultfd: $?"
fi

# More processes than have a place. None is stopped for good, and the recording ends.
cat >crowd.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]), gate[2], status, ended = 0, i, k;
	char c;

	if (pipe(gate))
		return 1;
	for (i = 0; i < n; i++) {
		if (fork())
			continue;
		close(gate[1]);
		if (read(gate[0], &c, 1))
			_exit(1);
		for (k = 0; k < 700; k++) {
			void *volatile block = malloc(33);

			free(block);
		}
		_exit(0);
	}
	close(gate[1]);
	while (wait(&status) > 0)
		ended += status == 0;
	printf("%d\n", ended);
	return 0;
}
EOF
cc -O1 -g -o crowd crowd.c || exit
for options in '' '--pressure-timeout inf --ring-size 64K --stack-ring-size 64K'; do
	name="17 processes for 8 places${options:+, pausing}"
	# shellcheck disable=SC2086 # a list
	lossy "$name" 125 --table-size processes=8 $options -- ./crowd 16
	is "$name: all ended well" "$(cat out.txt)" 16
	holds "$name: counted" "($(count threads no_memory), 9)"
	holds "$name: those with a place are whole" "s['allocations'] >= 7 * 700"
done

# Tables that make room, or do without.
lossy 'few definitions remembered' 0 --table-size stacks=16 -- /usr/bin/python3 -c 'import json, re
print(len(json.dumps([{str(i): [i] * 9} for i in range(300)])))'
holds 'few definitions remembered: more are written' \
	"s['stacks']['definitions'] > s['stacks']['distinct'] + 100"
holds 'few definitions remembered: every stack is there' \
	"(s['stacks']['allocations']['complete'], s['allocations'])"
n=0
while [ $n -lt 40 ]; do
	n=$((n + 1))
	cp "$WORKLOADS/libplug.so" "plug$n.so"
done
lossy 'few files remembered' 0 -vv --table-size files=4 -- "$WORKLOADS/dlopen_storm" 4 5 ./plug*.so
mt-report folded --by count run.mt 2>/dev/null >folded.txt
is 'few files remembered: exact' \
	"$(awk '/use_once;plug_take;/ { sum += $NF } END { print sum }' folded.txt)" $((4 * 5 * 40))
holds 'few files remembered: nothing lost' 'sum(s["lost"].values()) == 0'
is 'few files remembered: they are looked at again' \
	"$([ "$(grep -c '/plug[0-9]*\.so' err.txt)" -gt 40 ] && echo yes)" yes
# A second dynamic linker finds no place: who starts through it is stopped instead.
linker=$(readelf -lW /bin/true | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
cp "$linker" other_linker
lossy 'one linker known' 0 --table-size linkers=1 -- sh -c "./other_linker $PWD/pairs 101; ./pairs 103"
holds 'one linker known: nothing lost' 'sum(s["lost"].values()) == 0'
is 'one linker known: exact' "$(folded count ';main;malloc')" 204
lossy 'one process with code' 0 --table-size code=1 -- sh -c './pairs 101; ./pairs 103; :'
is 'one process with code: exact' "$(folded count ';main;malloc')" 204
