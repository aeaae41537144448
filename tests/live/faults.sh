#!/bin/bash
# A file system that fills up, a reader that is slow, a command killed while it stands still, and
# more processes at once than have a place.
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

# No space left: the command runs on, opens a library that has to be looked at, and starts others.
cat >late.py <<'EOF'
import os, subprocess, time
for i in range(40):
    x = [bytes(k) for k in range(9999)]
    time.sleep(0.05)
import _json
subprocess.run(["./own_true"], check=True)
print("ran on")
EOF
cp /bin/true own_true
mkdir tiny
mount -t tmpfs -o size=400k none tiny || not_ok 'a tiny file system' 'mount'
code=0
mt-record -o tiny/run.mt -- /usr/bin/python3 late.py >out.txt 2>err.txt || code=$?
is 'no space left: exit status' $code 125
is 'no space left: the command ran on' "$(cat out.txt)" 'ran on'
matches 'no space left: said' err.txt 'tiny/run.mt: No space left on device'
filed=$(sed -n 's/^mt-record: writing failed after \([0-9]*\) events, .*/\1/p' err.txt)
mt-report stat --json tiny/run.mt >stat.json 2>stat.err
is 'no space left: the report is partial' $? 1
matches 'no space left: the report says where it ends' stat.err 'not finished: .* checkpoint'
is 'no space left: some were written' "$([ "${filed:-0}" -gt 100 ] && echo yes)" yes
holds 'no space left: the summary counts what is in the file' \
	"(sum(s['events'].values()) if isinstance(s['events'], dict) else s['events'], ${filed:-0})"
umount tiny
rmdir tiny

# No space left at the first checkpoint, while four processes open one library after the other that
# has to be looked at: requests are there when there is nothing left to attach with.
mkdir tiny libs
mount -t tmpfs -o size=12k none tiny || not_ok 'a tinier file system' 'mount'
n=0
while [ $n -lt 160 ]; do
	cp "$WORKLOADS/libplug.so" libs/lib$n.so
	n=$((n + 1))
done
cat >open.sh <<'EOF'
for n in 1 2 3 4; do
	"$WORKLOADS/dlopen_storm" 1 1 libs/lib*$n.so libs/lib*$((n + 4)).so || touch failed &
done
wait
echo ran on
EOF
code=0
mt-record --allocator 'plug_take=malloc(1)' -o tiny/run.mt -- sh open.sh >out.txt 2>err.txt || code=$?
is 'no space left amid requests: exit status' $code 125
is 'no space left amid requests: the command ran on' "$(cat out.txt; ls failed 2>/dev/null)" 'ran on'
matches 'no space left amid requests: said' err.txt 'tiny/run.mt: No space left on device'
grep -A 20 'AddressSanitizer\|runtime error' err.txt
mt-report check tiny/run.mt >check.txt 2>&1
is 'no space left amid requests: readable' "$([ $? -le 1 ] && echo yes)" yes
umount tiny

# What is made in all is the same in every run of one thread.
mt-record -o run.mt -- "$WORKLOADS/storm" 1 60013 >out.txt 2>err.txt
is 'a fast reader: nothing lost' $? 0
made=$(written)

# A reader that takes 100 kB a second; the file is some 700 kB.
for timeout in inf 0; do
	code=0
	{
		mt-record --pressure-timeout $timeout --ring-size 64K -o - -- \
			"$WORKLOADS/storm" 1 60013 2>err.txt
		echo $? >code.txt
	} | /usr/bin/python3 "$LIVE/slow.py" >run.mt
	name="a slow reader, --pressure-timeout $timeout"
	mt-report check run.mt >check.txt 2>&1
	is "$name: the file is whole" $? 0
	mt-report stat --json run.mt >stat.json 2>stat.err
	if [ $timeout = inf ]; then
		is "$name: nothing lost" "$(cat code.txt)" 0
		is "$name: all are written" "$(written)" "$made"
		matches "$name: it paused" err.txt 'paused [0-9]* times'
	else
		is "$name: exit status" "$(cat code.txt)" 125
		is "$name: written + lost = made" $(($(written) + $(lost))) "$made"
		holds "$name: the report counts the same loss" "(s['lost']['events'], $(lost))"
		holds "$name: since when and until when" \
			'all(s["start_time"] < l["first"] <= l["last"] <= s["end_time"] for l in s["losses"])'
	fi
done

# Killed in the midst of a pause, which lasts as long as nobody reads.
mkfifo pipe
cat >pair.sh <<'EOF'
"$WORKLOADS/storm" 1 100000007 & echo $! >pids.txt
"$WORKLOADS/storm" 1 200003 & echo $! >>pids.txt
echo ready
wait $!
EOF
for who in all one; do
	rm -f pids.txt out.txt
	mt-record --pressure-timeout inf --ring-size 64K --stack-ring-size 64K -o pipe -- \
		sh pair.sh >out.txt 2>err.txt &
	recorder=$!
	exec 9<pipe
	until_true 20 grep -q ready out.txt
	{ read -r first; read -r second; } <pids.txt
	until_true 20 stands_still "$second" ||
		not_ok "process $second stands still" "$(state_of "$second")"
	kill -KILL "$first"
	[ $who = one ] || kill -KILL "$second"
	cat <&9 >run.mt
	exec 9<&-
	code=0
	wait $recorder || code=$?
	want=0
	[ $who = one ] || want=137
	is "$who killed in a pause: exit status" $code $want
	mt-report check run.mt >check.txt 2>&1
	is "$who killed in a pause: the file is whole" $? 0
	mt-report stat --json run.mt >stat.json 2>stat.err
	holds "$who killed in a pause: nothing lost" \
		'sum(s["lost"].values()) == 0 and s["end_reason"] == "exited"'
	[ $who = all ] || is "$who killed in a pause: the other ran to its end" \
		"$(tail -n 1 out.txt)" 200003
done

# More processes than there are code tables, and then two programs whose code lies at the same
# addresses and whose stacks are the same: they must not be taken for one.
cat >take.c <<'EOF'
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void NAME(size_t n)
{
	void *volatile block = malloc(n);

	free(block);
}
int main(void)
{
	/* Whatever differs by itself, above, is beyond what is copied. */
	char *volatile deep = memset(alloca(65536), 0, 65536);

	for (int i = 0; i < 11; i++)
		NAME(77);
	return deep[0];
}
EOF
cat >crowd.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void odd_take(void) { void *volatile p = malloc(33); free(p); }
__attribute__((noinline)) static void even_take(void) { void *volatile p = malloc(33); free(p); }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), gate[2], status, ended = 0, i, k;
	char c;

	if (argc < 4 || pipe(gate))
		return 1;
	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid)
			continue;
		close(gate[1]);
		if (read(gate[0], &c, 1))
			_exit(1);
		for (k = 0; k < 7; k++)
			(i % 2 ? odd_take : even_take)();
		_exit(0);
	}
	for (i = 2; i < 4; i++) {
		if (fork() == 0) {
			execl(argv[i], "take", (char *)NULL);
			_exit(127);
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	close(gate[1]);
	while (wait(&status) > 0)
		ended += status == 0;
	printf("%d\n", ended);
	return 0;
}
EOF
cc -O1 -g -DNAME=left_take -o left take.c && cc -O1 -g -DNAME=rght_take -o rght take.c &&
	cc -O1 -g -o crowd crowd.c || exit
rm -f run.mt
code=0
mt-record -o run.mt -- setarch -R ./crowd 1100 ./left ./rght >out.txt 2>err.txt || code=$?
is '1100 processes at once: recorded' $code 0
is '1100 processes at once: ended well' "$(cat out.txt)" 1100
is '1100 processes at once: odd' "$(folded count 'odd_take')" 3850
is '1100 processes at once: even' "$(folded count 'even_take')" 3850
is '1100 processes at once: one program' "$(folded count 'left_take')" 11
is '1100 processes at once: another at its addresses' "$(folded count 'rght_take')" 11
mt-report stat --json run.mt >stat.json 2>stat.err
holds '1100 processes at once: who has a place shares definitions' \
	's["stacks"]["definitions"] < s["allocations"] / 4'
holds '1100 processes at once: nothing lost' 'sum(s["lost"].values()) == 0'
echo "note 1100 processes: $(/usr/bin/python3 -c 'import json
s = json.load(open("stat.json"))
print(s["stacks"]["definitions"], "definitions of", s["allocations"], "allocations")')"
