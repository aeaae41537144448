#!/bin/bash
# Whatever ends a recording, what was written until then is readable.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# readable NAME [FILE]: check and stat say what they find, and do not fail.
readable()
{
	local name=$1 file=${2-run.mt} code=0

	mt-report check "$file" >check.txt 2>&1 || code=$?
	[ $code -le 1 ] || not_ok "$name: check" "exit status $code"
	mt-report stat --json "$file" >stat.json 2>stat.err || code=$?
	if [ $code -le 1 ]; then
		ok "$name: readable"
	else
		sed 's/^/    /' stat.err
		not_ok "$name: readable" "exit status $code"
	fi
}

ready()
{
	for _ in $(seq 500); do
		[ -s "$1" ] && return
		sleep 0.01
	done
}

cat >busy.py <<'EOF'
import json, os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(os.getpid(), flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    json.loads(json.dumps([{str(i): [i] * 9} for i in range(200)]))
EOF

# Killed at random points. Every file so far must be readable up to its last whole frame.
kills=${KILLS-20}
bad=0
RANDOM=11
for i in $(seq "$kills"); do
	rm -f run.mt pid.txt
	mt-record -q -o run.mt -- /usr/bin/python3 busy.py 4 >pid.txt 2>err.txt &
	recorder=$!
	sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	[ -s pid.txt ] && kill -KILL "$(cat pid.txt)" 2>/dev/null
	[ -s run.mt ] || continue
	code=0
	mt-report check run.mt >check.txt 2>&1 || code=$?
	[ $code -le 1 ] && mt-report stat --json run.mt >stat.json 2>stat.err || code=$?
	[ $code -le 1 ] || { bad=$((bad + 1)); echo "    kill $i: exit status $code"; }
done
is "killed at $kills random points: every file is readable" $bad 0

# The target killed.
rm -f pid.txt
mt-record -q -o run.mt -- /usr/bin/python3 busy.py 20 >pid.txt 2>err.txt &
recorder=$!
ready pid.txt
sleep 1
kill -KILL "$(cat pid.txt)"
code=0
wait $recorder || code=$?
is 'the target killed: exit status' $code 137
readable 'the target killed'
holds 'the target killed: whole' '(s["allocations"] > 1000, sum(s["lost"].values()) == 0)'

# Out of memory. The kernel's choice is made for it by oom_score_adj.
memory=/sys/fs/cgroup/memory
limit=memory.limit_in_bytes
[ -d $memory ] || { memory=/sys/fs/cgroup; limit=memory.max; }
cat >hog.py <<'EOF'
import json
for i in range(300):
    json.loads(json.dumps([{str(k): [k] * 9} for k in range(50)]))
kept = []
while True:
    kept.append(bytes(b"x" * 1000000))
EOF
group=$memory/mt-test-$$
if mkdir "$group" 2>group.err && echo 48M >"$group/$limit"; then
	code=0
	mt-record -q -o run.mt -- sh -c "echo \$\$ >'$group/cgroup.procs'; exec /usr/bin/python3 hog.py" \
		>out.txt 2>err.txt || code=$?
	is 'the target out of memory: exit status' $code 137
	readable 'the target out of memory'
	holds 'the target out of memory: whole' \
		'(s["allocations"] > 1000, sum(s["lost"].values()) == 0)'

	rm -f run.mt out.txt
	mt-record -q -o run.mt -- /usr/bin/python3 busy.py 60 >pid.txt 2>err.txt &
	recorder=$!
	ready pid.txt
	sleep 1
	echo $recorder >"$group/cgroup.procs"
	echo 1000 >/proc/$recorder/oom_score_adj
	sh -c "echo \$\$ >'$group/cgroup.procs'; exec /usr/bin/python3 hog.py" 2>hog.err
	code=0
	wait $recorder || code=$?
	is 'the recorder out of memory: exit status' $code 137
	kill -KILL "$(cat pid.txt)"
	readable 'the recorder out of memory'
	holds 'the recorder out of memory: the events until then' 's["allocations"] > 1000'
	rmdir "$group"
else
	skip 'out of memory' "no memory cgroup: $(cat group.err)"
fi

# Interrupted twice: the recording ends at once, the command goes on.
rm -f pid.txt run.mt
mt-record -q -o run.mt -- /usr/bin/python3 busy.py 20 >pid.txt 2>err.txt &
recorder=$!
ready pid.txt
sleep 0.5
kill -INT $recorder
sleep 0.2
kill -INT $recorder
code=0
wait $recorder || code=$?
is 'interrupted twice: exit status' $code 130
mt-report check run.mt >check.txt 2>&1
is 'interrupted twice: the file is whole' $? 0
kill -0 "$(cat pid.txt)" 2>/dev/null
is 'interrupted twice: the command goes on' $? 0
kill -KILL "$(cat pid.txt)"

# A file size limit, a removed file.
code=0
(ulimit -f 8 && exec mt-record -o run.mt -- /usr/bin/python3 -c 'import json, re
print("ran on")') >out.txt 2>err.txt || code=$?
is 'file too large: exit status' $code 125
is 'file too large: the command ran on' "$(cat out.txt)" 'ran on'
matches 'file too large: said' err.txt 'run\.mt: File too large'
readable 'file too large'
rm -f pid.txt
mt-record -o run.mt -- /usr/bin/python3 busy.py 1 >pid.txt 2>err.txt &
recorder=$!
ready pid.txt
rm -f run.mt
wait $recorder
is 'removed: exit status' $? 0
matches 'removed: said' err.txt 'removed while recording; written again'
mt-report check run.mt >check.txt 2>&1
is 'removed: the file is back and whole' $? 0

# Into a pipe, through to a report.
mt-record -q -o - -- "$WORKLOADS/malloc_10007" 2>err.txt | mt-report stat --json - >stat.json 2>stat.err
holds 'through a pipe' '(s["allocations"] >= 10007, True)'
mt-record -q -o - -- sh -c 'yes | head -c 1000000 >/dev/null; sleep 1' 2>err.txt | head -c 10 >out.txt
is 'a reader that goes away: exit status' "${PIPESTATUS[0]}" 125
matches 'a reader that goes away: said' err.txt 'Broken pipe'
