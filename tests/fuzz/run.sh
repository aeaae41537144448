#!/bin/sh
# Replay each fuzz target's corpus, testdata/fuzz/NAME/, with cuts and fixed mutations.
#
#   tests/fuzz/run.sh DIR		the directory of the built targets
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/tally.sh

dir=${1?usage: tests/fuzz/run.sh DIR}
rounds=${FUZZ_ROUNDS-2000}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for src in tests/fuzz/fuzz_*.c; do
	[ -e "$src" ] || continue
	target=$(basename "$src" .c)
	corpus=testdata/fuzz/${target#fuzz_}
	if ! [ -d "$corpus" ]; then
		not_ok "$target" "it has no corpus in $corpus"
	elif timeout 900 "$dir/$target" -m "$rounds" "$corpus" >"$log" 2>&1; then
		ok "$target: $(cat "$log")"
	else
		tail -n 40 "$log"
		not_ok "$target" "exit status $?"
	fi
done
tally_end
