#!/bin/bash
# Two recorders of one process, both of which pause it: neither leaves it to the other.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

small=(-q --pressure-timeout inf --ring-size 64K --stack-ring-size 64K)

goes_on()
{
	is_running "$1" && sleep 0.1 && is_running "$1"
}

"$WORKLOADS/storm" 4 4000000007 >storm.txt 2>&1 &
storm=$!
for round in 1 2 3; do
	mt-record "${small[@]}" --duration 2s -o one.mt -p $storm 2>one.err &
	one=$!
	mt-record "${small[@]}" --duration 2s -o two.mt -p $storm 2>two.err &
	two=$!
	wait $one
	is "attached twice, round $round: the first" $? 0
	wait $two
	is "attached twice, round $round: the second" $? 0
	until_true 10 goes_on $storm
	is "attached twice, round $round: the process goes on" $? 0
done
kill -KILL $storm
wait $storm 2>killed.txt

for round in 1 2 3 4; do
	code=0
	timeout -k 5 120 mt-record "${small[@]}" -o one.mt -- mt-record "${small[@]}" -o two.mt -- \
		"$WORKLOADS/storm" 4 20003 >out.txt 2>err.txt || code=$?
	is "one within the other, round $round: exit status" $code 0
done
