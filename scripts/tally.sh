# Sourced by the test runners: count results and print them in one form.
#
# Each runner prints a line per test ("ok NAME", "not ok NAME - why", "skip NAME - why")
# and ends with tally_end's "# N passed, N failed, N skipped", which scripts/check sums.
# With CI=true a test that cannot run is a failed test.

# shellcheck shell=sh
tally_passed=0
tally_failed=0
tally_skipped=0

ok()
{
	tally_passed=$((tally_passed + 1))
	echo "ok $1"
}

not_ok()
{
	tally_failed=$((tally_failed + 1))
	echo "not ok $1${2:+ - $2}"
}

skip()
{
	if [ "${CI-}" = true ]; then
		not_ok "$1" "cannot run: ${2-}"
		return
	fi
	tally_skipped=$((tally_skipped + 1))
	echo "skip $1${2:+ - $2}"
}

tally_end()
{
	echo "# $tally_passed passed, $tally_failed failed, $tally_skipped skipped"
	[ "$tally_failed" = 0 ]
}

# The tree's files whose names match one of the patterns, without what is built.
tree_files()
{
	for pattern in "$@"; do
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -name "$pattern" -print
	done | sed 's|^\./||' | sort
}
