#!/bin/bash
# Tests against the running kernel: record real programs, check what the report says.
#
#   tests/live/run.sh BUILD_DIR [TOPIC...]
#
# WORKLOADS: a folder of programs to record, if it is not the build directory's.
# Each TOPIC.sh runs in its own scratch directory, with a time limit (LIVE_TIMEOUT seconds, 900
# if unset, or what its own line "# time limit: SECONDS" says, if that is more), and prints a
# result line per test. Where recording cannot work at all the tests are skipped, with CI=true
# failed.
set -u

build=$(cd "${1?usage: tests/live/run.sh BUILD_DIR [TOPIC...]}" && pwd) || exit 1
shift
here=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$here/../.." && pwd)
WORKLOADS=${WORKLOADS-$build/workloads}
LIVE=$here
BUILD=$build
export TOP WORKLOADS LIVE BUILD
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

unset DEBUGINFOD_URLS SUDO_UID SUDO_GID SUDO_USER MAKEFLAGS MFLAGS PYTHONPATH PYTHONHOME
# Stock programs first: a version manager's stubs are shell scripts.
export LC_ALL=C TZ=UTC PATH="$build:/usr/sbin:/usr/bin:/sbin:/bin"

scratch=$(mktemp -d)
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
# A cache of their own, not the user's.
mkdir -m 700 "$scratch/.cache"
export XDG_CACHE_HOME="$scratch/.cache"
trap 'exit 130' INT TERM HUP

if [ $# = 0 ]; then
	for f in "$here"/*.sh; do
		case $f in
		*/run.sh | */lib.sh) ;;
		*) set -- "$@" "$(basename "$f" .sh)" ;;
		esac
	done
fi

if ! timeout 60 mt-record -q -o "$scratch/first.mt" -- true 2>"$scratch/first.err"; then
	for topic in "$@"; do
		skip "$topic" "$(tail -n 1 "$scratch/first.err")"
	done
	tally_end
	exit
fi
rm -f "$scratch"/first.*

for topic in "$@"; do
	dir=$scratch/$topic
	mkdir "$dir"
	chmod 755 "$dir"
	code=0
	limit=$(sed -n 's/^# time limit: \([0-9]*\)$/\1/p' "$here/$topic.sh")
	[ "${limit:-0}" -ge "${LIVE_TIMEOUT-900}" ] || limit=${LIVE_TIMEOUT-900}
	(cd "$dir" && exec timeout -k 10 "$limit" bash "$here/$topic.sh") \
		>"$scratch/log" 2>&1 </dev/null || code=$?
	cat "$scratch/log"
	tally_passed=$((tally_passed + $(grep -c '^ok ' "$scratch/log")))
	tally_failed=$((tally_failed + $(grep -c '^not ok ' "$scratch/log")))
	tally_skipped=$((tally_skipped + $(grep -c '^skip ' "$scratch/log")))
	# The topic's last line says that it got to its end, or that the limit was.
	if [ "$code" -ge 124 ]; then
		not_ok "$topic" "ended early, status $code after $limit s at most"
	elif ! tail -n 1 "$scratch/log" | grep -q '^# '; then
		not_ok "$topic" "ended early, status $code"
	fi
	rm -rf "$dir"
done
tally_end
