#!/bin/bash
# Programs with musl, whose linker is the C library: who opens a library waits in it and is not stopped,
# parents that wait for stops notice nothing, and code that a program maps by itself is probed too.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Only links can be waited in: man mt-record, CAVEATS.
mt-record -v -o run.mt -- true 2>err.txt
if grep -q 'attach perf;' err.txt; then
	ok 'no links: whoever opens a library is stopped'
	exit
fi

# An allocator of its own, called before main() and before dlopen() returns: probes must be there.
cat >library.c <<'EOF'
#include <stddef.h>
static char memory[1 << 20];
static size_t used;
__attribute__((noinline)) void *mi_malloc(size_t n)
{
	used += (n + 15) & ~(size_t)15;
	return memory + used - ((n + 15) & ~(size_t)15);
}
__attribute__((noinline)) void mi_free(void *p)
{
	__asm__ volatile("" : : "r"(p));
}
__attribute__((constructor)) static void begin(void)
{
	int i;

	for (i = 0; i < COUNT; i++)
		mi_free(mi_malloc(SIZE));
}
int NAME(void)
{
	return COUNT;
}
EOF
cat >main.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int needed(void);
static int open_one(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW);
	void *function = library ? dlsym(library, name) : NULL;

	return function ? ((int (*)(void))function)() : -1;
}
int main(void)
{
	int status = 0;

	printf("%d %d\n", needed(), open_one("./nowhere.so", "opened"));
	fflush(stdout);
	if (fork() == 0) {
		printf("%d\n", open_one("./libopened.so", "opened"));
		return 3;
	}
	wait(&status);
	printf("%d %d\n", WEXITSTATUS(status), open_one("./libopened.so", "opened"));
	return 5;
}
EOF
build()
{
	musl-gcc -O1 -shared -fPIC -DCOUNT="$2" -DSIZE="$3" -DNAME="$1" -o "lib$1.so" library.c
}
# New files each time: nobody knows them.
build_all()
{
	rm -f libneeded.so libopened.so prog
	build needed 101 40
	build opened 1009 56
	# shellcheck disable=SC2016 # for the linker
	musl-gcc -O1 -o prog main.c -L. -lneeded -Wl,-rpath,'$ORIGIN'
}

# as_without is one recording; the files are new to each recorder.
build_all
as_without 'musl in script' script -eqc './prog; echo $?' /dev/null
as_without 'musl in sudo' sudo -n ./prog
as_without 'musl in sudo on a terminal' script -eqc 'sudo -n ./prog; echo $?' /dev/null
printf 'set -m\n./prog\necho $?\n./prog &\nwait $!\necho $?\njobs\n' >jobs.bash
as_without 'musl in bash with job control' bash jobs.bash

# Every call of the constructors: 101 in one process, 1009 in it and in its child.
WANT_CODE=5 record 'musl' sh -c './prog; exit $?'
matches 'and it prints' out.txt '^101 -1$'
holds 'all calls before main() and in dlopen()' \
	'(sum(a["events"] for a in s["allocators"] if a["kind"] == "mimalloc"), 2 * (101 + 2 * 1009))'

# After dlopen(), which failed and did not, a program's own mapping is stopped for, and probed.
musl-gcc -O1 -I"$TOP/testdata/workloads" -o raw "$TOP/testdata/workloads/rawcode.c" 2>raw.err ||
	sed 's/^/    /' raw.err
cp "$WORKLOADS/librawcode.so" own.so
cat >opens.c <<'EOF'
#include <dlfcn.h>
__attribute__((constructor)) static void begin(void)
{
	dlopen("./libopened.so", RTLD_NOW);
	dlopen("./nowhere.so", RTLD_NOW);
}
EOF
musl-gcc -O1 -shared -fPIC -o libopens.so opens.c
RECORD_OPTIONS=-v record 'own code' sh -c 'LD_PRELOAD=./libopens.so ./raw mmap own.so'
matches 'own code: one stop' err.txt '; 1 stops,'
matches 'own code: and a wait' err.txt ' [1-9][0-9]* waits,'
