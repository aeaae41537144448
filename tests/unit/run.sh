#!/bin/sh
# Run the unit test programs of a build directory and count each program's own tests.
#
#   tests/unit/run.sh DIR [t_NAME...]
#
# UNIT_FILTER: a pattern of SUITE/TEST; tests that do not match are left out and not counted.
set -u
here=$(dirname "$0")
# shellcheck source=scripts/tally.sh
. "$here/../../scripts/tally.sh"

dir=${1?usage: tests/unit/run.sh DIR [t_NAME...]}
shift
if [ $# = 0 ]; then
	for src in "$here"/t_*.c; do
		[ -e "$src" ] && set -- "$@" "$(basename "$src" .c)"
	done
fi

tap=$(mktemp)
log=$(mktemp)
trap 'rm -f "$tap" "$log"' EXIT
unset DEBUGINFOD_URLS

# How many leaks the log tells of that are not the test framework's own. A suppression of
# libcriterion would hide every leak of a test: the framework is in all their stacks.
# Criterion runs each test in a process of its own and does not ask whether it leaked.
leaks()
{
	awk '/^(Direct|Indirect) leak of/ { leak = 1; next }
	     leak && / #1 / { if (!/libcriterion/) n++; leak = 0 }
	     END { print n + 0 }' "$1"
}

for t in "$@"; do
	: >"$tap"
	code=0
	timeout 900 "$dir/$t" --color=never --tap="$tap" ${UNIT_FILTER:+--filter="$UNIT_FILTER"} \
		>"$log" 2>&1 || code=$?
	pass=$(grep -ciE '^ok( |$)' "$tap")
	skipped=$(grep -ciE '^ok .*# *skip' "$tap")
	fail=$(grep -ciE '^not ok( |$)' "$tap")
	pass=$((pass - skipped))
	if [ -n "${UNIT_FILTER-}" ]; then
		# A test that skips itself says why; this is what Criterion says of the filtered.
		skipped=$((skipped - $(grep -c '# SKIP test was skipped$' "$tap")))
	fi
	leaked=$(leaks "$log")
	planned=$(sed -n 's/^1\.\.//p' "$tap")
	if [ "$code" = 1 ] && [ "$leaked" = 0 ] && [ "$fail" = 0 ] &&
		[ "$((pass + skipped))" = "${planned:-none}" ] &&
		grep -q 'LeakSanitizer: detected' "$log"; then
		code=0
	fi
	fail=$((fail + leaked))
	# A program that dies, reports nothing or fails without a failed test is a failure.
	if [ "$fail" = 0 ] && { [ "$code" != 0 ] || [ $((pass + skipped)) = 0 ]; }; then
		fail=1
	fi
	if [ "${CI-}" = true ]; then
		fail=$((fail + skipped))
		skipped=0
	fi
	if [ "$fail" = 0 ]; then
		echo "ok $t: $pass tests"
	else
		tail -n 60 "$log"
		echo "not ok $t: $pass passed, $fail failed, exit status $code"
	fi
	tally_passed=$((tally_passed + pass))
	tally_failed=$((tally_failed + fail))
	tally_skipped=$((tally_skipped + skipped))
done
tally_end
