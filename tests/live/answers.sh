#!/bin/bash
# Parents that take a child for suspended which stands still for us, and suspend themselves, go on
# with it; those who answer a stop of somebody else do not.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

gcc -O1 -g -o raw "$TOP/testdata/execs/raw.c"
gcc -O1 -g -static -o takes "$TOP/testdata/execs/takes.c"

# goes_on NAME COMMAND...: as without us, though a process is stopped for ./fresh, which nobody knows.
goes_on()
{
	local name=$1 code=0 want=0

	shift
	cp takes fresh
	timeout 60 "$@" </dev/null 2>&1 | shown >want.txt
	want=${PIPESTATUS[0]}
	rm fresh
	cp takes fresh
	# shellcheck disable=SC2086 # a list
	timeout -k 5 120 mt-record -v ${RECORD_OPTIONS-} -o run.mt -- "$@" \
		</dev/null 2>err.txt | shown >got.txt
	code=${PIPESTATUS[0]}
	is "$name: status" "$code" "$want"
	grep -v '^mt-record: ' err.txt | shown >>got.txt
	is "$name: prints the same" "$(diff want.txt got.txt 2>&1)" ''
	matches "$name: somebody was stopped" err.txt '; [1-9][0-9]* stops,'
	is "$name: what the program took" "$(folded count '(^|;)main;take(;| )')" 101
}

# A parent that stops itself as its child stops: alone, with its group, and above another.
cat >suspends.py <<'EOF'
import os, signal, sys
how, command = sys.argv[1], sys.argv[2:]
def run(body):
    pid = os.fork()
    if pid == 0:
        os._exit(body())
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(0 if how == "group" and body is child else os.getpid(), signal.SIGSTOP)
def child():
    os.setpgid(0, 0)
    os.execv("./raw", ["raw"] + command)
def between():
    # A group of its own: the recorder is in that of the first.
    os.setpgid(0, 0)
    return run(child)
print("ended", run(child if how == "alone" else between), flush=True)
EOF
for how in alone chain group; do
	goes_on "a parent that suspends itself, $how" /usr/bin/python3 suspends.py $how ./fresh
done
# script reads one SIGCHLD at a time: if the child has ended before it has read that of the stop, it
# waits for ever for another. So this child lives on for a while.
goes_on 'script' script -eqc './raw ./fresh late 3' /dev/null
goes_on 'sudo on a terminal' script -eqc 'sudo -n ./raw ./fresh late 3' /dev/null
goes_on 'su' su -s /bin/sh root -c 'exec ./raw ./fresh'
RECORD_OPTIONS='--attach perf'
goes_on 'perf, script' script -eqc './fresh late 3' /dev/null
goes_on 'perf, sudo on a terminal' script -eqc 'sudo -n ./fresh late 3' /dev/null
RECORD_OPTIONS=

is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

# It may have been about to stop itself.
goes()
{
	kill -CONT "$child"
	kill -CONT "$parent"
	is_gone "$parent"
}

# The child of parent.py, which stops itself when that one is stopped.
cat >parent.py <<'EOF'
import os, signal
with open("parent", "w") as file:
    print(os.getpid(), file=file)
maps = os.environ["LIVE"] + "/maps_own.py"
pid = os.posix_spawn("/usr/bin/python3", ["python3", maps, "child"], os.environ, setpgroup=0)
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.kill(os.getpid(), signal.SIGSTOP)
print("ended", os.waitstatus_to_exitcode(status), flush=True)
EOF

# start: they run, and nobody knows own.so.
start()
{
	rm -f child parent go mapped end own.so
	cp "$WORKLOADS/librawcode.so" own.so
	mt-record -q -o run.mt -- /usr/bin/python3 parent.py >out.txt 2>err.txt &
	recorder=$!
	until_true 60 [ -s child ]
	until_true 60 [ -s parent ]
	child=$(cat child)
	parent=$(cat parent)
}

# stand_still NAME: so does the recorder, the child for it, and the parent in answer.
stand_still()
{
	start
	kill -STOP "$recorder"
	until_true 60 is_stopped "$recorder"
	: >go
	until_true 60 is_stopped "$child"
	until_true 60 is_stopped "$parent"
	is "$1: both stand still" "$(state_of "$child")$(state_of "$parent")" TT
}

stand_still 'recorder killed'
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
: >end
until_true 60 is_gone "$parent"
is 'recorder killed: both go on' "$(cat out.txt)" 'ended 0'

stand_still 'recorder goes on'
: >end
kill -CONT "$recorder"
wait "$recorder"
is 'recorder goes on: status' $? 0
is 'recorder goes on: so do both' "$(cat out.txt)" 'ended 0'

# The parent is stopped by somebody else as well.
stand_still 'stopped by somebody else too'
kill -STOP "$parent"
kill -CONT "$recorder"
until_true 60 [ -e mapped ]
sleep 1
is 'stopped by somebody else too: stands still' "$(state_of "$parent")" T
: >end
until_true 60 goes
wait "$recorder"
is 'stopped by somebody else too: status' $? 0
is 'stopped by somebody else too: goes on' "$(cat out.txt)" 'ended 0'

# Right after one has stood still for us somebody else stops one of them: the parent's stop, by itself
# or not, is not ours.
for whom in child parent; do
	start
	: >go
	until_true 60 [ -e mapped ]
	until_true 60 is_running "$parent"
	sleep 0.5
	kill -STOP "${!whom}"
	until_true 60 is_stopped "$parent"
	sleep 1
	until_true 60 is_stopped "$parent"
	is "somebody else stops the $whom: the parent stands still" "$(state_of "$parent")" T
	: >end
	until_true 60 goes
	wait "$recorder"
	is "somebody else stops the $whom: status" $? 0
	is "somebody else stops the $whom: goes on" "$(cat out.txt)" 'ended 0'
done

# So is a pause for full rings.
pauses()
{
	local name=$1 code=0

	shift
	timeout -k 5 120 mt-record --pressure-timeout inf --ring-size 64K --stack-ring-size 64K \
		-o run.mt -- "$@" </dev/null >out.txt 2>err.txt || code=$?
	is "a pause, $name: status" $code 0
	matches "a pause, $name: it paused" err.txt 'paused [1-9][0-9]* times'
	matches "a pause, $name: nothing lost" err.txt ' 0 lost'
}
pauses su su -s /bin/sh root -c "exec $WORKLOADS/storm 4 20003"
pauses sudo sudo -n "$WORKLOADS/storm" 4 20003
pauses script script -eqc "$WORKLOADS/storm 4 20003; sleep 3" /dev/null
