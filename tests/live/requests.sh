#!/bin/bash
# The ring of requests to attach, when it is full: nothing lost with --pressure-timeout inf, and
# counted exactly without.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# A hundred processes ask at once while the recorder stands still and the ring holds some fifty
# requests. Who goes on without an answer has its library's allocator unwatched: malloc shows.
cat >many.sh <<'EOF'
sleep 0.01
"$WORKLOADS/dlopen_storm" 1 1 ./lib0.so
echo ready
while [ ! -e go ]; do sleep 0.05; done
n=0
while [ $n -lt $1 ]; do n=$((n + 1)); "$WORKLOADS/dlopen_storm" 1 1 "./lib$n.so" & done
: >started
wait
EOF
n=0
while [ $n -le 100 ]; do
	cp "$WORKLOADS/libplug.so" "lib$n.so"
	n=$((n + 1))
done
# ask OPTIONS N: N processes ask; code, watched and unwatched are what became of it.
ask()
{
	local recorder

	rm -f go started out.txt
	# shellcheck disable=SC2086 # a list of options
	mt-record $1 --request-ring-size 4K --allocator 'plug_take=malloc(1)' -o run.mt -- \
		sh many.sh "$2" >out.txt 2>err.txt &
	recorder=$!
	until_true 20 grep -q ready out.txt
	kill -STOP $recorder
	: >go
	until_true 20 [ -e started ]
	sleep 4
	kill -CONT $recorder
	code=0
	wait $recorder || code=$?
	mt-report folded --by count run.mt 2>/dev/null >folded.txt
	watched=$(awk '/use_once;plug_take [0-9]*$/ { sum += $NF } END { print sum + 0 }' folded.txt)
	unwatched=$(awk '/use_once;plug_take;malloc/ { sum += $NF } END { print sum + 0 }' folded.txt)
}
for options in '' '--pressure-timeout inf'; do
	ask "$options" 100
	name="a hundred ask at once${options:+, pausing}"
	is "$name: all are recorded" $((watched + unwatched)) 101
	if [ -n "$options" ]; then
		is "$name: nothing lost" $code 0
		is "$name: all are watched" "$watched" 101
		matches "$name: it paused" err.txt 'paused [0-9]* times'
	else
		is "$name: exit status" $code 125
		asked=$(sed -n 's/^mt-record: lost \([0-9]*\) requests (ring_full) from .*/\1/p' err.txt)
		is "$name: counted exactly" "${asked:-none}" "$unwatched"
		is "$name: some were lost" "$([ "$unwatched" -gt 20 ] && echo yes)" yes
		matches "$name: the summary says what to do" err.txt '--request-ring-size'
		mt-report top run.mt >top.txt 2>top.err
		matches "$name: warned of" top.txt '^Partial .*leak and peak figures may be wrong.*requests'
	fi
done

# Three quarters of the ring, 42 requests, are enough for a pause, before anybody finds no room in the
# other quarter. Who waits in the linker for too long asks a second time.
ask '--pressure-timeout inf' 48
is '48 ask at once, pausing: nothing lost' $code 0
is '48 ask at once, pausing: all are watched' "$watched" 49
matches '48 ask at once, pausing: it paused' err.txt 'paused [0-9]* times'
ask '--pressure-timeout inf' 20
is '20 ask at once, pausing: all are watched' "$code $watched" '0 21'
is '20 ask at once, pausing: there was no need to' "$(grep -c 'paused [0-9]* times' err.txt)" 0
