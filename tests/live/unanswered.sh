#!/bin/bash
# Files of the command where nobody answers any more: they hold up whoever looks at them, and
# nothing else.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

mkdir far
/usr/bin/python3 "$LIVE/still_fs.py" far "$WORKLOADS/libplug.so" 2>mount.err &
daemon=$!
# What waits for an answer is let go when the daemon ends.
trap 'umount -l far 2>/dev/null; kill -KILL $daemon 2>/dev/null; tally_end' EXIT
if ! until_true 20 [ -f far/libplug.so ]; then
	skip unanswered "$(head -n 1 mount.err)"
	exit
fi

cat >maps.py <<'EOF'
import ctypes, os, time
ctypes.CDLL("far/libplug.so")
open("mapped", "w").close()
while not os.path.exists("enough"):
    x = [bytes(k) for k in range(4999)]
    time.sleep(0.01)
print("done")
EOF
size_of()
{
	stat -c %s run.mt 2>/dev/null || echo 0
}
grows()
{
	[ "$(size_of)" -gt $(($1 + 50000)) ]
}
ended()
{
	[ ! -e /proc/$recorder/fd/0 ]
}

mt-record -v -o run.mt -- /usr/bin/python3 maps.py >out.txt 2>err.txt &
recorder=$!
until_true 60 [ -f mapped ] || not_ok 'a file of a file system that stops' "$(tail -n 1 err.txt)"
# It has been looked at, and is going to be again.
sleep 2
kill -STOP $daemon
sleep 2
size=$(size_of)
until_true 30 grows "$size"
is 'nobody answers: events go on being written' $? 0
touch enough
until_true 60 [ -s out.txt ]
asked=$SECONDS
until_true 60 ended
is 'nobody answers: the recorder ends' $? 0
echo "    after $((SECONDS - asked)) s"
ended || kill -KILL $recorder
code=0
wait $recorder || code=$?
is 'nobody answers: exit status' $code 0
is 'nobody answers: the command' "$(cat out.txt)" 'done'
matches 'nobody answers: said' err.txt \
	'far/libplug.so: nobody answers where it lies: whether files were overwritten'
# Who reads the recording looks at the file too.
kill -CONT $daemon
mt-report check run.mt >check.txt 2>&1
is 'nobody answers: whole' $? 0
mt-report stat --json run.mt >stat.json 2>stat.err
holds 'nobody answers: nothing lost' 'sum(s["lost"].values()) == 0'
