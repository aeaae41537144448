#!/bin/bash
# -p: a running process is recorded from then on and left as it was, again and again.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

library=/usr/lib/$(uname -m)-linux-gnu/libjemalloc.so.2
threads=4

start_target()
{
	rm -f ask end
	# jemalloc's thread-local storage is of the kind that is reserved at the start.
	GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 "$WORKLOADS/adopted" "$library" $threads >out.txt 2>&1 &
	target=$!
	until_true 20 grep -q libjemalloc "/proc/$target/maps"
}

start_recorder()
{
	rm -f run.mt
	mt-record -v -o run.mt -p "$target" 2>err.txt &
	recorder=$!
	# The first thing that is written is written when all probes are there.
	until_true 60 test -s run.mt
}

is_answered()
{
	[ ! -e ask ]
}

end_recorder()
{
	kill -INT "$recorder"
	wait "$recorder"
}

# attach_once NAME: attach, have the calls made, detach. Each call is there once, of both allocators.
attach_once()
{
	start_recorder
	: >ask
	until_true 60 is_answered
	end_recorder
	is "$1: status of the recorder" $? 0
	matches "$1: nobody was stopped" err.txt '; 0 stops,'
	mt-report stat --json run.mt >stat.json 2>/dev/null
	holds "$1: nothing lost" 'sum(s["lost"].values()) == 0'
	holds "$1: whom" "(s['attached_pid'], s['command'], s['cwd']) == \
		($target, ['$WORKLOADS/adopted', '$library', '$threads'], '$PWD')"
	holds "$1: one process, all its threads" "([s['processes'], s['threads']], [1, $threads + 1])"
	is "$1: calls" "$(folded count ';asked;')" $((263 + 271))
	is "$1: bytes" "$(folded bytes ';asked;')" $((263 * 59 + 271 * 61))
}

# threads_cut_short DUMP: threads that make the same five calls time after time, and how many of them
# lack one, from what they first allocate on.
threads_cut_short()
{
	/usr/bin/python3 - "$1" <<-'PY'
		import json, sys
		turn = ["malloc", "malloc", "realloc", "free", "free"]
		calls = {}
		for line in open(sys.argv[1]):
		    e = json.loads(line)
		    if e["type"] in turn and e["tid"] != e["pid"]:
		        calls.setdefault(e["tid"], []).append(e["type"])
		def whole(of):
		    while of and of[0] == "free":
		        del of[0]
		    return any(all(call == turn[(i + first) % 5] for i, call in enumerate(of))
		               for first in range(3))
		print(sum(not whole(of) for of in calls.values()) if calls else "no calls")
	PY
}

# end_target NAME: what it prints is what it always prints.
end_target()
{
	: >end
	wait "$target"
	is "$1: status of the target" $? 0
	is "$1: what it prints" "$(cat out.txt)" "$threads threads, 0 bytes wrong"
}

# Busy threads, an allocator that was opened by name; time after time.
start_target
for i in $(seq 20); do
	attach_once "attached, $i"
done
matches 'whom, for people' <(mt-report top run.mt) \
	"^Command    $WORKLOADS/adopted $library $threads; process $target, attached to while it ran\$"
holds 'both allocators are named' \
	'{"libc", "libjemalloc"} <= {a["path"].split("/")[-1].split(".")[0] for a in s["allocators"]}'

# A probe after the other comes, while threads allocate: no block is recorded whose free would be missed.
mt-report dump --json run.mt >dump.json
is 'whole from the first allocation on' "$(threads_cut_short dump.json)" 0
holds 'no block is taken twice' '(s["conflicts"], 0)'
holds 'each thread has its two blocks at most' "s['live_blocks'] <= 2 * $threads"
end_target 'after 20 times'

# Whom somebody else has stopped stays so while we come and go, and is recorded when it runs on.
start_target
kill -STOP "$target"
until_true 20 is_stopped "$target"
start_recorder
: >ask
is 'a stopped process: still stopped when attached to' "$(state_of "$target")" T
kill -CONT "$target"
until_true 60 is_answered
kill -STOP "$target"
until_true 20 is_stopped "$target"
end_recorder
is 'a stopped process: status of the recorder' $? 0
is 'a stopped process: still stopped when left' "$(state_of "$target")" T
is 'a stopped process: calls' "$(folded count ';asked;')" $((263 + 271))
kill -CONT "$target"
end_target 'a stopped process'

# What it starts from then on is recorded too: a child, and a program in its place.
mkfifo go
# shellcheck disable=SC2016 # the inner shell expands it
sh -c 'read -r _ <go; "$0"; exec "$0"' "$WORKLOADS/malloc_10007" >out.txt &
target=$!
start_recorder
echo >go
wait "$target"
code=0
wait "$recorder" || code=$?
is 'the tree from then on: recorded' "$code" 0
mt-report folded --by count run.mt >folded.txt 2>/dev/null
is 'the tree from then on: calls' \
	"$(awk '/;path_alpha;/ { sum += $NF } END { print sum }' folded.txt)" $((2 * 5003))
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'the tree from then on: processes' '(s["processes"], 2)'

# Few descriptors are no reason to say that a process is gone, whichever file is the one too many.
sleep 1000 &
target=$!
for limit in $(seq 58 82); do
	(ulimit -n "$limit" && exec mt-record -q --duration 10ms -p "$target" -o run.mt) 2>>few.txt
done
kill "$target"
wait "$target"
is 'few descriptors: no process is gone' "$(grep -c 'No such process' few.txt)" 0
matches 'few descriptors: it is said' few.txt 'Too many open files'
