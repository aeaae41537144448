#!/bin/bash
# Stops for attaching are rare, short, and never outlive the recorder.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

stops()
{
	sed -n 's/.* \([0-9]*\) stops,.*/\1/p' err.txt
}

# An ordinary command's files are known before it starts.
for command in true 'git --version' 'sh -c true' 'perl -e 1' ls; do
	# shellcheck disable=SC2086 # a command line
	mt-record -v -o run.mt -- $command >out.txt 2>err.txt
	is "no stop: $command" "$(stops)" 0
done
printf '#!/usr/bin/env python3\nprint(1)\n' >script
chmod +x script
mt-record -v -o run.mt -- ./script >out.txt 2>err.txt
is 'no stop: a script by env' "$(stops)" 0

# Who opens a library later waits in the dynamic linker; who maps code by itself is stopped.
mt-record -v -o run.mt -- /usr/bin/python3 -c 'import _json' >out.txt 2>err.txt
is 'no stop for a library opened later' "$(stops)" 0
matches 'but a wait' err.txt ' 1 waits,'
cp "$WORKLOADS/librawcode.so" own.so
mt-record -v -o run.mt -- "$WORKLOADS/rawcode" mmap own.so >out.txt 2>err.txt
is 'a stop for code mapped without the linker' "$(stops)" 1
matches 'how long it took' err.txt '^mt-record: process [0-9]+ was stopped for [0-9.]+ ms$'

# The recorder stands still, the command opens a library, waits and is stopped, the recorder is
# killed.
cat >late.py <<'EOF'
import os, signal, sys, time
stops = 0
def count(*_):
    global stops
    stops += 1
signal.signal(signal.SIGCONT, count)
print(os.getpid(), flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
import _json
with open("finished", "w") as file:
    print(stops, file=file)
EOF
mt-record -q -o killed.mt -- /usr/bin/python3 late.py >pid.txt 2>err.txt &
recorder=$!
until_true 10 [ -s pid.txt ]
target=$(cat pid.txt)
kill -STOP "$recorder"
: >go
until_true 20 is_stopped "$target"
is 'stopped while nobody attends' "$(state_of "$target")" T
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
until_true 5 [ -e finished ]
is 'resumed after the recorder was killed' "$(ls finished 2>&1)" finished
for _ in $(seq 250); do
	kill -0 "$target" 2>/dev/null || break
	sleep 0.02
done
kill -0 "$target" 2>/dev/null
is 'and ran to its end' $? 1

# Killed while the command waits: it goes on at once, and is never stopped.
rm -f go finished pid.txt
mt-record -q -o killed.mt -- /usr/bin/python3 late.py >pid.txt 2>err.txt &
recorder=$!
until_true 10 [ -s pid.txt ]
kill -STOP "$recorder"
: >go
sleep 1
is 'it waits' "$(state_of "$(cat pid.txt)")" R
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
until_true 5 [ -s finished ]
is 'who waits when the recorder is killed is not stopped' "$(cat finished)" 0

# Killed while the command stands still because nobody reads the output.
rm -f pid.txt out.txt
mkfifo pipe
# shellcheck disable=SC2016 # for the inner shell
mt-record -q --pressure-timeout inf --ring-size 64K --stack-ring-size 64K -o pipe -- \
	sh -c 'echo $$ >pid.txt; exec "$WORKLOADS/storm" 4 20011' >out.txt 2>err.txt &
recorder=$!
exec 9<pipe
until_true 20 test -s pid.txt
until_true 20 stands_still "$(cat pid.txt)"
is 'it stands still' "$(state_of "$(cat pid.txt)")" T
is 'it has not ended' "$(cat out.txt)" ''
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
until_true 20 [ -s out.txt ]
is 'who stands still when the recorder is killed runs to its end' "$(cat out.txt)" 80044
exec 9<&-
