#!/bin/sh
# Golden command-line tests.
#
#   tests/cli/run.sh [--update] BUILD_DIR [CASE...]
#
# CASE.sh runs in its own empty directory, which is $PWD, with the built programs first
# on PATH, $TESTDATA naming testdata/ and $TOP the source tree. What it prints must equal
# CASE.out and CASE.err, its exit status CASE.code; a file that is not there means nothing
# printed, and status 0. --update writes these files from what happened: review the diff.
set -u

update=
if [ "${1-}" = --update ]; then
	update=1
	shift
fi
build=$(cd "${1?usage: tests/cli/run.sh [--update] BUILD_DIR [CASE...]}" && pwd) || exit 1
shift
here=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$here/../.." && pwd)
TESTDATA=$TOP/testdata
export TOP TESTDATA
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

unset DEBUGINFOD_URLS COLUMNS SUDO_UID SUDO_GID SUDO_USER
export LC_ALL=C TZ=UTC TERM=dumb PATH="$build:$PATH"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A cache of their own, not the user's.
mkdir -m 700 "$scratch/.cache"
export XDG_CACHE_HOME="$scratch/.cache"
trap 'exit 130' INT TERM HUP

if [ $# = 0 ]; then
	for f in "$here"/*.sh; do
		[ "$f" = "$here/run.sh" ] || set -- "$@" "$(basename "$f" .sh)"
	done
fi

# expect CASE STREAM: compare, or with --update write, one expectation file.
expect()
{
	want=$here/$1.$2
	got=$scratch/$1.$2
	if [ -n "$update" ]; then
		if [ -s "$got" ]; then
			cp "$got" "$want"
		else
			rm -f "$want"
		fi
		return 0
	fi
	[ -e "$want" ] || want=/dev/null
	diff -u "$want" "$got" >"$scratch/diff" && return 0
	sed "s|$scratch/||" "$scratch/diff"
	return 1
}

for case in "$@"; do
	dir=$scratch/$case.dir
	mkdir "$dir"
	code=0
	(cd "$dir" && timeout 600 sh "$here/$case.sh" >"../$case.out" 2>"../$case.err" </dev/null) || code=$?
	: >"$scratch/$case.code"
	[ "$code" = 0 ] || echo "$code" >"$scratch/$case.code"
	bad=
	for stream in out err code; do
		expect "$case" "$stream" || bad="$bad $stream"
	done
	if [ -z "$bad" ]; then
		ok "$case"
	else
		not_ok "$case" "different:$bad"
	fi
	chmod -R u+rwX "$dir"
	rm -rf "$dir"
done
tally_end
