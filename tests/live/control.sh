#!/bin/bash
# --control: marks, times without recording, and what lies between, with exact counts.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# between NAME FROM UNTIL PYTHON-EXPRESSION: of the stat.json of this range.
between()
{
	mt-report stat --json --between "$2" "$3" run.mt >range.json 2>/dev/null
	holds "$1" "($4)" range.json
}

# sized SIZE: allocations of this size in the recording.
sized()
{
	mt-report dump --json run.mt 2>/dev/null | grep -c "\"size\":$1[,}]"
}

RECORD_OPTIONS='--control fifo:ctl,ack'
record 'marked' "$WORKLOADS/marked" ctl ack
is 'the FIFOs are gone' "$(ls -- ctl* ack* 2>/dev/null)" ''

# 4 threads of 503 blocks, and nothing of before or after.
between 'four threads between two marks' one two \
	's["allocations"] == 2012 and s["allocated_bytes"] == 2012 * 2000 and s["frees"] == 0 and
	 s["live_blocks"] == 2012 and s["peak_blocks"] == 2012 and s["disabled_time"] == 0'
is 'folded: between two marks' \
	"$(mt-report folded --by count --between one two run.mt 2>/dev/null |
		awk '{ sum += $NF } END { print sum }')" 2012
is 'dump: between two marks' \
	"$(mt-report dump --json --between one two run.mt | grep -c '"malloc"')" 2012
# 13 blocks after enable; the 701 unseen ones and 10 old ones given to realloc are freed then.
# realloc(p, -4096) fails and frees nothing.
between 'a time without recording' two three \
	's["allocations"] == 13 and s["allocated_bytes"] == 13 * 7000 and s["live_blocks"] == 13 and
	 s["frees"] == 711 and s["unmatched_frees"] == 711 and s["disabled_time"] > 0 and
	 s["disabled_frees"] == 51 + 10 + 7 + 1 + 2012'
between 'the second of a name' three#2 three#3 's["allocations"] == 17 and s["frees"] == 0'
between 'from a name to the next' three three 's["allocations"] == 0'
is 'unseen: 3000' "$(sized 3000)" 0
is 'unseen: 5000' "$(sized 5000)" 0
is 'unseen: 2500' "$(sized 2500)" 0
is 'seen: 1000' "$(sized 1000)" 101
# Known blocks that are freed while disabled do not leak: 51, 10 by realloc, and the threads'.
holds 'totals at marks' '[m["name"] for m in s["marks"]] == ["one", "two"] + 3 * ["three"]'
holds 'at two' 's["marks"][1]["live_blocks"] - s["marks"][0]["live_blocks"] == 2012'
holds 'at three' \
	'(s["marks"][1]["live_blocks"] - s["marks"][2]["live_blocks"] == 51 + 10 + 2012 - 13 and
	 s["marks"][2]["frees"] - s["marks"][1]["frees"] == 51 + 10 + 2012 + 711 and
	 s["disabled_frees"] == 7 + 1)'
is 'dump has the marks' "$(mt-report dump run.mt | awk '$4 == "mark" { printf "%s ", $5 }')" \
	'one two three three#2 three#3 '
for command in 'top --json' 'symbolize -n 3 -o profile'; do
	# shellcheck disable=SC2086 # a command line
	mt-report $command --between one two run.mt >out.txt 2>/dev/null
	is "$command: between two marks" "$?" 0
done
matches 'symbolize says what it is about' out.txt '^Between +one and two$'
mt-report top --between one four run.mt >out.txt 2>err.txt
is 'an unknown mark' "$?" 2
is 'which are known' "$(cat err.txt)" \
	"mt-report: --between: no mark 'four'; there are one, two, three, three#2, three#3"

RECORD_OPTIONS='--control fifo:ctl,ack --start-disabled --stack-size 0'
record 'start disabled' "$WORKLOADS/marked" ctl ack enable
is 'start disabled: 1000' "$(sized 1000)" 101
between 'start disabled: between two marks' one two 's["allocations"] == 2012'
holds 'start disabled: nothing before enable' \
	's["marks"][0]["allocations"] == 101 and s["marks"][0]["frees"] == 0'
mkfifo ctl
record 'never enabled' "$WORKLOADS/malloc_10007"
holds 'never enabled: nothing' 's["allocations"] == 0 and s["frees"] == 0'
holds 'never enabled: frees are there' 's["disabled_frees"] > 1000'
is 'a FIFO that was there stays' "$(test -p ctl && echo yes)" yes
rm ctl

# What a ping has been answered for is in the file, whatever happens to the recorder.
code=0
mt-record --control fifo:ctl,ack -o run.mt -- "$WORKLOADS/marked" ctl ack kill 2>err.txt || code=$?
is 'killed after ping' "$code" 137
is 'killed after ping: 9000' "$(sized 9000)" 17
is 'killed after ping: marks' "$(mt-report dump --json run.mt 2>/dev/null | grep -c '"mark"')" 5
rm -f ctl ack

# answer: the next line from the FIFO at descriptor 4.
answer()
{
	local line

	IFS= read -r -t 20 line <&4
	echo "$line"
}

# start [OPTION...]: a recording of a sleeping command, with 4 reading the answers.
start()
{
	mkfifo ack
	exec 4<>ack
	mt-record --control fifo:ctl,ack -o run.mt "$@" 2>err.txt &
	recorder=$!
	until_true 10 [ -p ctl ]
}

start -- sh -c 'echo $$ >pid.txt; exec sleep 60'
# Every echo is a writer of its own, that comes and goes.
echo 'mark first' >ctl
is 'one writer' "$(answer)" ack
echo 'ping' >ctl
is 'another writer' "$(answer)" ack
echo 'frobnicate' >ctl
is 'a wrong command is answered' "$(answer)" \
	"error: not one of enable, disable, mark NAME, ping, stop: 'frobnicate'"
matches 'and said' err.txt 'frobnicate'
echo 'mark a#1' >ctl
is 'a wrong name is answered' "$(answer | cut -c1-6)" 'error:'
head -c 300000 /dev/urandom >ctl
exec 4<&-
echo >ctl
# Nobody reads the answers any more.
for _ in $(seq 300); do
	echo 'mark many'
done >ctl
exec 4<>ack
printf 'mark last\nping\nstop\n' >ctl
for _ in $(seq 100000); do
	[ "$(answer)" = '' ] && break
	kill -0 "$recorder" 2>/dev/null || break
done
code=0
wait "$recorder" || code=$?
is 'stop ends the recording' "$code" 0
pid=$(cat pid.txt)
is 'and not the command' "$(kill -0 "$pid" && echo alive)" alive
kill "$pid"
mt-report check run.mt >out.txt 2>&1
is 'with a whole file' "$?" 0
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'noise marks nothing' \
	'([m["name"] for m in s["marks"]] == ["first"] + 300 * ["many"] + ["last"] and
	 s["end_reason"] == "stopped" and s["status"] is None)'
exec 4<&-
rm -f ack

# Attached to a process: the same.
cat >loop.py <<'END'
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
for i in range(211):
    libc.malloc(4321)
open("finished", "w").close()
time.sleep(60)
END
/usr/bin/python3 loop.py &
target=$!
until_true 10 [ -e ready ]
start -p "$target"
echo 'mark begin' >ctl
is 'attached: begin' "$(answer)" ack
: >go
until_true 10 [ -e finished ]
echo 'mark end' >ctl
is 'attached: end' "$(answer)" ack
echo 'stop' >ctl
is 'stop is answered when the file is whole' "$(answer)" ack
mt-report check run.mt >out.txt 2>&1
is 'attached: a whole file' "$?" 0
wait "$recorder"
is 'attached: 4321' "$(mt-report dump --json --between begin end run.mt | grep -c '"size":4321,')" 211
kill "$target"
exec 4<&-

# What is sent before the command's end is done, even if nobody waits.
mt-record -q --control fifo:ctl -o run.mt -- sh -c 'echo "mark last words" >ctl' 2>err.txt
is 'last words' "$(mt-report dump --json run.mt | grep -c '"last words"')" 1

for file in . "$WORKLOADS/marked"; do
	code=0
	mt-record --control "fifo:$file" -o run.mt -- true 2>err.txt || code=$?
	is "no FIFO: $(basename "$file")" "$code" 125
	one_line 'is said' err.txt
done

# Commands that come while the command stands still, and nobody reads.
# in_a_pause NAME: commands to descriptor 8.
in_a_pause()
{
	rm -f ran pid.txt pipe control
	mkfifo pipe
	# shellcheck disable=SC2016 # for the inner shell
	mt-record --pressure-timeout inf --ring-size 64K --control fifo:control -o pipe -- \
		sh -c 'echo $$ >pid.txt; "$0" 1 60013; echo ran on >ran' "$WORKLOADS/storm" \
		>out.txt 2>err.txt &
	recorder=$!
	exec 9<pipe
	until_true 60 test -s pid.txt
	until_true 60 stands_still "$(cat pid.txt)"
	is "$1: it stands still" $? 0
	exec 8>control
}

# whole NAME MARKS: what is left is read, then nothing is lost.
whole()
{
	exec 8>&-
	cat <&9 >run.mt &
	exec 9<&-
	wait $recorder
	is "$1: nothing lost" $? 0
	wait
	until_true 60 test -s ran
	is "$1: the command goes on" "$(cat ran)" 'ran on'
	is "$1: marks" "$(mt-report dump --json run.mt 2>/dev/null | grep -c '"mark"')" "$2"
}

in_a_pause 'stopped in a pause'
echo stop >&8
until_true 60 test -s ran
is 'stopped in a pause: at once' "$(cat ran)" 'ran on'
whole 'stopped in a pause' 0
matches 'stopped in a pause: it had paused' err.txt 'paused'
# The ping is answered when all is written; until then what is behind it waits, but for the end.
in_a_pause 'stopped behind a ping'
printf 'ping\nmark a\nmark b\nstop\nmark c\n' >&8
until_true 60 test -s ran
is 'stopped behind a ping: at once' "$(cat ran)" 'ran on'
whole 'stopped behind a ping' 2
# Nobody reads on: the second signal ends what is left to do.
in_a_pause 'ended after a stop'
echo stop >&8
until_true 60 test -s ran
for _ in 1 2 3; do
	kill -TERM "$recorder" 2>/dev/null
	sleep 0.3
done
until_true 60 has_ended "$recorder"
is 'ended after a stop: it has ended' $? 0
exec 8>&- 9<&-
wait $recorder
is 'ended after a stop: by the signal' $? 143
# More than are held until they are written: the others are taken when there is room again.
in_a_pause 'more marks than are held'
yes 'mark m' | head -n 9000 >&8
sleep 0.3
is 'more marks than are held: it still stands still' "$(cat ran 2>/dev/null)" ''
echo stop >&8 &
whole 'more marks than are held' 9000
