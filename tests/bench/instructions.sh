#!/bin/sh
# Instructions that encoding, decoding, aggregating and unwinding take, against the committed figures.
#
#   tests/bench/instructions.sh [--update] STEPS
#
# STEPS is the built program. Time on a shared machine says little; instructions are nearly
# the same in every run of one compiler. More than 10 % above a figure fails; more than 10 %
# below one is said, so that the gain can be kept: --update writes the figures anew.
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/tally.sh

update=
if [ "${1-}" = --update ]; then
	update=1
	shift
fi
steps=${1?usage: tests/bench/instructions.sh [--update] STEPS}
figures=tests/bench/instructions
new=$(mktemp)
log=$(mktemp)
trap 'rm -f "$new" "$log"' EXIT

# count STEP FUNCTION: while somebody records on this machine, valgrind takes the probes in libc
# for instructions of the program, which dies of them.
count()
{
	for _ in $(seq 30); do
		valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$2" \
			"$steps" "$1" >"$log" 2>&1 && break
		grep -q SIGTRAP "$log" || return 1
		sleep 1
	done
	sed -n 's/^==[0-9]*== Collected : \([0-9]*\)$/\1/p' "$log"
}

if ! command -v valgrind >/dev/null; then
	skip 'instructions' 'valgrind is not installed'
	tally_end
	exit
fi
for step in encode:mt_encode_events decode:mt_block_decode aggregate:mt_profile_replay \
	unwind:mt_unwind; do
	name=${step%%:*}
	got=$(count "$name" "${step#*:}")
	if [ "${got:-0}" = 0 ]; then
		tail -n 20 "$log"
		not_ok "$name" 'nothing was counted'
		continue
	fi
	echo "$name $got" >>"$new"
	[ -n "$update" ] && continue
	want=$(sed -n "s/^$name //p" "$figures")
	if [ -z "$want" ]; then
		not_ok "$name" "$figures has no figure for it"
	elif [ "$got" -gt $((want + want / 10)) ]; then
		not_ok "$name" "$got instructions, $((got * 100 / want)) % of $want"
	else
		ok "$name: $got instructions, $((got * 100 / want)) % of $want"
		if [ "$got" -lt $((want - want / 10)) ]; then
			echo "note $name: keep the gain: tests/bench/instructions.sh --update $steps"
		fi
	fi
done
if [ -n "$update" ]; then
	{ sed -n '/^#/p' "$figures" 2>/dev/null; cat "$new"; } >"$log" && cp "$log" "$figures"
	exit 0
fi
tally_end
