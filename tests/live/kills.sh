#!/bin/bash
# The recorder killed at random points, from before it records to seconds later: every file so far
# must be readable up to its last whole frame, and hold all mappings of the code in its stacks up to
# its last checkpoint.
# time limit: 900
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# How many, and at a time: most of one's time goes into waiting for the kernel.
kills=${KILLS-200}
lanes=${LANES-4}

cat >busy.py <<'EOF'
import ctypes, json, os, time
print(os.getpid(), flush=True)
end = time.monotonic() + 20
n = 0
while time.monotonic() < end:
    json.loads(json.dumps([{str(i): [i] * 9} for i in range(20)]))
    # Code that has just been mapped allocates.
    if n < 100:
        plug = ctypes.CDLL(f"./plug{n}.so")
        for size in range(1, 9):
            plug.plug_take(size)
        n += 1
EOF

# Behind the last checkpoint there can be stacks whose mappings were still to be written.
whole_to_checkpoint()
{
	local code=0

	/usr/bin/python3 "$LIVE/cut.py" run.mt cut.mt || code=$?
	[ $code -eq 0 ] || return $((code != 3))
	mt-report stat --json cut.mt >cut.json 2>/dev/null
	/usr/bin/python3 "$LIVE/holds.py" cut.json 's["stacks"]["allocations"]["no_module"], 0'
}

# kill_one N
kill_one()
{
	local recorder point=$((RANDOM % 1000)) code=0

	rm -f run.mt pid.txt said.txt
	mt-record -q -o run.mt -- /usr/bin/python3 ../busy.py >pid.txt 2>err.txt &
	recorder=$!
	# Every fifth while it starts, one in ten after more than one checkpoint.
	case $((RANDOM % 10)) in
	0 | 1) ;;
	2)
		until_true 60 [ -s run.mt ]
		point=$((point + 700))
		;;
	*) until_true 60 [ -s run.mt ] ;;
	esac
	sleep "$((point / 1000)).$(printf %03d $((point % 1000)))"
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	[ -s pid.txt ] && kill -KILL "$(cat pid.txt)" 2>/dev/null
	if [ ! -s run.mt ]; then
		echo "empty $1"
		return
	fi
	mt-report check run.mt >check.txt 2>&1 || code=$?
	[ $code -le 1 ] && { mt-report stat --json run.mt >stat.json 2>stat.err || code=$?; }
	if [ $code -gt 1 ] || ! /usr/bin/python3 "$LIVE/holds.py" stat.json \
		's["file"]["end"] in ("no_trailer", "cut") and sum(s["lost"].values()) == 0' >said.txt 2>&1 ||
		! whole_to_checkpoint >said.txt 2>&1; then
		echo "bad $1: exit status $code $(tr '\n' ' ' <said.txt)"
	elif grep -q '"events": 0,' stat.json; then
		echo "begun $1"
	else
		echo "events $1"
	fi
}

# kill_some FIRST
kill_some()
{
	local i

	mkdir "lane$1" && cd "lane$1" || exit
	for ((i = 0; i < 100; i++)); do
		cp "$WORKLOADS/libplug.so" "plug$i.so"
	done
	RANDOM=$((11 + $1))
	for ((i = $1; i <= kills; i += lanes)); do
		kill_one "$i" 2>>noise.txt
	done >kills.txt
}
started=$SECONDS
for ((lane = 1; lane <= lanes; lane++)); do
	kill_some $lane &
done
wait
count()
{
	cat lane*/kills.txt | grep -c "$1"
}
sed -n 's/^bad/    kill/p' lane*/kills.txt
echo "note $kills kills in $((SECONDS - started)) s: $(count ^empty) with nothing written yet," \
	"$(count ^begun) with no event yet, $(count ^events) with events"
is "$kills kills: all were tried" "$(count .)" "$kills"
is "$kills kills: every file is readable" "$(count ^bad)" 0
is "$kills kills: most have events" "$([ "$(count ^events)" -ge $((kills / 3)) ] && echo yes)" yes
