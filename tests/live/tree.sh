#!/bin/bash
# Fork and exec children, threads, races between threads.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

record forkexec "$WORKLOADS/forkexec"
account forkexec allocations allocated_bytes frees live_blocks live_bytes peak_blocks peak_bytes
holds 'forkexec: processes' '(s["processes"], 7)'
is 'forkexec: calls of children' "$(folded count '(^|;)main;child;child_take(;| )')" $((3 * 53))
is "forkexec: calls of exec'd programs" "$(folded count ';execd_take(;| )')" $((3 * 29))
is 'forkexec: the stacks of the child that execs' "$(folded count ';main;child_take(;| )')" 53

record threads "$WORKLOADS/threads"
account threads frees
is 'threads: calls' "$(folded count ';worker_take(;| )')" 10000
holds 'threads: bytes' 's["allocated_bytes"] >= want["allocated_bytes"]'
is 'threads: bytes of worker_take' "$(folded bytes ';worker_take(;| )')" 15565000
is 'threads: live bytes of worker_take' "$(folded live ';worker_take(;| )')" 7785000
holds 'threads: threads' '(s["threads"], 5)'
holds 'threads: every stack is complete' '(s["stacks"]["complete"], s["stacks"]["definitions"])'
cp stat.json threads.json
valgrind --tool=dhat --dhat-out-file=/dev/null "$WORKLOADS/threads" >/dev/null 2>dhat.txt
is 'threads: total as DHAT counts it' "$(sed -n 's/,//g; s/.*Total: *\([0-9]*\) bytes in \([0-9]*\) blocks/\1 \2/p' dhat.txt)" \
	"$(/usr/bin/python3 -c 'import json; s = json.load(open("threads.json")); print(s["allocated_bytes"], s["allocations"])')"

for i in 1 2 3; do
	record "realloc_race $i" "$WORKLOADS/realloc_race"
	is "realloc_race $i: moves and blocks" "$(folded count ';race_(new|move)(;| )')" 48000
	is "realloc_race $i: nothing is left" "$(folded live ';race_(new|move)(;| )')" 0
done

# A shell starts others: pipes, subshells, programs that end at once.
# shellcheck disable=SC2016
record 'a shell pipeline' sh -c 'for i in 1 2 3 4 5; do ls / | sort | cat >/dev/null; done; "$0"' \
	"$WORKLOADS/malloc_10007"
is 'a shell pipeline: the last program' "$(folded count ';path_(alpha|beta|gamma);')" 10007
holds 'a shell pipeline: processes' 's["processes"] >= 12'

record dlopen "$WORKLOADS/dlopen" "$WORKLOADS/libplug.so"
is 'dlopen: calls from both placements' "$(folded count ';use;plug_take(;| )')" 200
is 'dlopen: bytes' "$(folded bytes ';plug_take(;| )')" 24600
holds 'dlopen: the library is one module' \
	'(len([m for m in s["modules"] if m["path"].endswith("/libplug.so")]), 1)'

# Recordings do not see each other's commands.
mt-record -q -o other.mt -- "$WORKLOADS/malloc_10007" >/dev/null 2>other.err &
record 'two at once' "$WORKLOADS/malloc_10007"
wait $!
is 'two at once: the other'\''s status' $? 0
account 'two at once' allocations allocated_bytes frees live_bytes peak_bytes
mt-report stat --json other.mt >stat.json 2>/dev/null
account 'two at once, the other' allocations allocated_bytes frees live_bytes peak_bytes

# In namespaces of its own, where its process id is 1.
record namespaces unshare -p -f -m --mount-proc "$WORKLOADS/malloc_10007"
is 'namespaces: calls' "$(folded count ';path_(alpha|beta|gamma);')" 10007

# A process that somebody stopped stays stopped.
# shellcheck disable=SC2016
record 'a stopped process' sh -c 'sh -c "kill -STOP \$\$; echo resumed" &
	sleep 0.5; grep State /proc/$!/status; kill -CONT $!; wait $!'
is 'a stopped process: stays so' "$(head -n 1 out.txt)" "$(printf 'State:\tT (stopped)')"
is 'a stopped process: runs on when told to' "$(tail -n 1 out.txt)" resumed

# Attached to as it begins, or as it ends: it is recorded, or is said to be gone.
bad=
for time in 0 0.1 0.2 0.3 0.4 0.5 0.6 0.8 1; do
	/usr/bin/python3 -Ic "import time; time.sleep($time)" &
	code=0
	mt-record -q -o brief.mt -p $! 2>brief.err || code=$?
	case $code:$(cat brief.err) in
	0: | "125:mt-record: process $!: No such process") ;;
	'0:mt-record: not covered: it ended before its files could be looked at') ;;
	*) bad="$bad$time: $code: $(cat brief.err); " ;;
	esac
	wait $!
done
is 'processes that begin or end as they are attached to' "$bad" ''
