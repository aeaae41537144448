#!/bin/bash
# Storms of allocations: with --pressure-timeout inf nothing is lost whatever the rings hold, and
# without it what is lost is counted exactly.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Events written and lost, from the summary.
written()
{
	sed -n 's/^mt-record: \([0-9]*\) events,.*/\1/p' err.txt
}
lost()
{
	sed -n 's/^mt-record: lost \([0-9]*\) events .*/\1/p' err.txt
}

# Frees that the storm makes from one path: two events a pair, so pairs are counted exactly.
for threads in 1 8 64; do
	pairs=$((60000 / threads))
	for size in 64K 32M; do
		name="$threads threads, rings of $size"
		code=0
		mt-record --pressure-timeout inf --ring-size $size --stack-ring-size $size \
			-o run.mt -- "$WORKLOADS/storm" "$threads" "$pairs" >out.txt 2>err.txt ||
			code=$?
		is "$name: nothing lost" "$code" 0
		mt-report folded --by count run.mt 2>/dev/null >folded.txt
		is "$name: exact" "$(awk '/one_pair/ { sum += $NF } END { print sum }' folded.txt)" \
			$((threads * pairs))
	done
done

# Deep stacks, and parents that sleep in vfork() while their child is stopped.
cat >spawn.py <<'EOF'
import os
ended = 0
for _ in range(150):
    x = [bytes(k) for k in range(300)]
    pid = os.posix_spawn("/bin/ls", ["ls", "/"], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    ended += os.waitpid(pid, 0)[1] == 0
print(ended)
EOF
code=0
mt-record --pressure-timeout inf --ring-size 64K --stack-ring-size 64K -o run.mt -- \
	/usr/bin/python3 spawn.py >out.txt 2>err.txt || code=$?
is 'processes spawned, small rings: nothing lost' $code 0
is 'processes spawned, small rings: all ended well' "$(cat out.txt)" 150

# What is made in all is the same in every run, but for what thread caches hold in the end.
export GLIBC_TUNABLES=glibc.malloc.tcache_count=0
begun()
{
	[ -s run.mt ]
}
# overflow NAME READY COMMAND...: recorded whole, and then with small rings by a recorder that, from
# when READY is true, stands still for a moment, so that they must overflow.
overflow()
{
	local name=$1 ready=$2 recorder made

	shift 2
	mt-record -o run.mt -- "$@" >out.txt 2>err.txt
	is "$name, large rings: nothing lost" $? 0
	made=$(written)
	rm -f run.mt err.txt
	mt-record -vv --ring-size 64K --stack-ring-size 64K -o run.mt -- "$@" >out.txt 2>err.txt &
	recorder=$!
	until_true 20 "$ready"
	kill -STOP $recorder
	sleep 1
	kill -CONT $recorder
	code=0
	wait $recorder || code=$?
	is "$name, small rings and no pausing: exit status" $code 125
	is "$name: some were lost" "$([ "$(lost)" -gt 0 ] && echo yes)" yes
	is "$name: written + lost = made" $(($(written) + $(lost))) "$made"
	matches "$name: the summary says what to do" err.txt '--ring-size'
	mt-report stat --json run.mt >stat.json 2>stat.err
	is "$name: the report is partial" $? 1
	holds "$name: the report counts the same loss" "(s['lost']['events'], $(lost))"
	echo "note $name: $(written) written + $(lost) lost = $made made"
}
for threads in 1 8 64; do
	overflow "$threads threads" begun "$WORKLOADS/storm" $threads $((60013 / threads))
done
overflow '2000 children' begun "$WORKLOADS/births" bomb 2000
# A process whose library nobody has looked at waits: not until all are known can a ring overflow.
n=0
while [ $n -lt 40 ]; do
	n=$((n + 1))
	cp "$WORKLOADS/libplug.so" "plug$n.so"
done
all_known()
{
	[ "$(grep -c '/plug[0-9]*\.so' err.txt)" = 40 ]
}
overflow 'dlopen storm' all_known "$WORKLOADS/dlopen_storm" 1 200 ./plug*.so

unset GLIBC_TUNABLES

# A recorder that stands still for seconds loses nothing when it may pause the command.
rm -f run.mt
mt-record --pressure-timeout inf --ring-size 64K -o run.mt -- "$WORKLOADS/storm" 8 5003 \
	>out.txt 2>err.txt &
recorder=$!
until_true 20 begun
kill -STOP $recorder
sleep 5
kill -CONT $recorder
wait $recorder
is 'stopped for 5 s: nothing lost' $? 0
is 'stopped for 5 s: exact' "$(folded count one_pair)" 40024

# Past the time that was granted the command is killed, and the file says so.
cat >stall.sh <<'EOF'
mt-record --pressure-timeout 500ms --ring-size 64K -o - -- \
	sh -c 'echo $$ >pid.txt; exec "$WORKLOADS/storm" 4 100000007'
echo $? >code.txt
EOF
is_killed()
{
	[ -s pid.txt ] && has_ended "$(cat pid.txt)"
}
bash stall.sh 2>err.txt | { until_true 60 is_killed; cat >run.mt; }
is 'nobody reads the output: exit status' "$(cat code.txt)" 125
matches 'nobody reads the output: said' err.txt 'pressure-timeout'
mt-report check run.mt >out.txt 2>&1
is 'the file is whole' $? 0

# Bad durations.
for text in 5 x -1s 1d ''; do
	code=0
	mt-record --pressure-timeout "$text" -- true 2>err.txt || code=$?
	is "--pressure-timeout '$text'" $code 64
	one_line "--pressure-timeout '$text': one line" err.txt
done

# A fork bomb: each child is over after a few calls.
for options in '' '--ring-size 64K --stack-ring-size 64K --mapping-ring-size 64K'; do
	name="2000 children${options:+, small rings}"
	code=0
	# shellcheck disable=SC2086 # a list
	mt-record $options --pressure-timeout inf -o run.mt -- "$WORKLOADS/births" bomb 2000 \
		>out.txt 2>err.txt || code=$?
	is "$name: recorded" "$code" 0
	mt-report stat --json run.mt >stat.json 2>/dev/null
	holds "$name: processes" '(s["processes"], 2001)'
	holds "$name: nothing lost" 'sum(s["lost"].values()) == 0'
	is "$name: exact" "$(folded count ';bomb_child;')" 14000
done

# A storm of dlopen: every library new to the recorder stops the process for its probes.
for options in '' '--pressure-timeout inf --ring-size 64K --stack-ring-size 64K'; do
	name="dlopen storm${options:+, small rings}"
	code=0
	# shellcheck disable=SC2086 # a list of options
	mt-record $options -vv -o run.mt -- "$WORKLOADS/dlopen_storm" 4 5 ./plug*.so >out.txt 2>err.txt ||
		code=$?
	is "$name: nothing lost" $code 0
	mt-report folded --by count run.mt 2>/dev/null >folded.txt
	is "$name: exact" "$(awk '/use_once;plug_take;/ { sum += $NF } END { print sum }' folded.txt)" \
		$((4 * 5 * 40))
	is "$name: each library is looked at once" "$(grep -c '/plug[0-9]*\.so' err.txt)" 40
done

# The ring of mappings is the kernel's. While the recorder stands still the command maps code that is
# known; what finds no room is counted, and a pause comes before that.
cat >maps.py <<'EOF'
import mmap, os, sys, time
fd = os.open("/usr/bin/env", os.O_RDONLY)
pages = [mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)]
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
for i in range(6000):
    if sys.argv[1:] == ["rename"]:
        with open("/proc/self/comm", "w") as name:
            name.write("n%d" % i)
    else:
        mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
open("finished", "w").close()
EOF
rm -f go finished out.txt
mt-record --mapping-ring-size 64K -o run.mt -- /usr/bin/python3 maps.py >out.txt 2>err.txt &
recorder=$!
until_true 10 grep -q ready out.txt
kill -STOP $recorder
: >go
until_true 10 [ -e finished ]
kill -CONT $recorder
code=0
wait $recorder || code=$?
is 'a small ring of mappings: exit status' $code 125
matches 'a small ring of mappings: said' err.txt \
	'lost [0-9]* mappings \(kernel\) from [0-9.]* s to [0-9.]* s'
mt-report stat --json run.mt >stat.json 2>stat.err
is 'a small ring of mappings: the report is partial' $? 1
holds 'a small ring of mappings: counted' 's["lost"]["mappings"] > 1000'
# With pauses the command is stopped in time though nobody is there to be told.
for what in map rename; do
	name="a small ring of mappings, nobody to look: $what"
	rm -f go finished out.txt pid.txt
	# shellcheck disable=SC2016 # for the inner shell
	mt-record --pressure-timeout inf --mapping-ring-size 64K -o run.mt -- \
		sh -c 'echo $$ >pid.txt; exec /usr/bin/python3 maps.py "$0"' $what >out.txt 2>err.txt &
	recorder=$!
	until_true 10 grep -q ready out.txt
	kill -STOP $recorder
	: >go
	until_true 10 is_stopped "$(cat pid.txt)"
	is "$name: the command waits" $? 0
	[ ! -e finished ]
	is "$name: in the middle" $? 0
	kill -CONT $recorder
	code=0
	wait $recorder || code=$?
	is "$name: nothing lost" $code 0
done
# Nobody takes what is written for a while, so that nobody empties the ring.
rm -f finished pid.txt
# shellcheck disable=SC2016 # for the inner shell
mt-record --pressure-timeout inf --mapping-ring-size 64K -o - -- \
	sh -c 'echo $$ >pid.txt; exec /usr/bin/python3 maps.py' 2>err.txt |
	{ until_true 60 test -s pid.txt; until_true 60 stands_still "$(cat pid.txt)"
	  ls finished >early.txt 2>&1; cat >run.mt; }
is 'a small ring of mappings, pausing: nothing lost' "${PIPESTATUS[0]}" 0
matches 'a small ring of mappings, pausing: it paused' err.txt 'paused [0-9]* times'
matches 'a small ring of mappings, pausing: the command waited' early.txt 'No such file'
