#!/bin/bash
# Recordings that end while the command goes on, as fast as it can and to a slow reader.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

mkfifo pipe

# left NAME CODE: it has ended by itself with a whole file that lacks nothing, and the command runs.
left()
{
	local code=0

	wait $recorder || code=$?
	is "$1: exit status" $code "$2"
	state=$(state_of "$(cat pid.txt)")
	is "$1: the command goes on" "${state/[SD]/R}" R
	kill -KILL "$(cat pid.txt)"
	wait $reader
	mt-report check run.mt >check.txt 2>&1
	is "$1: the file is whole" $? 0
	mt-report stat --json run.mt >stat.json 2>stat.err
	holds "$1: nothing lost" 's["allocations"] > 0 and sum(s["lost"].values()) == 0'
}

# start OPTION...: a command that does not mind SIGINT.
start()
{
	rm -f run.mt pid.txt
	# shellcheck disable=SC2016 # for the inner shell
	mt-record -q --pressure-timeout inf "$@" -o pipe -- \
		sh -c 'trap "" INT; echo $$ >pid.txt; exec "$@"' sh "$WORKLOADS/storm" 2 100000007 \
		>out.txt 2>err.txt &
	recorder=$!
	/usr/bin/python3 "$LIVE/slow.py" <pipe >run.mt &
	reader=$!
}
start --duration 3s
left '--duration, a slow reader' 0
last=$(mt-report dump --json run.mt 2>/dev/null | tail -n 1)
echo "$last" >last.json
holds '--duration, a slow reader: nothing from behind the end' \
	"s['time'] <= $(sed -n 's/^ *"end_time": \([0-9]*\),/\1/p' stat.json)" last.json

start
until_true 60 [ -s run.mt ]
for _ in 1 2; do
	kill -INT $recorder
	sleep 0.5
	# Two that are pending at once are one.
	until_true 60 sh -c "! grep -q '^ShdPnd:.*[1-9a-f]' /proc/$recorder/status"
done
left 'a second signal, a slow reader' 130

# Removing the probes is said if it takes long, whether or not a summary is wanted.
cat >late.c <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void)
{
	unsetenv("LD_PRELOAD");
}
int close(int fd)
{
	static int (*next)(int), late;
	char name[32], what[64] = "";

	if (!next)
		next = (int (*)(int))dlsym(RTLD_NEXT, "close");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (!late && readlink(name, what, sizeof(what) - 1) > 0 && strstr(what, "bpf_link")) {
		late = 1;
		sleep(2);
	}
	return next(fd);
}
EOF
cc -O1 -shared -fPIC -o late.so late.c -ldl || exit
for quiet in -q ''; do
	# shellcheck disable=SC2086 # none or one
	LD_PRELOAD=$PWD/late.so mt-record $quiet -o run.mt -- true 2>err.txt
	is "slow to leave${quiet:+, }$quiet: exit status" $? 0
	matches "slow to leave${quiet:+, }$quiet: said" err.txt 'removing the probes took ([2-9]|[1-9][0-9])'
done
