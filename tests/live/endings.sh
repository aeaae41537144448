#!/bin/bash
# Every way to end a recording: signals to the group, the time, the root process, closed streams.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

whole()
{
	mt-report check run.mt >check.txt 2>&1
	is "$1: the file is whole" $? 0
}

# Sent to the process group, a signal reaches the command from the sender and not once more by us.
for sig in INT TERM HUP QUIT; do
	rm -f run.mt out.txt
	setsid mt-record -q -o run.mt -- /usr/bin/python3 "$LIVE/signals.py" "$sig" >out.txt 2>err.txt &
	recorder=$!
	until_true 20 grep -q ready out.txt
	kill -s "$sig" -- "-$recorder"
	code=0
	wait $recorder || code=$?
	is "SIG$sig to the group: the command's status" $code 42
	is "SIG$sig to the group: reaches the command once" "$(tail -n 1 out.txt)" 'got 1'
	whole "SIG$sig to the group"
done

# Dies of it, as it would have alone.
for sig in INT TERM HUP QUIT; do
	rm -f run.mt out.txt
	setsid mt-record -q -o run.mt -- env --default-signal=INT,QUIT \
		sh -c 'ulimit -c 0; echo ready; exec sleep 60' >out.txt 2>err.txt &
	recorder=$!
	until_true 20 grep -q ready out.txt
	sleep 0.2
	kill -s "$sig" -- "-$recorder"
	code=0
	wait $recorder || code=$?
	is "a command that SIG$sig ends" $code $((128 + $(kill -l "$sig")))
	whole "a command that SIG$sig ends"
done

# timeout(1) sends it to its child and then to the group, when the time is over or it gets it itself.
rm -f run.mt out.txt
setsid timeout --preserve-status -s TERM 100 mt-record -q -o run.mt -- \
	/usr/bin/python3 "$LIVE/signals.py" TERM >out.txt 2>err.txt &
timer=$!
until_true 20 grep -q ready out.txt
kill -TERM $timer
code=0
wait $timer || code=$?
is 'timeout: the command'\''s status' $code 42
is 'timeout: reaches the command once' "$(tail -n 1 out.txt)" 'got 1'
whole timeout

# Twice to the group, and the command does not mind.
cat >stubborn.py <<'EOF'
import os, signal, time
for s in (signal.SIGINT, signal.SIGTERM):
    signal.signal(s, signal.SIG_IGN)
print(os.getpid(), flush=True)
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    [bytes(i) for i in range(999)]
EOF
rm -f run.mt out.txt
setsid mt-record -q -o run.mt -- /usr/bin/python3 stubborn.py >out.txt 2>err.txt &
recorder=$!
until_true 20 grep -q ready out.txt
kill -INT -- "-$recorder"
sleep 0.5
kill -INT -- "-$recorder"
code=0
wait $recorder || code=$?
is 'twice to the group: exit status' $code 130
whole 'twice to the group'
kill -0 "$(head -n 1 out.txt)" 2>/dev/null
is 'twice to the group: the command goes on' $? 0
kill -KILL "$(head -n 1 out.txt)"

# The same while the command stands still because nobody reads the output; and a third.
mkfifo pipe
# shellcheck disable=SC2016 # for the inner shell
for times in 2 3; do
	rm -f out.txt
	mt-record -q --pressure-timeout inf --ring-size 64K --stack-ring-size 64K -o pipe -- \
		sh -c 'echo $$; exec /usr/bin/python3 stubborn.py' >out.txt 2>err.txt &
	recorder=$!
	exec 9<pipe
	until_true 20 grep -q . out.txt
	target=$(head -n 1 out.txt)
	for _ in $(seq 500); do
		is_stopped "$target" && sleep 0.3 &&
			is_stopped "$target" && break
		sleep 0.02
	done
	for _ in $(seq $times); do
		kill -INT $recorder
		sleep 0.5
	done
	# With two it waits for the reader, with three for nobody.
	[ $times = 3 ] || cat <&9 >run.mt
	code=0
	wait $recorder || code=$?
	is "nobody reads, $times signals: exit status" $code 130
	[ $times = 2 ] || cat <&9 >run.mt
	exec 9<&-
	code=0
	mt-report check run.mt >check.txt 2>&1 || code=$?
	is "nobody reads, $times signals: readable" "$([ $code -le 1 ] && echo yes)" yes
	sleep 0.5
	state=$(state_of "$target")
	is "nobody reads, $times signals: the command goes on" "${state/[SD]/R}" R
	kill -KILL "$target"
done

# The time is over: the command goes on unharmed.
rm -f run.mt
mt-record -q --duration 1s -o run.mt -- \
	/usr/bin/python3 -c 'import time
for i in range(300):
    x = [bytes(k) for k in range(99)]
    time.sleep(0.01)
print("ran on")' >out.txt 2>err.txt
is '--duration: exit status' $? 0
is '--duration: the command still runs' "$(cat out.txt)" ''
mt-report stat --json run.mt >stat.json 2>stat.err
holds '--duration: end' '(s["end_reason"], "duration")'
whole '--duration'
until_true 20 grep -q 'ran on' out.txt
is '--duration: the command ended well' "$(cat out.txt)" 'ran on'

# Until the first process has ended, or the last.
for follow in root tree; do
	rm -f run.mt over
	mt-record -q --follow $follow -o run.mt -- sh -c '(sleep 2; : >over) & exec true' 2>err.txt
	is "--follow $follow: exit status" $? 0
	is "--follow $follow: who has ended" "$([ -e over ] && echo tree || echo root)" $follow
	whole "--follow $follow"
done
sleep 2

# Two recordings into one file.
rm -f run.mt out.txt
mt-record -q -o run.mt -- sh -c 'echo ready; sleep 2' >out.txt 2>err.txt &
recorder=$!
until_true 20 grep -q ready out.txt
code=0
mt-record -o run.mt -- true 2>second.txt || code=$?
is 'two into one file: the second' $code 125
is 'two into one file: said' "$(cat second.txt)" 'mt-record: run.mt: another recorder is writing it'
wait $recorder
is 'two into one file: the first' $? 0
whole 'two into one file'
mt-record -q -o run.mt -- true
is 'one after the other' $? 0
mt-record -q -o /dev/null -- true & first=$!
mt-record -q -o /dev/null -- true
is 'two into /dev/null' $? 0
wait $first

# Streams closed at the start, and few descriptors.
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	rm -f run.mt
	eval "mt-record -q -o run.mt -- \"$WORKLOADS/storm\" 1 101 $closed" >out.txt
	is "closed $closed: exit status" $? 0
	whole "closed $closed"
done
rm -f run.mt
# shellcheck disable=SC2016 # for the inner shell
mt-record -q -o run.mt -- sh -c 'ulimit -n 16; exec "$0" 2 101' "$WORKLOADS/storm" >out.txt 2>err.txt
is 'a command with few descriptors' $? 0
mt-record -q -o run.mt -- /usr/bin/python3 -c 'import os
os.closerange(0, 4096)
[bytes(i) for i in range(999)]' 2>err.txt
is 'a command that closes all descriptors' $? 0
whole 'a command that closes all descriptors'

# Readers that go away, one at the very first byte.
mt-record -q -o - -- "$WORKLOADS/storm" 1 1009 2>err.txt | mt-report top - >top.txt 2>top.err
is 'through a pipe to a report' "${PIPESTATUS[*]}" '0 0'
matches 'through a pipe to a report: top' top.txt one_pair
mt-record -o - -- sh -c 'sleep 1; echo ran on >said' 2>err.txt | true
is 'a reader that never reads: exit status' "${PIPESTATUS[0]}" 125
is 'a reader that never reads: the command ran on' "$(cat said)" 'ran on'
code=0
mt-record -o /dev/full -- sh -c 'echo ran on' >out.txt 2>err.txt || code=$?
is 'no room for the first frame: exit status' $code 125
is 'no room for the first frame: the command ran on' "$(cat out.txt)" 'ran on'
matches 'no room for the first frame: said' err.txt '/dev/full: No space left on device'
mt-record -q -o pipe -- "$WORKLOADS/storm" 4 20011 2>err.txt & recorder=$!
head -c 100 pipe >out.txt
code=0
wait $recorder || code=$?
is 'a fifo whose reader goes away' $code 125

# Under nohup(1), alone and beside a command.
rm -f out.txt
(trap '' HUP && exec setsid mt-record -q -o run.mt -- \
	sh -c 'echo ready; sleep 1.5; exit 7') >out.txt 2>err.txt &
recorder=$!
until_true 20 grep -q ready out.txt
for _ in 1 2; do
	kill -HUP -- "-$recorder"
	sleep 0.3
done
code=0
wait $recorder || code=$?
is 'hangups that are ignored: exit status' $code 7
whole 'hangups that are ignored'
sleep 60 &
watched=$!
(trap '' HUP && exec mt-record -o run.mt --duration 1500ms -p $watched) >out.txt 2>err.txt &
recorder=$!
for _ in 1 2 3; do
	sleep 0.3
	kill -HUP $recorder
done
wait $recorder
is 'hangups that are ignored, attached: exit status' $? 0
kill $watched
mt-report stat --json run.mt >stat.json 2>stat.err
holds 'hangups that are ignored, attached: ended by' 's["end_reason"] == "duration"'

# What is said may not get into the artifact.
rm -f said
code=0
mt-record -o - -- sh -c 'echo ran on >said' >out.txt 2>&1 || code=$?
is 'standard error in the artifact: exit status' $code 125
matches 'standard error in the artifact: said' out.txt 'standard error goes into the recording'
[ ! -e said ]
is 'standard error in the artifact: nothing is started' $? 0

# An interrupt from the terminal is for all in the pipe.
rm -f out.txt
# shellcheck disable=SC2016 # for the inner shell
setsid env --default-signal=INT bash -c 'mt-record -q -o - -- \
	/usr/bin/python3 "$LIVE/signals.py" INT 2>out.txt | mt-report top - >top.txt 2>top.err
	echo "${PIPESTATUS[*]}" >code.txt' &
pipeline=$!
until_true 20 grep -q ready out.txt
kill -INT -- "-$pipeline"
until_true 20 test -s code.txt
wait $pipeline
# 1: of a few stacks not all was recorded.
matches 'an interrupt in a pipe: exit statuses' code.txt '^42 [01]$'
matches 'an interrupt in a pipe: the report' top.txt '[0-9]'

# The end comes though the command stands still, and nobody reads.
rm -f ran
# shellcheck disable=SC2016 # for the inner shell
mt-record --pressure-timeout inf --ring-size 64K --duration 1s -o pipe -- \
	sh -c '"$0" 1 60013; echo ran on >ran' "$WORKLOADS/storm" >out.txt 2>err.txt &
recorder=$!
exec 9<pipe
until_true 30 test -s ran
is 'a pause at the end: the command goes on' "$(cat ran)" 'ran on'
cat <&9 >run.mt &
exec 9<&-
wait $recorder
is 'a pause at the end: nothing lost' $? 0
matches 'a pause at the end: it paused' err.txt 'paused [1-9][0-9]* times'
wait
whole 'a pause at the end'
