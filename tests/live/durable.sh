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

# The recorder, the command or both killed: the last event that can be read happened less than a second
# before, and every stack is of known code, that of libraries opened on the way included.
cat >steady.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void steady_take(void)
{
	void *volatile block = malloc(77);

	free(block);
}
int main(int argc, char **argv)
{
	static const struct timespec pause = { .tv_nsec = 5000000 };
	void *(*take)(size_t);
	void *library;
	int i;

	printf("%d\n", getpid());
	fflush(stdout);
	for (i = 0; ; i++) {
		steady_take();
		if (i % 20 == 0 && i / 20 + 1 < argc) {
			library = dlopen(argv[i / 20 + 1], RTLD_NOW);
			take = library ? (void *(*)(size_t))dlsym(library, "plug_take") : NULL;
			if (!take)
				return 1;
			free(take(33));
		}
		nanosleep(&pause, NULL);
	}
}
EOF
cc -g -O1 -o steady steady.c -ldl || exit
for i in $(seq 20); do
	cp "$WORKLOADS/libplug.so" "plug$i.so"
done
cat >kill.py <<'EOF'
import os, signal, sys, time
time.sleep(float(sys.argv[1]))
print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
for pid in sys.argv[2:]:
    os.kill(int(pid), signal.SIGKILL)
EOF
for who in recorder command both; do
	for after in 1.1 1.45 2.3; do
		name="$who killed after $after s"
		rm -f run.mt pid.txt
		mt-record -q -o run.mt -- ./steady ./plug*.so >pid.txt 2>err.txt &
		recorder=$!
		until_true 20 [ -s pid.txt ]
		command=$(cat pid.txt)
		case $who in
		recorder) set -- $recorder ;;
		command) set -- "$command" ;;
		both) set -- $recorder "$command" ;;
		esac
		killed=$(/usr/bin/python3 kill.py $after "$@")
		code=0
		wait $recorder 2>/dev/null || code=$?
		is "$name: exit status" $code 137
		[ $who = recorder ] && kill -KILL "$command"
		code=0
		mt-report stat --json run.mt >stat.json 2>stat.err || code=$?
		is "$name: complete or not" $code "$([ $who = command ]; echo $?)"
		[ $who = command ] || matches "$name: the report says where it ends" stat.err \
			'not finished: .* checkpoint, at [0-9]+\.[0-9]+ s'
		last=$(mt-report dump --json run.mt 2>/dev/null | tail -n 200 |
			sed -n 's/^{"type":"malloc","time":\([0-9]*\),.*/\1/p' | tail -n 1)
		age=$(((killed - ${last:-0}) / 1000000))
		echo "note $name: the last allocation is $age ms older"
		is "$name: the last allocation is $age ms older" \
			"$([ $age -lt 1000 ] && echo yes)" yes
		holds "$name: every stack is of known code" \
			'(s["stacks"]["allocations"]["complete"], s["allocations"])'
		is "$name: a library opened on the way" \
			"$([ "$(folded count 'main;plug_take')" -ge 3 ] && echo yes)" yes
		holds "$name: nothing lost" 'sum(s["lost"].values()) == 0'
	done
done

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

# Whoever empties the file takes what was recorded: nothing is written behind the hole.
rm -f pid.txt
mt-record -o run.mt -- sh -c '/usr/bin/python3 busy.py 2; echo ran on' >pid.txt 2>err.txt &
recorder=$!
ready pid.txt
until_true 10 test -s run.mt
: >run.mt
code=0
wait $recorder || code=$?
is 'emptied by another: exit status' $code 125
matches 'emptied by another: said' err.txt 'run\.mt: somebody else has shortened the file'
is 'emptied by another: the command ran on' "$(tail -n 1 pid.txt)" 'ran on'
is 'emptied by another: nothing is written then' "$(stat -c %s run.mt)" 0

# Into a pipe, through to a report.
mt-record -q -o - -- "$WORKLOADS/malloc_10007" 2>err.txt | mt-report stat --json - >stat.json 2>stat.err
holds 'through a pipe' '(s["allocations"] >= 10007, True)'
mt-record -q -o - -- sh -c 'yes | head -c 1000000 >/dev/null; sleep 1' 2>err.txt | head -c 10 >out.txt
is 'a reader that goes away: exit status' "${PIPESTATUS[0]}" 125
matches 'a reader that goes away: said' err.txt 'Broken pipe'
